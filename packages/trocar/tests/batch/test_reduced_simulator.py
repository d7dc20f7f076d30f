"""`ReducedSimulator`: the interface of the simulator on the compiled step."""

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar import batch
from trocar.cli import app
from trocar.control import sinusoid


def pushed(sim, seconds=0.1):
    """A recording of the arm under computed torque, along sines about home."""
    home = np.array(sim.arm.home)
    sim.reset(home)
    way = 0.05 * np.minimum(home - sim.arm.lower, sim.arm.upper - home)
    controller = tr.ComputedTorque(sim.mechanism, 400.0, 40.0)
    return tr.simulate(sim, controller, sinusoid(home, way, 1.0), seconds, diagnostics=True)


@pytest.mark.parametrize(("arm", "tolerance"), [("PSM", 1e-5), ("ECM", 1e-6), ("MTML", 2e-5)])
def test_a_recording_is_that_of_the_closed_chain(arm, tolerance):
    ours, theirs = (pushed(simulator(arm)) for simulator in (tr.ReducedSimulator, tr.Simulator))
    np.testing.assert_allclose(ours.q, theirs.q, rtol=0, atol=tolerance)
    assert np.ptp(ours.q, axis=0).max() > 100 * tolerance
    np.testing.assert_allclose(ours.extra["tip"], theirs.extra["tip"], rtol=0, atol=tolerance)
    np.testing.assert_array_equal(ours.tau.shape, theirs.tau.shape)
    assert set(ours.extra) == set(theirs.extra)


def test_step_reports_efforts_accelerations_and_time():
    sim = tr.ReducedSimulator("PSM", timestep=2e-3)
    assert isinstance(sim, batch.ReducedSimulator)
    q, tau = np.array(sim.arm.home), sim.mechanism.gravity(sim.arm.home) + 0.5
    sim.reset(q)
    sim.step(tau)
    assert sim.time == 2e-3
    np.testing.assert_allclose(sim.tau, tau, rtol=1e-12)
    np.testing.assert_allclose(sim.ddq, sim.dq / 2e-3, rtol=1e-12)
    np.testing.assert_allclose(sim.measured_tau, tau + sim.mechanism.effort_bias, rtol=1e-12)
    np.testing.assert_allclose(sim.tip_pose(), sim.mechanism.forward_kinematics(sim.q), atol=1e-12)
    with pytest.raises(tr.TrocarError, match="7 values"):
        sim.step(np.zeros(5))
    with pytest.raises(tr.TrocarError, match="tau must be finite"):
        sim.step(np.full(7, np.nan))


def test_restoring_a_snapshot_is_bit_exact():
    sim = tr.ReducedSimulator("PSM")
    sim.reset(sim.arm.home)
    sim.apply_wrench([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    sim.step(np.full(7, 0.1))
    kept = sim.snapshot()
    ends = []
    for _ in range(2):
        for _ in range(20):
            sim.step(np.full(7, 0.1))
        ends.append((sim.q, sim.dq, sim.ddq, sim.tau, sim.time))
        sim.restore(kept)
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)


def test_wrenches_and_motor_limits_act_as_in_the_closed_chain():
    ends = []
    for simulator in (tr.ReducedSimulator, tr.Simulator):
        sim = simulator("PSM", motor_limits=True)
        sim.reset(sim.arm.home)
        sim.apply_wrench([0.0, 3.0, 0.0, 0.0, 0.0, 0.0])
        tau = sim.mechanism.gravity(sim.arm.home)
        tau[2] += 1000.0
        for _ in range(30):
            sim.step(tau)
        ends.append((sim.q, sim.tau))
    assert ends[0][1][2] < 1000.0
    assert np.abs(ends[0][0][4:6] - sim.arm.home[4:6]).min() > 0.02  # the light wrist yields
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=5e-5)
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=1e-9)


def test_efforts_of_a_batch_are_clipped_in_the_motors():
    arms = batch.load("PSM", motor_limits=True)
    tree, home = arms.mechanism.tree, np.array(arms.mechanism.arm.home)
    asked = np.random.default_rng(0).normal(size=(7, 5)) * 100.0
    _, log = arms.rollout(arms.state(np.repeat(home[:, None], 5, axis=1)), asked, 1e-3, 1)
    motor = tree.joint_from_motor.T @ asked
    most = tree.motor_effort[:, None]
    assert (np.abs(motor) > most).any()
    expected = np.linalg.solve(tree.joint_from_motor.T, np.clip(motor, -most, most))
    np.testing.assert_allclose(log.tau[0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "use",
    [
        lambda sim: sim.apply_wrench(np.zeros(6), "yaw"),
        lambda sim: tr.ReducedSimulator("PSM", accuracy="exact"),
        lambda sim: tr.ReducedSimulator("PSM", transmission="mirrored"),
    ],
)
def test_missing_features_of_the_reduced_engine_are_reported_in_one_line(use):
    sim = tr.ReducedSimulator("PSM")
    with pytest.raises(tr.TrocarError, match="ReducedSimulator") as caught:
        use(sim)
    assert "\n" not in str(caught.value)


def test_a_missing_compiler_and_bad_arguments_are_reported_in_one_line(monkeypatch):
    for timestep in (0.0, -1e-3, np.nan):
        with pytest.raises(tr.TrocarError, match="timestep"):
            tr.ReducedSimulator("PSM", timestep=timestep)
    with pytest.raises(tr.TrocarError, match="reset: joint 1"):
        tr.ReducedSimulator("PSM").reset(np.full(7, 9.0))
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(tr.TrocarError, match=r"ReducedSimulator compiles its equations: CC names") as caught:
        tr.ReducedSimulator("ECM")
    assert "\n" not in str(caught.value)


def test_an_engine_is_a_class_not_an_option():
    with pytest.raises(tr.TrocarError, match="option of a simulated arm 'engine' is unknown"):
        tr.Simulator("PSM", engine="reduced")


def test_the_command_sim_runs_the_reduced_engine(tmp_path):
    result = CliRunner().invoke(app, ["sim", "PSM", "--set", "engine=reduced", "-d", "0.05", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert tr.load_recording(tmp_path / "recording.npz", arm="PSM").q.shape[1] == 7
    assert not (tmp_path / "picture.png").exists()
