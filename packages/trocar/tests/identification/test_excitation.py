"""Excitation: exact gradients, limits at all times, executable files."""

import itertools
import json
import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
from commands.test_cli import call
from recording.test_measured import DATA, needs_recording

import trocar as tr
from trocar.arms import ARMS
from trocar.control import JointPID
from trocar.control.trajectories import PeriodicRun, fourier
from trocar.errors import TrocarError
from trocar.identification.estimators import base_estimate
from trocar.identification.excitation import file as files
from trocar.identification.excitation import search
from trocar.identification.excitation.criterion import Criterion, MotorEfforts
from trocar.identification.excitation.limits import excitation_limits
from trocar.identification.excitation.search import Excitation, ExcitationProblem, excite, sampled
from trocar.identification.pipeline import identify
from trocar.recording import Recording
from trocar.simulation.run import simulate

pytestmark = pytest.mark.xdist_group("excitation")  # one worker: fixtures are built once


@pytest.fixture(scope="module")
def psm():
    return tr.load_mechanism("PSM")


@pytest.fixture(scope="module")
def ecm():
    return tr.load_mechanism("ECM")


@pytest.fixture(scope="module")
def found(ecm):
    """A short search on the arm with the fewest joints."""
    return excite(Criterion(ecm), excitation_limits(ecm.arm), harmonics=4, starts=2, iterations=0.15, seed=1)


def test_sampling_a_motion_gives_its_setpoints_over_one_period():
    rng = np.random.default_rng(0)
    motion = fourier(rng.normal(size=3), *rng.normal(size=(2, 4, 3)), 0.2)
    rows = zip(np.linspace(0.0, 5.0, 11), *sampled(motion, 11), strict=True)
    for t, *row in rows:
        point = motion(t)
        np.testing.assert_allclose(row, [point.q, point.dq, point.ddq], atol=1e-12)


def states(mechanism, count, seed=0):
    """Positions within the limits, velocities and accelerations of that size."""
    rng = np.random.default_rng(seed)
    limits = excitation_limits(mechanism.arm)
    n = mechanism.n
    q = rng.uniform(limits.lower[:n], limits.upper[:n], (count, n))
    return (q, *(limits.velocity[:n] * rng.normal(size=(2, count, n))))


def test_without_two_bars_the_psm_has_48_base_parameters_and_49_with_them(psm):
    assert len(Criterion(psm, psm.arm.excitation.redundant_links)) == 48
    assert len(Criterion(psm)) == 49


@pytest.mark.parametrize("objective", ["condition", "determinant"])
@pytest.mark.parametrize("arm", ["PSM", "ECM", "MTMR"])
def test_the_gradient_is_that_of_the_objective_column_ranges_included(arm, objective):
    mechanism = tr.load_mechanism(arm)
    criterion = Criterion(mechanism, objective=objective)
    x = np.stack(states(mechanism, 40))
    value, gradient = criterion.gradient(*x, p=4.0)
    rng = np.random.default_rng(2)
    for _ in range(3):
        d = rng.normal(size=x.shape) * np.abs(x).mean(axis=(1, 2), keepdims=True)
        h = 1e-7
        difference = (criterion.gradient(*(x + h * d), 4.0)[0] - criterion.gradient(*(x - h * d), 4.0)[0]) / (2 * h)
        assert (gradient * d).sum() == pytest.approx(difference, rel=2e-5, abs=1e-6)
    assert np.isfinite(value)


def test_the_derivatives_of_the_link_regressor_are_exact(psm):
    q, dq, ddq = states(psm, 5)
    Y, D = psm.link_regressor_derivatives(q, dq, ddq)
    np.testing.assert_allclose(Y, psm.regressor(q, dq, ddq)[..., : Y.shape[-1]], atol=1e-13)
    h, unit = 1e-6, np.eye(7)
    for k in range(3):
        for j in (0, 1, 2, 5):
            step = [np.zeros(7)] * 3
            step[k] = h * unit[j]
            ends = [psm.regressor(q + s * step[0], dq + s * step[1], ddq + s * step[2]) for s in (1, -1)]
            # the sign of friction is not among the links' columns
            np.testing.assert_allclose(D[k][..., j], (ends[0] - ends[1])[..., : Y.shape[-1]] / (2 * h), atol=1e-7)


@pytest.mark.parametrize("arm", ["PSM", "PSM_Si", "ECM_Si", "MTMR"])
def test_the_derivatives_of_motor_efforts_are_exact_friction_by_load_and_springs_included(arm):
    mechanism = tr.load_mechanism(arm)
    efforts = MotorEfforts(mechanism)
    x = np.stack(states(mechanism, 12, seed=3))
    _, D = efforts.with_derivatives(*x)
    rng = np.random.default_rng(4)
    for _ in range(3):
        d = rng.normal(size=x.shape) * np.abs(x).mean(axis=(1, 2), keepdims=True)
        h = 1e-7
        difference = (efforts.with_derivatives(*(x + h * d))[0] - efforts.with_derivatives(*(x - h * d))[0]) / (2 * h)
        np.testing.assert_allclose(
            np.einsum("dtij,dtj->ti", D, d), difference, rtol=1e-5, atol=1e-6 * np.abs(difference).max()
        )
    # away from reversals, the smooth efforts are the arm's own
    q, dq, ddq = x[0], 1e3 * x[1], x[2]
    smooth, exact = efforts.with_derivatives(q, dq, ddq)[0], efforts(q, dq, ddq)
    np.testing.assert_allclose(smooth, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())


def test_the_derivative_of_the_effort_margin_by_the_coefficients_is_exact(ecm):
    problem = ExcitationProblem(Criterion(ecm), excitation_limits(ecm.arm), 3, 0.18)
    x = problem.random(np.random.default_rng(0))
    d, h = np.random.default_rng(1).normal(size=x.shape), 1e-7
    difference = (problem.effort_room(x + h * d)[0] - problem.effort_room(x - h * d)[0]) / (2 * h)
    np.testing.assert_allclose(problem.effort_room(x)[1] @ d, difference, atol=1e-5 * np.abs(difference).max())


def test_the_smooth_objective_bounds_the_condition_number_from_above(psm):
    criterion = Criterion(psm)
    x = states(psm, 60)
    sharp = np.log(criterion.condition_number(*x))
    values = [criterion.gradient(*x, p)[0] for p in (2.0, 16.0, 200.0)]
    assert values == sorted(values, reverse=True)
    # the remaining difference is the smoothed sign of Coulomb friction
    assert values[-1] == pytest.approx(sharp, abs=0.05)


def test_a_motion_on_the_edge_of_the_search_is_within_its_limits_at_all_times(psm):
    """The tightened grid is a strict bound: random motions scaled to its edge never leave the limits."""
    limits = excitation_limits(psm.arm)
    problem = ExcitationProblem(Criterion(psm), limits, 6, 0.18)
    for seed in range(20):
        x = problem.random(np.random.default_rng(seed)) * 3.0
        q, dq, _ = sampled(problem.motion(problem.inside(x)), 20_000)
        assert limits.violation(q, dq)[0] <= 1e-12


def test_the_search_improves_its_start_within_the_limits(ecm, found):
    limits = excitation_limits(ecm.arm)
    problem = ExcitationProblem(Criterion(ecm), limits, 4, 0.18)
    rng = np.random.default_rng(1)
    begun = [problem.condition_number(problem.random(rng)) for _ in range(2)]
    assert found.condition_number == min(found.starts) < 0.5 * min(begun)
    assert found.violation <= 0.0
    q, dq, _ = sampled(found.motion, 5000)
    assert limits.violation(q, dq)[0] <= 0.0


def test_a_search_continues_from_an_earlier_result_and_never_gets_worse(ecm, found):
    more = excite(
        Criterion(ecm), excitation_limits(ecm.arm), harmonics=4, starts=1, iterations=0.05, first=found.motion
    )
    assert more.condition_number <= 1.02 * found.condition_number


def test_when_time_runs_out_the_best_motion_so_far_is_returned(ecm, monkeypatch):
    # a clock that advances by a second at every reading: the result does not depend on the machine's speed
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    criterion, limits = Criterion(ecm), excitation_limits(ecm.arm)
    short = excite(criterion, limits, harmonics=4, starts=50, seconds=40)
    assert short.violation <= 0
    assert len(short.starts) < 50
    at_once = excite(criterion, limits, harmonics=4, seconds=0.5)
    assert at_once.violation <= 0
    assert at_once.iterations == 0
    assert short.condition_number < at_once.condition_number


def test_the_determinant_objective_finds_a_motion_too(ecm):
    criterion, limits = Criterion(ecm, objective="determinant"), excitation_limits(ecm.arm)
    result = excite(criterion, limits, harmonics=4, starts=1, iterations=0.15)
    assert result.violation <= 0
    problem = ExcitationProblem(criterion, limits, 4, 0.18)
    begun = problem.random(np.random.default_rng(0))
    assert problem.objective(problem.coefficients(result.motion), 2.0)[0] < problem.objective(begun, 2.0)[0]


def test_efforts_are_limited_to_the_requested_fraction(ecm, found):
    strength = ecm.arm.motors.effort
    part = 0.9 * float((found.effort / strength).max())
    limits = excitation_limits(ecm.arm, effort=part)
    gentle = excite(Criterion(ecm), limits, harmonics=4, starts=1, iterations=0.05, first=found.motion)
    assert (gentle.effort <= part * strength).all()
    assert gentle.violation <= 0.0
    # checked with equations that the search does not use
    q, dq, ddq = sampled(gentle.motion, 3001)
    tau = ecm.regressor(q, dq, ddq) @ ecm.parameter_vector
    use = float((np.abs(tau @ ecm.arm.motors.coupling) / strength).max())
    assert 0.9 * part < use < 1.005 * part


def test_an_arm_that_cannot_be_held_within_its_efforts_is_reported(ecm):
    with pytest.raises(TrocarError, match=r"motor pitch needs .* to hold the arm in the middle"):
        excite(Criterion(ecm), excitation_limits(ecm.arm, effort=0.2), starts=1)
    with pytest.raises(TrocarError, match="above 0 and at most 1"):
        excitation_limits(ecm.arm, effort=1.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"yaw": (1.0, -1.0, 1.0)}, "no room for yaw"),
        ({"yaw": (-1.0, 1.0, 0.0)}, "velocity limit of yaw"),
        ({"yaw": (-2.0, 1.0, 1.0)}, "may move from"),
        ({"yow": (-1.0, 1.0, 1.0)}, "Did you mean 'yaw'"),
    ],
)
def test_impossible_limits_are_reported(psm, change, message):
    with pytest.raises(TrocarError, match=message):
        excitation_limits(psm.arm, change)


def test_limits_of_joints_and_discs_that_exclude_each_other_are_reported(psm):
    limits = excitation_limits(psm.arm, {"wrist_pitch": (1.0, 1.3, 1.0)})
    far = limits.names.index("disc_3")
    limits.lower[far], limits.upper[far] = -0.3, 0.3
    with pytest.raises(TrocarError, match="disc_3: its limits and those of the joints exclude"):
        excite(Criterion(psm), limits, starts=1)


def test_unexcited_parameters_are_named(psm):
    q, dq, ddq = (x.copy() for x in states(psm, 40))
    for x in (dq, ddq):
        x[:, 3] = 0.0
    with pytest.raises(TrocarError, match=r"does not excite .*roll\.Fv"):
        Criterion(psm).condition_number(q, dq, ddq)


# -- playing -----------------------------------------------------------------------------------------------------------


def test_a_run_starts_and_ends_at_rest_and_keeps_to_the_motions_path_and_speeds(found, ecm):
    run = PeriodicRun(found.motion, 2, ecm.arm.home)
    t = np.linspace(0.0, run.duration, 4001)
    s = [run(x) for x in t]
    q, dq, ddq = (np.array([getattr(x, name) for x in s]) for name in ("q", "dq", "ddq"))
    np.testing.assert_allclose(q[[0, -1]], np.tile(ecm.arm.home, (2, 1)), atol=1e-12)
    np.testing.assert_allclose(dq[[0, -1]], 0.0, atol=1e-12)
    limits = excitation_limits(ecm.arm)
    assert (np.abs(dq) <= limits.velocity).all()
    # derivatives are consistent
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], dq[1:-1], atol=2e-4)
    np.testing.assert_allclose(np.gradient(dq, t, axis=0)[1:-1], ddq[1:-1], atol=5e-3)
    begin, end = run.full_speed
    assert end - begin == pytest.approx(2 * found.motion.duration)
    np.testing.assert_allclose(run(begin + 1.0).q, found.motion(1.0).q, atol=1e-12)


def test_coefficients_read_back_from_their_file(found, ecm, tmp_path):
    path = files.save_coefficients(tmp_path / "e.json", ecm.arm, found, excitation_limits(ecm.arm))
    again = files.load_coefficients(path, ecm.arm)
    np.testing.assert_array_equal(again.a, found.motion.a)
    assert json.loads(path.read_text())["condition_number"] == found.condition_number
    with pytest.raises(TrocarError, match="excitation for ECM, not for PSM"):
        files.load_coefficients(path, tr.load_arm("PSM"))
    path.write_text("{}")
    with pytest.raises(TrocarError, match="does not hold the coefficients"):
        files.load_coefficients(path, ecm.arm)


FAKE = """
    from crtk import ral
    import numpy

    class Handle:
        def wait(self):
            return True

    class ArmSlice:
        def __init__(self, n, log):
            self.n, self.log, self.p, self.v = n, log, numpy.zeros(n), numpy.zeros(n)
        def move_jp(self, q):
            self.p = q
            return Handle()
        def servo_jp(self, q, v):
            assert q.shape == v.shape == (self.n,)
            self.p, self.v = q, v
            self.log.append(list(q))
        def measured_js(self):
            return self.p, self.v, 0 * self.p, int(250.0 * ral.clock.t) / 250.0  # a new one every 4 ms
        setpoint_js = measured_js

    class psm(ArmSlice):
        def __init__(self, ral, name):
            assert name == "PSM2"
            super().__init__(6, [])
            self.jaw = ArmSlice(1, [])
        def enable(self, timeout):
            return True
        home = enable
        def is_enabled(self):
            return True
"""
FAKE_CRTK = """
    class Rate:
        def __init__(self, ral, hz):
            self.ral, self.dt = ral, 1.0 / hz
        def sleep(self):
            self.ral.t += self.dt

    class ral:
        def __init__(self, name):
            self.t = 5.0
            ral.clock = self
        def check_connections(self): pass
        def create_rate(self, hz): return Rate(self, hz)
        def now(self): return self.t
        def to_sec(self, t): return t
"""


def test_the_script_executes_the_rows_through_the_dvrks_interface(psm, tmp_path):
    """Uses ideal stand-ins for the dVRK's packages."""
    rng = np.random.default_rng(0)
    centre = np.array([0.1, 0.0, 0.15, 0.0, 0.0, 0.0, 0.5])
    motion = fourier(centre, *(0.05 * rng.normal(size=(2, 2, 7)) * [1, 1, 0.1, 1, 1, 1, 1]), 0.5)
    plan = files.rows(psm.arm, PeriodicRun(motion, 1, psm.arm.home, ramp=0.5), 100.0)
    plan.save(tmp_path / "excitation.csv")
    (tmp_path / "play.py").write_text(files.player(psm.arm, "excitation.csv", 100.0))
    (tmp_path / "dvrk.py").write_text(textwrap.dedent(FAKE))
    (tmp_path / "crtk.py").write_text(textwrap.dedent(FAKE_CRTK))
    for scale in ("1.0", "0.5"):
        command = [sys.executable, "play.py", "--arm", "PSM2", "--scale", scale, "--output", "measured.csv"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        measured = Recording.load(tmp_path / "measured.csv")
        assert measured.joints == psm.arm.joint_names
        assert measured.t[-1] == pytest.approx(plan.t[-1] / float(scale), abs=0.02)
        rows = np.minimum(np.round(measured.t * 100 * float(scale)).astype(int), len(plan) - 1)
        np.testing.assert_allclose(measured.q, plan.q[rows], atol=0.01)
        np.testing.assert_allclose(measured.dq, float(scale) * plan.dq[rows], atol=0.05)


def test_the_command_searches_rehearses_and_writes_all_files(tmp_path):
    options = ("--arm", "ECM", "--harmonics", 3, "--frequency", 0.5, "--starts", 1, "--seconds", 1, "--periods", 1)
    run = call("excite", *options, "-o", tmp_path)
    assert run.exit_code == 0, run.output
    assert "Condition number" in run.output
    assert "Least excited parameters" in run.output
    assert {p.name for p in tmp_path.iterdir()} == {
        "excitation.json",
        "excitation.csv",
        "play.py",
        "rehearsal.npz",
        "rehearsal.png",
    }
    plan, rehearsal = (Recording.load(tmp_path / name) for name in ("excitation.csv", "rehearsal.npz"))
    assert plan.t[-1] == pytest.approx(rehearsal.t[-1], abs=0.01)
    arm = tr.load_arm("ECM")
    means = np.abs(rehearsal.commands["tau"] @ arm.motors.coupling).max(0)  # over five cycles
    # files and terminal list the effort that each motor needs
    efforts = json.loads((tmp_path / "excitation.json").read_text())["efforts"]
    assert plan.provenance["efforts"] == efforts
    for i, name in enumerate(arm.motors.names):
        assert efforts[name]["limit"] == pytest.approx(arm.motors.effort[i], rel=1e-3)
        largest = efforts[name]["rehearsal"]
        assert means[i] * 0.999 < largest < min(2 * means[i], arm.motors.effort[i])
        assert efforts[name]["model"] <= 0.7501 * efforts[name]["limit"]
        (share,) = re.findall(rf"{name} .* (\d+)%", run.output)
        assert abs(int(share) - 100 * largest / arm.motors.effort[i]) <= 0.6  # rounded; numbers in files are, too
    for command in ("trocar run --scene ECM --speed fast", "trocar identify measured.csv --arm ECM -o mine.toml"):
        assert command in run.output


def test_the_table_shows_the_planned_speed_of_the_jaw_whose_command_has_none(psm, capsys):
    from trocar.commands.identification.excite import _show_motion

    arm, t = psm.arm, np.arange(0.0, 1.0, 0.01)
    names = {"joints": arm.joint_names, "joint_units": arm.joint_units}
    q, dq = np.array(arm.home) + 0.01 * np.sin(50 * t)[:, None], 0.5 * np.cos(50 * t)[:, None] * np.ones(7)
    commands = {"q": q, "dq": dq * [1, 1, 1, 1, 1, 1, 0]}  # the dVRK's jaw/servo_jp takes positions only
    rehearsal = Recording(t=t, q=q + 0.002, dq=dq, tau=dq, commands=commands, **names)
    _show_motion(arm, excitation_limits(arm), Recording(t=t, q=q, dq=dq, **names), rehearsal)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "jaw" in line)
    assert "0.50/2.00" in line
    assert "0.002" in line


def test_help_names_every_arm():
    assert all(name in call("excite", "--help").output for name in ARMS)


@pytest.mark.parametrize("name", ARMS)
def test_the_script_of_any_arm_reads_its_rows(name, tmp_path):
    arm, rng = tr.load_arm(name), np.random.default_rng(0)
    motion = fourier(arm.home, *(0.01 * rng.normal(size=(2, 2, arm.n))), 0.5)
    plan = files.rows(arm, PeriodicRun(motion, 1, arm.home, ramp=0.5), 50.0)
    plan.save(tmp_path / "excitation.csv")
    script = {"__name__": "play"}
    exec(compile(files.player(arm, "excitation.csv", 50.0), name, "exec"), script)
    q, dq = script["read"](tmp_path / "excitation.csv")
    np.testing.assert_allclose(q, plan.q, atol=1e-8)
    np.testing.assert_allclose(dq, plan.dq, atol=1e-8)
    assert script["N"] + script["JAW"] == arm.n


def test_the_command_reports_errors(tmp_path):
    run = call("excite", "--limit", "yaw=1", "-o", tmp_path)
    assert run.exit_code == 2
    assert "JOINT=LOW,HIGH,SPEED" in run.output
    run = call("excite", "--from", tmp_path / "none.json", "-o", tmp_path)
    assert run.exit_code == 2
    assert "cannot be read" in run.output


# -- and back: excite, simulate, identify ------------------------------------------------------------------------------


def played(arm, motion):
    """One period at full speed under the dVRK's PID, motors limited; 150 rows per second."""
    sim = tr.Simulator(arm, timestep=1 / 1500, motor_limits=True)
    run = PeriodicRun(motion, 1, sim.arm.home)
    sim.reset(sim.arm.home)
    return simulate(sim, JointPID(sim.arm, delay=1), run, run.duration, every=10).between(*run.full_speed)


def test_the_base_parameters_of_an_ecm_are_recovered_and_weakly_excited_ones_are_known(ecm, found):
    run = played("ECM", found.motion)
    moving = (np.abs(run.dq) > 1e-3).all(1)  # where the engine's Coulomb friction slides
    Y = ecm.regressor(run.q, run.dq, run.ddq)[moving]
    estimate = base_estimate(Y, run.tau[moving], ecm.base_parameters, ecm.parameter_names)
    truth = ecm.base_parameters.B @ ecm.parameter_vector
    contribution = np.abs(Y[..., ecm.base_parameters.independent]).max((0, 1))
    assert len(estimate.names) == 33
    # each parameter to 1 % of its motor's largest effort; weight and friction far better
    np.testing.assert_allclose(estimate.values * contribution, truth * contribution, atol=0.01 * np.abs(run.tau).max())
    for name in ("pitch.Fv", "pitch.Fc", "yaw.Fv", "yaw.Fc"):
        i = estimate.names.index(name)
        assert estimate.values[i] == pytest.approx(truth[i], rel=1e-3)
    result = identify(run, "ECM", cross_validate=False)
    assert result.status == "optimal"
    assert result.min_pseudo_inertia_eigenvalue > 0
    # as for the masters below; the error of the roll, whose motor carries little besides friction, is the largest
    assert (result.train_relative_error[:3] < 0.2).all()


def test_a_motion_of_a_master_is_found_executed_and_identified():
    mtm = tr.load_mechanism("MTMR")
    limits = excitation_limits(mtm.arm)
    motion = excite(Criterion(mtm), limits, harmonics=4, frequency=0.2, starts=1, iterations=0.04).motion
    run = played("MTMR", motion)
    assert (np.abs(run.tau @ mtm.arm.motors.coupling).max(0) < mtm.arm.motors.effort).all()
    result = identify(run, "MTMR", cross_validate=False)
    assert result.status == "optimal"
    assert result.min_pseudo_inertia_eigenvalue > 0
    # friction of the recipe has memory, that of the simulated arm does not
    assert (result.train_relative_error < 0.2).all()


# -- the authors' own motion -------------------------------------------------------------------------------------------


def _fitted(recording):
    """The Fourier series fitted to a recorded motion, with its frequency changed to the designed one."""
    from trocar_reproductions.wang2019.identification import FREQUENCY, HARMONICS

    inside = slice(400, -400)
    t, q = recording.t[inside], recording.q[inside]
    k = np.arange(1, HARMONICS + 1)

    def fit(f):
        phase = 2.0 * np.pi * f * np.outer(t, k)
        A = np.hstack([np.ones((len(t), 1)), np.sin(phase), -np.cos(phase)])
        x, *_ = np.linalg.lstsq(A, q, rcond=None)
        return float(np.square(A @ x - q)[:, 0].sum()), x

    near = FREQUENCY * 30 / 35  # fraction of the designed speed at which it was played
    _, x = min((fit(f) for f in np.linspace(0.99 * near, 1.01 * near, 41)), key=lambda pair: pair[0])
    w = 2.0 * np.pi * FREQUENCY * k[:, None]
    return fourier(x[0], w * x[1 : HARMONICS + 1], w * x[HARMONICS + 1 :], FREQUENCY)


@needs_recording
def test_the_recorded_motion_has_about_the_condition_number_of_the_authors_command(psm):
    """Their command: 390 (48 parameters) and 4757 (49). Recorded, the wrist lags behind it."""
    from trocar.identification.excitation.search import SAMPLES
    from trocar.identification.recipes.recipe import load_recipe
    from trocar_reproductions.wang2019.identification import HARMONICS
    from trocar_reproductions.wang2019.recordings import ONE, measured

    motion = _fitted(measured(DATA / ONE, load_recipe("PSM")).joints)
    x = sampled(motion, HARMONICS * SAMPLES + 1)
    assert Criterion(psm, psm.arm.excitation.redundant_links).condition_number(*x) == pytest.approx(389.9, rel=0.1)
    assert Criterion(psm).condition_number(*x) == pytest.approx(4757, rel=0.05)


def test_a_result_keeps_its_budget(found):
    assert isinstance(found, Excitation)
    assert found.iterations <= 2 * round(0.15 * 160)
    assert len(found.starts) == 2
