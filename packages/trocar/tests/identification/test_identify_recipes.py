"""Recipes: general ones, recipe files, and the search for a recipe."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.arms import load_arm
from trocar.arms.parameters import Dahl, load_parameters
from trocar.cli import app
from trocar.control import GravityCompensation, JointPID
from trocar.control.trajectories import PeriodicRun, fourier
from trocar.errors import TrocarError
from trocar.identification.cross_validation import FOLDS, SHIFTS, Validation, folds
from trocar.identification.pipeline import identify, prepared, problem_of, recalibrate
from trocar.identification.recipes import search as recipe_search
from trocar.identification.recipes.recipe import RECIPES, load_recipe, recipe_of, recipe_table
from trocar.identification.recipes.search import SearchResult, alternatives, search, simpler
from trocar.identification.signals import efforts, relative_error
from trocar.mechanics import Mechanism, friction_share
from trocar.mechanics.drives import check_dissipative
from trocar.recording import Recording
from trocar.simulation import Simulator
from trocar.simulation.run import simulate
from trocar.toml_file import toml_text

pytestmark = pytest.mark.xdist_group("identify_recipes")  # one worker: fixtures are built once
OTHERS = ("ECM", "ECM_Si", "PSM_Si")
RATE = 100.0


def invented(arm, memory=False):
    """A robot that no set describes: links and friction of the arm's set, each changed by up to 40 %.

    Its friction is Coulomb or Dahl friction.
    """
    known, rng = load_parameters(arm), np.random.default_rng(1)
    inertias = {
        name: replace(body, mass=body.mass * rng.uniform(0.7, 1.4), com=body.com + rng.normal(size=3) * 0.01)
        for name, body in known.inertias.items()
    }
    drives = tuple(
        replace(d, **{term: getattr(d, term) * rng.uniform(0.7, 1.4) for term in d.terms}) for d in known.drives
    )
    if memory:
        deltas = {"insertion": 2e-4}
        drives = tuple(replace(d, Fc=0.0, hysteresis=(Dahl(deltas.get(d.name, 0.01), d.Fc),)) for d in drives)
    return Mechanism(load_arm(arm, known.geometry), replace(known, inertias=inertias, drives=drives))


def motion(arm, seed):
    """A series of four harmonics through half of the range of every joint, or 0.7 rad to both sides."""
    a, b = np.random.default_rng(seed).normal(size=(2, 4, arm.n))
    reach = np.abs(np.vstack([a, b]) / np.tile(np.arange(1, 5), 2)[:, None]).sum(0) / (2 * np.pi * 0.15)
    size = np.minimum(0.4 * (arm.upper - arm.lower), 0.7) / reach
    return fourier(0.5 * (arm.lower + arm.upper), a * size, b * size, 0.15)


def moved(mechanism, seed, duration=14.0):
    """Recording of such a robot along a motion."""
    path, t = motion(mechanism.arm, seed), np.arange(round(duration * RATE)) / RATE
    points = [path(float(time)) for time in t]
    q, dq, ddq = (np.array([getattr(point, name) for point in points]) for name in ("q", "dq", "ddq"))
    tau = mechanism.inverse_dynamics(q, dq, ddq) + mechanism.friction_along(q, 1 / RATE, dq) + mechanism.effort_bias
    return recorded(mechanism.arm, t, q, dq, tau)


def recorded(arm, t, q, dq, tau):
    units = [joint.unit for joint in arm.joints]
    return Recording(t=t, q=q, dq=dq, tau=tau, joints=arm.joint_names, joint_units=units)


@pytest.fixture(scope="module")
def ecm():
    """A simulated recording of an invented ECM with hysteretic friction."""
    return moved(invented("ECM", memory=True), 0, 10.0)


@pytest.mark.parametrize("arm", OTHERS)
def test_an_arm_without_a_built_in_recipe_is_identified_and_predicts_another_motion(arm):
    robot = invented(arm, memory=True)
    found = identify(moved(robot, 0), arm, cross_validate=False)
    other = moved(robot, 1)
    signals = found.prepared(other)
    known = tr.load_mechanism(arm)
    before = relative_error(signals.tau[signals.used], efforts(known, np.eye(known.n), signals)[signals.used])
    error = found.relative_error(other)
    assert found.status == "optimal"
    assert found.min_pseudo_inertia_eigenvalue > 0
    assert min(found.rotor_inertia.values()) > 0
    assert (error < 0.1).all()
    assert error.mean() < 0.3 * before.mean()


def test_a_simulated_ecm_under_its_controller_is_identified():
    def run(seed):
        engine = Simulator("ECM", timestep=1 / 1500)
        engine.reset(engine.arm.home)
        path = PeriodicRun(motion(engine.arm, seed), 1, engine.arm.home)
        return simulate(engine, JointPID(engine.arm, delay=1), path, path.duration, every=5)

    found = identify(run(0), "ECM", cross_validate=False)
    assert (found.relative_error(run(1))[:3] < 0.15).all()


def test_general_recipes_have_the_friction_terms_of_the_arms_set():
    for arm in OTHERS:
        table, known = recipe_table(arm), load_parameters(arm)
        assert not {term for d in table["drives"].values() for term in d["terms"]} & {"K2"}
        assert not any("slope" in d for d in table["drives"].values())
        for term in ("Fc", "Fx", "mu"):
            joints = {joint for d in known.drives if term in d.terms for joint in d.joints}
            entries = [entry for entry in table["drives"].values() if term in entry["terms"]]
            assert {joint for entry in entries for joint in entry.get("joints", ())} == joints
        drives = load_recipe(arm).mechanism().drives
        assert np.linalg.matrix_rank(drives.A[sorted(set(drives.owner))]) == drives.A.shape[1]  # friction everywhere


def test_a_constant_effort_is_a_force_if_the_set_has_one_and_a_bias_otherwise():
    yaw = {arm: recipe_table(arm)["drives"]["yaw"]["terms"] for arm in ("PSM_Si", "ECM")}
    assert "K0" in yaw["PSM_Si"]
    assert "Fo" not in yaw["PSM_Si"]
    assert "Fo" in yaw["ECM"]
    assert "K0" not in yaw["ECM"]


def test_the_command_reports_the_recipe_and_shows_a_hostile_file_name_as_text(ecm, tmp_path):
    name = "<img src=x onerror=alert(1)>$&.npz"
    ecm.save(tmp_path / name)
    result = CliRunner().invoke(app, ["identify", str(tmp_path / name), "--arm", "ECM", "--report", str(tmp_path)])
    assert result.exit_code == 0, result.output
    (page,) = tmp_path.glob("*.html")
    assert "<img src=x" not in page.read_text()
    assert "&lt;img src=x onerror=alert(1)&gt;$&amp;" in page.read_text()
    assert "general recipe for ECM" in result.output
    assert "--search" in result.output


@pytest.mark.parametrize("arm", [*RECIPES, *OTHERS])
def test_a_recipe_reads_back_from_its_file(arm, tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(toml_text({"arm": arm, **recipe_table(arm)}, ["a comment"]), encoding="utf-8")
    own, read = load_recipe(arm), load_recipe(arm, path)
    assert read.template.drives == own.template.drives
    assert read.template.elastics == own.template.elastics
    for name in ("columns", "rate", "effort_cutoff", "motion_cutoffs", "trim", "delay", "weights", "least_rotors"):
        assert getattr(read, name) == getattr(own, name)
    assert read.name == str(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("weights"), "no field 'weights'"),
        (
            lambda t: t["filters"].update(motion=[6.0]),
            r"filters: motion needs 4 positive cut-offs \[Hz\], got \(6.0,\)",
        ),
        (lambda t: t["filters"].update(cutoff=6.0), "field 'cutoff'"),
        (lambda t: t["drives"]["yaw"]["terms"].append("Fw"), "term 'Fw'"),
        (lambda t: t["drives"]["yaw"].update(hysteresis="deg"), "drives.yaw: 'hysteresis': 'deg' is unknown"),
        (lambda t: t["weights"].update(prior=0.0), "must be positive"),
        (lambda t: t["weights"].update(friktion=0.1), "field 'friktion'"),
        (lambda t: t["drives"]["yaw"].update(held={"K2": 10.0}), "held term 'K2'"),
        (lambda t: t["drives"]["yaw"].update(held={"Fv": 0.0}), "drives.yaw: held: 'Fv' must be positive"),
        (lambda t: t["drives"]["yaw"].update(held=10.0), "drives.yaw: 'held' must be a table"),
        (lambda t: t.update(arm="PSM"), "recipe for PSM, not for ECM"),
        (lambda t: t.update(filters=3), "'filters' must be a table"),
    ],
)
def test_errors_in_a_recipe_are_reported(change, message):
    table = recipe_table("ECM")
    change(table)
    with pytest.raises(TrocarError, match=message):
        recipe_of("ECM", table, "mine.toml")


def test_terms_are_regularised_as_strongly_as_the_recipe_states(ecm):
    def found(held):
        table = recipe_table("ECM")
        table["drives"]["yaw"]["held"] = held
        recipe = recipe_of("ECM", table)
        signals = prepared(recipe, ecm)
        return problem_of(recipe, recipe.mechanism(), np.eye(4), signals), recipe

    (plain, _), (other, recipe) = found({}), found({"Fv": 10.0, "hysteresis": 0.3})
    factor = dict(zip(other.terms, other.penalty / plain.penalty, strict=True))
    assert {term: f for term, f in factor.items() if f != 1.0} == pytest.approx({"yaw.Fv": 10.0, "yaw.hysteresis": 0.3})
    assert other.terms.count("yaw.hysteresis") == len(recipe.template.drives[0].hysteresis)
    np.testing.assert_allclose(plain.weighted(recipe.weights).penalty, other.penalty)


def test_terms_removed_by_a_search_lose_their_factors():
    table = recipe_table("PSM")
    assert table["drives"]["pitch"]["held"] == {"K2": 10.0}
    without = dict(simpler(table))["without pitch.K2"]
    assert "pitch.K2" not in recipe_of("PSM", without).weights.held


def test_an_invalid_recipe_file_is_reported(tmp_path):
    with pytest.raises(TrocarError, match="cannot be read"):
        load_recipe("PSM", tmp_path / "nothing.toml")
    (tmp_path / "text.toml").write_text("what is this")
    with pytest.raises(TrocarError, match="not valid TOML"):
        load_recipe("PSM", tmp_path / "text.toml")
    with pytest.raises(TrocarError, match="arm 'PSN'"):
        load_recipe("PSN")


def test_standard_errors_are_those_of_leaving_out_one_interval_at_a_time():
    square, total = np.random.default_rng(0).uniform(1, 2, (2, FOLDS, 3))
    found = Validation(square=square, total=total)
    left = [np.sqrt(np.delete(square, k, 0).sum(0) / np.delete(total, k, 0).sum(0)) for k in range(FOLDS)]
    expected = np.sqrt((FOLDS - 1) * np.var(left, axis=0))
    np.testing.assert_allclose(found.standard_errors, expected, rtol=1e-12)
    assert found.standard_error == pytest.approx(np.sqrt((FOLDS - 1) * np.var(np.mean(left, axis=1))))
    assert Validation(square=0.01 * total, total=total).standard_error == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("periodic", [True, False])
def test_held_out_rows_are_a_guard_away_from_fitted_rows(periodic):
    per_bin = 10
    bin_of_row = np.repeat(np.arange(FOLDS * SHIFTS), per_bin)
    rows = len(bin_of_row)
    for fitted, judged in folds(bin_of_row, periodic):
        apart = np.abs(np.flatnonzero(fitted)[:, None] - np.flatnonzero(judged))
        assert (np.minimum(apart, rows - apart) if periodic else apart).min() > per_bin


def test_a_search_never_gets_worse_and_takes_the_simplest_within_a_standard_error(ecm):
    table = recipe_table("ECM")
    for joint in ("yaw", "pitch", "roll"):  # the robot has no such term
        table["drives"][joint]["slope"] = [0.01, 0.02, 0.05, 0.1]
        table["drives"][joint]["terms"].append("K2")
    found = search(ecm, "ECM", table, budget=20)
    assert len(found.trials) <= 20
    assert found.start.table == table
    assert found.best.error == min(trial.error for trial in found.trials)
    assert found.chosen.error <= found.best.error + found.best.validation.standard_error
    simplest = min(trial.parameters for trial in found.trials if trial.error <= found.bound)
    assert found.chosen.parameters == simplest < found.start.parameters
    # The chosen recipe can be used unchanged and gives the error in the table.
    again = identify(ecm, "ECM", recipe=recipe_of("ECM", found.chosen.table))
    assert again.cv_relative_error.mean() == pytest.approx(found.chosen.error, rel=1e-9)


def test_a_search_is_reproducible_and_tests_no_recipe_twice(ecm):
    first, second = (search(ecm, "ECM", recipe_table("ECM"), budget=4) for _ in range(2))
    assert [t.change for t in first.trials] == [t.change for t in second.trials]
    assert [t.error for t in first.trials] == [t.error for t in second.trials]
    assert len({repr(t.table) for t in first.trials}) == len(first.trials)
    assert not first.finished
    with pytest.raises(TrocarError, match=">= 1"):
        search(ecm, "ECM", recipe_table("ECM"), budget=0)


@pytest.mark.parametrize("arm", ["PSM", "MTMR", *OTHERS])
def test_every_change_in_a_search_is_a_different_valid_recipe(arm):
    table = recipe_table(arm)
    changes = [change for options in alternatives(table) for change in options(table)]
    for name, changed in (*changes, *simpler(table)):
        assert changed != table or "cut-off" in name, name  # a cut-off may be at its bound
        recipe_of(arm, changed)
    assert table == recipe_table(arm)  # a change does not modify the recipe it starts from
    parameters = len(recipe_of(arm, table).mechanism().parameter_names)
    for _, changed in simpler(table):
        assert len(recipe_of(arm, changed).mechanism().parameter_names) < parameters


def test_delayed_efforts_are_fitted_in_time_and_predicted_with_the_delay(ecm):
    steps = 3
    late = replace(ecm, tau=np.concatenate([ecm.tau[:1].repeat(steps, 0), ecm.tau[:-steps]]))
    table = recipe_table("ECM")
    blind = identify(late, "ECM", recipe=recipe_of("ECM", table))
    table["filters"]["delay"] = steps / RATE
    found = identify(late, "ECM", recipe=recipe_of("ECM", table))
    assert found.cv_relative_error.mean() < 0.8 * blind.cv_relative_error.mean()
    signals = prepared(load_recipe("ECM"), late)
    error = relative_error(signals.tau[signals.used], found.recorded_efforts(late)[signals.used])
    np.testing.assert_allclose(error, found.train_relative_error, rtol=0.02)


def test_a_joint_is_scored_but_not_fitted_while_it_is_slow():
    """Coulomb friction, which Dahl elements match everywhere except at reversals."""
    recording, table = moved(invented("ECM"), 0), recipe_table("ECM")
    for drive in table["drives"].values():
        drive["terms"] = [term for term in drive["terms"] if term != "Fc"]

    def fit(slower_than):
        table["filters"]["slower_than"] = slower_than
        return identify(recording, "ECM", recipe=recipe_of("ECM", table), cross_validate=False)

    found, all_rows = fit(0.05), fit(0.0)
    fast = found.signals.faster_than(0.05)
    assert 0.3 < fast.mean() < 0.98
    assert len(found.predicted) == found.signals.used.sum()

    def error(which, rows):
        tau = which.signals.tau[which.signals.used]
        return relative_error(np.where(rows, tau, 0.0), np.where(rows, which.predicted, 0.0)).mean()

    assert error(found, fast) < error(all_rows, fast)
    assert error(found, ~fast) > error(all_rows, ~fast)


def test_friction_that_depends_on_load_and_depth_is_found_and_passive():
    known, arm = load_parameters("PSM_Si"), load_arm("PSM_Si")
    robot = Mechanism(arm, known)
    found = identify(moved(robot, 0), "PSM_Si", cross_validate=False).parameters
    drives, true = ({drive.name: drive for drive in p.drives} for p in (found, known))
    for name in ("yaw", "pitch"):
        assert drives[name].mu == pytest.approx(true[name].mu, rel=0.1)
        assert drives[name].Fc == pytest.approx(true[name].Fc, rel=0.15)
    assert drives["insertion"].Fx == pytest.approx(true["cannula"].Fx, rel=0.2)
    check_dissipative(Mechanism(arm, found).drives, arm)


def test_a_si_arm_identified_by_two_commands_holds_its_weight_everywhere(tmp_path):
    """Zhou et al. 2025: `trocar excite`, then `trocar identify` on its rehearsal; 60 random poses."""
    motion = files("trocar_reproductions").joinpath("zhou2025", "excitation.json")
    # the motion of the file itself: a search as long as a time would end elsewhere on a slower machine
    options = ["--from", str(motion), "--starts", "1", "--seconds", "1e-6", "--periods", "2", "-o", str(tmp_path)]
    result = CliRunner().invoke(app, ["excite", "--arm", "PSM_Si", *options])
    assert result.exit_code == 0, result.output
    result = command(tmp_path / "rehearsal.npz", "--arm", "PSM_Si", "-o", tmp_path / "mine.toml")
    assert result.exit_code == 0, result.output
    true, mine = tr.load_mechanism("PSM_Si"), tr.load_mechanism("PSM_Si", tmp_path / "mine.toml")
    q = np.random.default_rng(5).uniform(true.arm.lower, true.arm.upper, (60, true.n))
    error = mine.gravity(q) - true.gravity(q)
    assert (np.abs(error).max(0)[:3] < 0.15).all()
    assert max(friction_share(true, pose, e) for pose, e in zip(q, error, strict=True)) < 0.9
    engine = tr.Simulator("PSM_Si", timestep=1 / 1500, contacts=False)
    engine.reset(q[0])
    simulate(engine, GravityCompensation(mine), None, 1.0, every=100)
    assert np.abs(engine.q - q[0]).max() < 1e-4


def test_an_ecm_is_recalibrated_with_the_recipe_of_its_identification(ecm):
    table = recipe_table("ECM")
    table["deltas"] = {"rad": [0.003, 0.03], "m": [0.0001, 0.001]}
    recipe = recipe_of("ECM", table, "mine.toml")
    base = identify(ecm, "ECM", recipe=recipe, cross_validate=False).parameters
    found = recalibrate(base, ecm, recipe=recipe)
    np.testing.assert_allclose(found.after, found.before, atol=0.02)
    with pytest.raises(TrocarError, match="give the recipe it was identified with"):
        recalibrate(base, ecm)


def command(*arguments):
    return CliRunner().invoke(app, ["identify", *map(str, arguments)])


def test_the_command_searches_writes_a_recipe_and_uses_it(ecm, tmp_path):
    train, recipe = ecm.save(tmp_path / "ecm.npz"), tmp_path / "recipe.toml"
    result = command(train, "--arm", "ECM", "--search", "--budget", 4, "-o", recipe)
    assert result.exit_code == 0, result.output
    assert "weight of friction" in result.output
    assert "budget is used up" in result.output
    result = command(train, "--arm", "ECM", "--recipe", recipe, "-o", tmp_path / "mine.toml")
    assert result.exit_code == 0, result.output
    assert tr.load_mechanism("ECM", tmp_path / "mine.toml").n == 4
    assert str(recipe) in (tmp_path / "mine.toml").read_text()
    assert command(train, "--recipe", recipe).exit_code == 2  # another arm's


def test_an_interrupted_search_writes_nothing_and_explains_how_to_continue(ecm, tmp_path, monkeypatch):
    def interrupted(recording, arm, table, *, budget, progress):
        progress(1, None)
        progress(2, None)
        raise KeyboardInterrupt

    monkeypatch.setattr(recipe_search, "search", interrupted)
    result = command(ecm.save(tmp_path / "ecm.npz"), "--arm", "ECM", "--search", "-o", tmp_path / "recipe.toml")
    assert result.exit_code == 130
    assert "interrupted after 2" in result.output
    assert "--budget 2" in result.output
    assert not (tmp_path / "recipe.toml").exists()


def test_options_that_conflict_with_a_search_are_reported(tmp_path):
    assert "-o RECIPE.toml" in command(tmp_path / "a.csv", "--search").output
    result = command(tmp_path / "a.csv", "--search", "-o", tmp_path / "r.toml", "--test", tmp_path / "b.csv")
    assert result.exit_code == 2
    assert "--test cannot be combined with --search" in result.output


def test_the_search_prefers_fewer_parameters_then_smaller_errors():
    def trial(error, spread, parameters):
        square = np.full((FOLDS, 1), error**2)
        square[0] += spread
        validation = Validation(square=square, total=np.ones((FOLDS, 1)))
        return recipe_search.Trial(change="", table={}, validation=validation, parameters=parameters)

    best, near, far = trial(0.10, 0.02, 50), trial(0.105, 0.02, 40), trial(0.3, 0.02, 10)
    nearer = trial(0.104, 0.02, 40)
    found = SearchResult(trials=(best, near, far, nearer), finished=True)
    assert found.best is best
    assert found.chosen is nearer
