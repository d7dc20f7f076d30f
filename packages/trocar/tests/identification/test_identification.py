"""Simulated recordings with known parameters, run through the pipeline of real ones."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.identification.consistency import prior
from trocar.identification.cross_validation import bins
from trocar.identification.design import with_values
from trocar.identification.estimators import base_estimate, consistent, expanded, noise_variance
from trocar.identification.identified_file import covariance, identified_text
from trocar.identification.pipeline import identify, prepared, problem_of, recalibrate
from trocar.identification.recipes.recipe import load_recipe
from trocar.identification.signals import efforts, prepare, regressor
from trocar.recording import Recording
from trocar.recording.filters import lowpass
from trocar.recording.motor_columns import joint_from_columns
from trocar.toml_file import read_toml

pytestmark = pytest.mark.xdist_group("identification")  # one worker: fixtures are built once
RATE = 200.0
CENTRE = np.array([0.0, 0.0, 0.14, 0.0, 0.0, 0.0, 0.4])
SIZE = np.array([0.5, 0.4, 0.05, 0.5, 0.4, 0.4, 0.25])


def motion(duration, seed=0, rate=RATE):
    """q, dq, ddq of five sines per joint, about the middle of the workspace."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration * rate)) / rate
    w = 2 * np.pi * np.arange(1, 6) / 6.0
    a = rng.normal(size=(5, 7)) * SIZE / 2.5
    phase = rng.uniform(0, 2 * np.pi, (5, 7))
    angle = w[:, None, None] * t[:, None] + phase[:, None]
    q = CENTRE + (a[:, None] * np.sin(angle)).sum(0)
    dq = (a[:, None] * w[:, None, None] * np.cos(angle)).sum(0)
    ddq = -(a[:, None] * w[:, None, None] ** 2 * np.sin(angle)).sum(0)
    return t, q, dq, ddq


def recorded(mech, t, q, dq, tau, ddq=None):
    units = [j.unit for j in mech.arm.joints]
    return Recording(t=t, q=q, dq=dq, ddq=ddq, tau=tau, joints=mech.arm.joint_names, joint_units=units)


@pytest.fixture(scope="module")
def mech():
    return tr.load_mechanism("PSM", "wang2019")


@pytest.fixture(scope="module")
def truth():
    """A set in the structure of the recipe: links of wang2019, invented friction with memory."""
    recipe = load_recipe("PSM")
    names = recipe.mechanism().parameter_names
    size = {"yaw": 0.1, "pitch": 0.1, "insertion": 0.5, "roll": 0.003}
    value = {}
    for name in names:
        owner, term = name.split(".", 1)
        scale = size.get(owner, 0.003)
        value[name] = {"Fv": 0.3 * scale, "Fo": -scale, "K": 0.2 * scale, "K2": 0.1 * scale, "Im": 2e-4}.get(term, 0.0)
        if term in ("hysteresis[3].F", "hysteresis[5].F"):
            value[name] = scale
    phi = np.array([value[name] for name in names])
    found = with_values(recipe.template, names, phi + 1e-12)
    known = tr.load_mechanism("PSM", "wang2019").parameters.inertias
    return replace(found, inertias={name: known[name] for name in found.inertias})


@pytest.fixture(scope="module")
def simulated(truth):
    """Fifteen seconds of the invented arm, along a known motion, with hysteretic friction."""
    recipe = load_recipe("PSM")
    model = replace(recipe, template=truth).mechanism()
    t, q, dq, ddq = motion(15.0)
    tau = model.inverse_dynamics(q, dq, ddq) + model.friction_along(q, 1 / RATE, dq) + model.effort_bias
    return recorded(model, t, q, dq, tau)


def base_values(mech, q_signals, cutoff):
    T = np.eye(7)
    Y = regressor(mech, T, q_signals, cutoff)[q_signals.used]
    return base_estimate(Y, q_signals.tau[q_signals.used], mech.base_parameters, mech.parameter_names, WEIGHTS)


WEIGHTS = 1.0 / np.array([1.0, 1.0, 1.0, 0.01, 0.05, 0.03, 0.03])


@pytest.mark.parametrize(("cutoff", "accuracy"), [(np.inf, 1e-6), (16.965, 1e-3)])
def test_base_parameters_are_recovered_exactly_and_through_the_filters(mech, cutoff, accuracy):
    """Without filters the recorded acceleration is used; with them it is differentiated from the velocity."""
    t, q, dq, ddq = motion(8.0)
    tau = mech.inverse_dynamics(q, dq, ddq, friction=True) + mech.effort_bias
    signals = prepare(recorded(mech, t, q, dq, tau, ddq), [cutoff] * 7, cutoff, 1.0)
    found = base_values(mech, signals, cutoff)
    true = mech.base_parameters.B @ mech.parameter_vector
    # relative to the size of the effort: parameters of different units are compared by their effects
    Y = mech.regressor(q, dq, ddq)[..., mech.base_parameters.independent] * WEIGHTS[:, None]
    share = np.sqrt((Y**2).mean((0, 1)))
    assert np.abs((found.values - true) * share).max() < accuracy * np.abs(true * share).max()


def test_the_truth_is_within_three_standard_deviations_with_noise_and_quantisation(mech):
    """Twenty recordings: positions in encoder counts, velocities in whole counts per second, white noise of effort."""
    t, q, dq, ddq = motion(6.0, rate=100.0)
    tau = mech.inverse_dynamics(q, dq, ddq, friction=True) + mech.effort_bias
    true = mech.base_parameters.B @ mech.parameter_vector
    count = np.array([7.7e-6, 7.7e-6, 1.3e-6, 1.3e-4, 1.3e-4, 1.3e-4, 1.3e-4])
    inside = []
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(size=tau.shape) / WEIGHTS * 0.05
        shaken = recorded(mech, t, np.round(q / count) * count, np.round(dq / count) * count, tau + noise)
        signals = prepare(shaken, [17.0] * 7, 17.0, 0.5)
        Y = regressor(mech, np.eye(7), signals)[..., mech.base_parameters.independent]
        Y = lowpass(Y, 17.0, 100.0)[signals.used]
        everything = replace(mech.base_parameters, independent=np.arange(Y.shape[-1]))
        found = base_estimate(Y, signals.tau[signals.used], everything, mech.parameter_names, WEIGHTS)
        inside.append(np.abs(found.values - true) < 3 * found.standard_deviations)
    assert np.mean(inside) >= 0.95


def test_correlated_noise_counts_for_more_than_white_noise():
    white = np.random.default_rng(0).normal(size=200000)
    assert noise_variance(white) == pytest.approx(1.0, rel=0.1)
    smooth = np.convolve(white, np.ones(10) / 10, "same")  # same mean over long times, tenth of the variance
    assert smooth.var() == pytest.approx(0.1, rel=0.1)
    assert noise_variance(smooth) == pytest.approx(1.0, rel=0.15)


def test_a_simulated_arm_with_hysteresis_is_identified_and_its_file_loads(simulated, truth, tmp_path):
    found = identify(simulated, "PSM")
    assert found.status == "optimal"
    assert (found.train_relative_error < 0.06).all()
    assert (found.cv_relative_error < 0.12).all()
    assert found.min_pseudo_inertia_eigenvalue > 0
    assert min(found.rotor_inertia.values()) > 0
    assert found.largest_link_inertia < 0.2
    known = replace(found.recipe, template=truth).mechanism()
    room = [0.01, 0.03, 0.15, 1e-4, 1e-4, 1e-4, 1e-4]  # a bias is hardly distinguishable from weight and springs
    assert (np.abs(found.mechanism().effort_bias - known.effort_bias) < room).all()

    path = tmp_path / "mine.toml"
    path.write_text(identified_text(found, 'C:\\data\\the "first".csv'), encoding="utf-8")
    loaded = tr.load_mechanism("PSM", path)
    assert loaded.parameters.source == 'identified from C:\\data\\the "first".csv'
    assert read_toml(path, "set")["residuals"]["columns"] == list(found.columns)
    signals = found.prepared(simulated)
    again = efforts(loaded, np.eye(7), signals)[signals.used]
    np.testing.assert_allclose(again, found.predicted, atol=1e-6 * np.abs(found.predicted).max())
    engine = tr.Simulator("PSM", parameters=path, timestep=2e-4)
    engine.reset(CENTRE)
    engine.step(np.zeros(7))
    assert np.isfinite(engine.q).all()
    names, C = covariance(path)
    assert "disc_3.Im" in names
    assert (np.linalg.eigvalsh(C) > -1e-6 * np.abs(C).max()).all()


def test_recalibration_follows_friction_that_has_changed(simulated, truth):
    changed = replace(
        truth,
        drives=tuple(
            replace(d, Fo=1.5 * d.Fo, hysteresis=tuple(replace(h, F=1.5 * h.F) for h in d.hysteresis))
            for d in truth.drives
        ),
    )
    found = recalibrate(changed, simulated, seconds=9.0)
    assert found.judged
    assert (found.after < 0.06).all()
    assert (found.before > 2 * found.after).all()
    assert found.parameters.inertias == changed.inertias
    assert [d.Im for d in found.parameters.drives] == [d.Im for d in changed.drives]


def test_the_fast_estimate_agrees_with_the_consistent_one(simulated):
    recipe = load_recipe("PSM")
    mechanism = recipe.mechanism()
    signals = prepared(recipe, simulated)
    problem = problem_of(recipe, mechanism, np.eye(7), signals)
    G, h = problem.gram(np.ones(len(problem.tau), dtype=bool))
    quick = problem.X @ expanded(problem, G, h)
    theta, _ = consistent(problem, prior("PSM"), recipe.weights.prior, recipe.least_rotors, G, h)
    apart = np.linalg.norm(quick - problem.X @ theta, axis=0)
    assert (apart < 0.02).all()
    assert bins(signals, None).max() == 23


def test_infeasible_constraints_are_an_error(simulated):
    recipe = load_recipe("PSM")
    mechanism = recipe.mechanism()
    problem = problem_of(recipe, mechanism, np.eye(7), prepared(recipe, simulated))
    priors = prior("PSM")
    priors["yaw"] = replace(priors["yaw"], largest_mass=-1.0)
    G, h = problem.gram(np.ones(len(problem.tau), dtype=bool))
    with pytest.raises(TrocarError, match="infeasible"):
        consistent(problem, priors, recipe.weights.prior, recipe.least_rotors, G, h)


def test_columns_may_be_joints_or_motors():
    arm = tr.load_arm("PSM")
    T = joint_from_columns(arm, ("yaw", "pitch", "insertion", "roll", "disc_2", "disc_3", "disc_4"))
    np.testing.assert_allclose(T[4:, 4:], arm.motors.coupling[4:, 4:], atol=1e-12)
    assert (joint_from_columns(arm, arm.joint_names) == np.eye(7)).all()
    with pytest.raises(TrocarError, match="do not determine"):
        joint_from_columns(arm, ("yaw", "pitch", "insertion", "roll", "disc_2", "disc_3", "disc_3"))
    with pytest.raises(TrocarError, match="disc_9"):
        joint_from_columns(arm, ("yaw", "pitch", "insertion", "roll", "disc_2", "disc_3", "disc_9"))


def spoiled(recording, **changes):
    return replace(recording, **{name: change(np.array(getattr(recording, name))) for name, change in changes.items()})


def scaled(j, factor):
    def change(x):
        x[:, j] *= factor
        return x

    return change


def held(j, value=0.0):
    def change(x):
        x[:, j] = value
        return x

    return change


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": lambda x: np.rad2deg(x), "dq": lambda x: np.rad2deg(x)}, "degrees"),
        ({"dq": scaled(1, 180 / np.pi)}, "dq of pitch looks like degrees per second"),
        ({"q": scaled(2, 1e3), "dq": scaled(2, 1e3)}, "insertion reaches .* millimetres"),
        ({"dq": scaled(2, 1e3)}, "dq of insertion looks like millimetres per second"),
        ({"dq": lambda x: 2 * x}, r"sampling rate is probably 400 Hz"),
        ({"q": held(3), "dq": held(3)}, "roll does not move"),
        ({"tau": lambda x: np.clip(x, -0.3, 0.3)}, "saturated"),
        ({"tau": lambda x: 0.0 * x}, "effort of yaw, pitch, .* is constant"),
        ({"tau": held(3)}, "effort of roll is constant"),
        ({"tau": lambda x: -x}, "efforts are not those of this motion"),
        ({"tau": lambda x: np.random.default_rng(0).normal(size=x.shape)}, "efforts are not those of this motion"),
    ],
)
def test_invalid_recordings_are_reported(simulated, changes, message):
    with pytest.raises(TrocarError, match=message):
        identify(spoiled(simulated, **changes), "PSM")


def test_a_joint_that_is_not_explained_is_named(simulated, tmp_path):
    assert identify(simulated, "PSM", cross_validate=False).unexplained == ()
    noise = spoiled(
        simulated, tau=lambda x: np.where(np.arange(7) == 2, np.random.default_rng(0).normal(size=x.shape), x)
    )
    found = identify(noise, "PSM", cross_validate=False)
    assert found.unexplained == ("insertion",)
    assert "NOT EXPLAINED by the model, and not to be used: insertion." in identified_text(found, "noise.npz")
    path = noise.save(tmp_path / "noise.npz")
    result = CliRunner().invoke(app, ["identify", str(path)])
    assert result.exit_code == 0, result.output
    assert "does not explain the effort of insertion" in result.output
    assert "that the joint moves enough" in result.output


def test_nothing_is_not_a_recording():
    with pytest.raises(TrocarError, match="recording must be a Recording"):
        identify(None)


def test_short_and_one_way_recordings_are_rejected(simulated):
    with pytest.raises(TrocarError, match="too short"):
        identify(simulated.between(0.0, 2.0), "PSM")
    t = np.array(simulated.t)
    q, dq = np.array(simulated.q), np.array(simulated.dq)
    q[:, 0], dq[:, 0] = 0.05 * t - 0.5, 0.05
    with pytest.raises(TrocarError, match="yaw never reverses"):
        identify(replace(simulated, q=q, dq=dq), "PSM")
    with pytest.raises(TrocarError, match="no effort"):
        identify(replace(simulated, tau=None), "PSM")


def test_a_parameter_that_is_not_excited_is_named(mech):
    _, q, dq, ddq = motion(8.0)
    q[:, 3], dq[:, 3], ddq[:, 3] = 0.0, 0.0, 0.0
    tau = mech.inverse_dynamics(q, dq, ddq, friction=True) + mech.effort_bias
    Y = mech.regressor(q, dq, ddq)
    with pytest.raises(TrocarError, match=r"does not excite .*roll\.Fv"):
        base_estimate(Y, tau, mech.base_parameters, mech.parameter_names)
