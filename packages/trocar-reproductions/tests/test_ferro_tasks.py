"""The tasks of Ferro et al. 2022 on our engine, compared with their logs and with the equations."""

import os
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.demo import torque_control
from trocar.simulation import Mirror
from trocar_reproductions.ferro2022 import log_files, logs, runs, tasks
from trocar_reproductions.ferro2022.motors import EffortMotors, VelocityMotors
from trocar_reproductions.ferro2022.tasks import CONTROLS, TASKS, run_task

FOLDER = os.environ.get("TROCAR_DATA")
DATA = Path(FOLDER) if FOLDER else None
needs_logs = pytest.mark.skipif(
    not isinstance(logs.log_of(DATA, 1), logs.Log), reason="TROCAR_DATA has no logs of Ferro et al."
)
SCENE = {"parameters": "ferro2022_scene", "transmission": "mirrored"}


class Swing(logs.MeasuredMotion):
    """A smooth motion of three joints in place of the recording."""

    def __init__(self):
        self.t = np.arange(0.0, 2.0, 5e-3)
        amplitude, rate = np.array([0.3, 0.2, 0.03]), 2 * np.pi * np.array([0.5, 0.7, 0.4])
        self._q = lambda t: [0.0, 0.0, 0.12] + amplitude * np.sin(np.multiply.outer(t, rate))
        self._dq = lambda t: amplitude * rate * np.cos(np.multiply.outer(t, rate))


@pytest.fixture(scope="module")
def short():
    """Every task under both controls with the identified masses, 0.8 s."""
    return {
        (task, control): run_task(task, control, duration=0.8, excitation=Swing())
        for task in TASKS
        for control in CONTROLS
    }


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("task", TASKS)
def test_a_task_ends_on_its_path(short, task, control):
    run = short[task, control]
    distance = np.linalg.norm(run.tip_errors(), axis=1)
    assert len(run.t) == round(0.8 / run.about["period"])
    # kinematic control lags behind a moving target by two periods; torque control by its gains
    bound = {"regulation": 0.012, "line": 0.002, "spiral": 0.004, "excitation": 0.012}[task]
    assert distance[-1] < bound
    if task != "excitation":
        assert distance[0] > 0.02  # the jump onto the path
    assert run.engine[:, :3].any()
    assert (np.any(run.rates) and not np.any(run.efforts)) if control == "kinematic" else not np.any(run.rates)


def test_the_engine_has_the_torque_of_the_model_it_shares_its_masses_with(short):
    """Kinematic regulation ends at rest: effort is gravity; mirrored and rigid counterweights weigh the same."""
    rest = short["regulation", "kinematic"]
    np.testing.assert_allclose(rest.engine[-1, :3], rest.model[-1], atol=2e-3)
    mirrored = run_task("regulation", transmission="mirrored", duration=0.8)
    np.testing.assert_allclose(mirrored.engine[-1, :3], rest.engine[-1, :3], atol=0.05)


def test_a_command_acts_one_period_late_and_its_effort_is_read_another_later(short):
    run = short["line", "torque"]
    np.testing.assert_allclose(run.engine[2:, :3], run.efforts[:-2], atol=1e-12)
    moving = short["line", "kinematic"]
    np.testing.assert_allclose(moving.q[:2], np.tile(torque_control.START, (2, 1)), atol=1e-9)
    np.testing.assert_allclose(np.diff(moving.q, axis=0)[1:, :3] / 0.01, moving.rates[:-2, :3], atol=1e-3)


def test_without_counterweight_the_insertion_lacks_its_weight():
    with_weight, without = (run_task("regulation", counterweight=cw, duration=0.8) for cw in (True, False))
    q = with_weight.q[-1]
    lacking = np.subtract(*(tr.load_mechanism("PSM", counterweight=cw).gravity(q)[2] for cw in (False, True)))
    assert abs(lacking) > 2.0
    assert without.engine[-1, 2] - with_weight.engine[-1, 2] == pytest.approx(lacking, abs=1e-2)


def test_friction_acts_if_enabled():
    smooth, rough = (run_task("spiral", friction=on, duration=0.8) for on in (False, True))
    assert rough.torque_errors()[2] > smooth.torque_errors()[2] + 0.2


def test_written_logs_read_back_as_the_run(tmp_path, short):
    run = short["spiral", "kinematic"]
    written = log_files.write_logs(run, tmp_path / "LogSession_1")
    assert sorted(path.stem for path in written) == sorted(log_files.FILES)
    log = logs.Log(tmp_path / "LogSession_1")
    np.testing.assert_allclose(log.t, run.t, rtol=1e-5)
    np.testing.assert_allclose(log.simulated(), run.engine[:, :3], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(log["qmsr"][:, :6], run.q[:, :6], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(log.tip_errors()[:, :3], run.tip_errors(), atol=1.1e-5)  # six digits of 1.5 m
    # the model of the log is our equations at the logged motion
    late = log.settled
    np.testing.assert_allclose(log.model(tr.load_mechanism("PSM"))[late], run.model[late], atol=2e-3)


@needs_logs
def test_the_files_have_the_form_of_the_authors_files(tmp_path, short):
    theirs = DATA / logs.LOGS / "LogSession_4"
    log_files.write_logs(short["spiral", "kinematic"], tmp_path)
    for name in log_files.FILES:
        ours, original = ((folder / f"{name}.txt").read_text().splitlines()[0] for folder in (tmp_path, theirs))
        for mark in (",", ";"):
            assert ours.count(mark) == original.count(mark) or name == log_files.INFO, name
        assert ours.endswith("; ") == original.endswith("; "), name


@needs_logs
@pytest.mark.parametrize(
    ("task", "control", "session", "tip", "insertion"),
    [("line", "kinematic", 2, 4e-4, 0.06), ("spiral", "kinematic", 4, 3e-4, 0.08), ("line", "torque", 8, 2e-4, 0.08)],
)
def test_a_task_with_the_scenes_masses_is_the_logged_run(task, control, session, tip, insertion):
    """From the scene's start, without reading the log: tip, targets and efforts are the logged ones."""
    log = logs.log_of(DATA, session)
    run = run_task(task, control, duration=4.0, **SCENE)
    rows = len(run.t)
    late = run.t >= torque_control.SETTLED
    np.testing.assert_allclose(run.desired()[0], log["pdes"][:rows], atol=1e-4)
    assert torque_control.rms(run.tip()[0] - log["pee"][:rows])[:].max() < 1.6 * tip
    assert torque_control.rms((run.tip()[0] - log["pee"][:rows])[late]).max() < tip
    turned, theirs = run.tip()[1].reshape(-1, 9), log["Ree"][:rows]
    np.testing.assert_allclose(turned[late], theirs[late], atol=0.02)
    difference = (run.engine[:, :3] - log.simulated()[:rows])[late]
    assert np.abs(difference.mean(axis=0)).max() < 0.03
    assert torque_control.rms(difference)[2] < insertion


def test_velocity_motors_reach_their_velocity_in_one_step():
    for transmission in ("rigid", Mirror()):
        sim = tr.Simulator("PSM", friction=False, contacts=False, timestep=5e-3, transmission=transmission)
        sim.reset(torque_control.START)
        motors = VelocityMotors(sim, tr.load_mechanism("PSM", counterweight=transmission == "rigid"))
        motors.reset()
        for k in range(20):
            dq = np.array([0.5, -0.3, 0.05, 0.2, 0.1, -0.1, 0.0]) * (-1) ** (k // 5)
            motors.step(dq)
            np.testing.assert_allclose(sim.dq[:3], dq[:3], atol=2e-3)


def test_effort_motors_apply_the_effort_and_hold_the_wrist():
    sim = tr.Simulator("PSM", friction=False, contacts=False, timestep=5e-3)
    sim.reset(torque_control.START)
    motors = EffortMotors(sim)
    for _ in range(40):
        applied = motors.step(np.array([0.5, -0.5, 0.2]), torque_control.START[3:])
    np.testing.assert_array_equal(applied[:3], [0.5, -0.5, 0.2])
    np.testing.assert_allclose(sim.q[3:], torque_control.START[3:], atol=1e-3)
    assert np.abs(sim.q[:3] - torque_control.START[:3]).min() > 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("circle",), "task 'circle' is unknown"),
        (("line", "position"), "control 'position' is unknown"),
        (("excitation",), "follows a recorded motion"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(tr.TrocarError, match=message):
        run_task(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": 11.0}, "longer than the task 'line', which has 10 s"),
        ({"duration": -1.0}, "duration must be positive"),
        ({"transmission": "belt"}, "transmission 'belt' is unknown"),
        ({"transmission": "mirrored", "counterweight": False}, "needs the counterweight"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(tr.TrocarError, match=message):
        run_task("line", **options)


def test_the_rest_of_the_scene_is_where_the_logs_have_the_tip():
    """Tip at rest by the scene's frame: DH0_ref, the remote centre 0.516 m from it, and the arm's kinematics."""
    mechanism = tr.load_mechanism("PSM")
    base = np.array([-1.04454, -0.31782, 0.82019]) + torque_control.R_WORLD_BASE @ [0.0, 0.516, 0.0]
    T = mechanism.forward_kinematics(torque_control.START)
    tip = base + torque_control.R_WORLD_BASE @ (T[:3, 3] + runs.BEYOND * T[:3, 2])
    np.testing.assert_allclose(tip, tasks.REST, atol=1.5e-3)
