"""simulate: the pairing of rows, the timing of controllers, and rejected input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.control import (
    ComputedTorque,
    ConstantEffort,
    GravityCompensation,
    JointPID,
    Setpoint,
    State,
    hold,
    quintic,
    sinusoid,
)
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.simulation import Simulator
from trocar.simulation.run import simulate
from trocar.spatial import Array

CENTRE = np.array([0.1, -0.1, 0.12, 0.2, 0.1, -0.1, 0.4])
SWING = np.array([0.2, 0.15, 0.02, 0.3, 0.2, 0.2, 0.2])


@pytest.fixture(scope="module")
def mech() -> tr.Mechanism:
    return tr.load_mechanism("PSM", "wang2019")


@pytest.fixture
def sim() -> Simulator:
    sim = Simulator("PSM", "wang2019")
    sim.reset(CENTRE)
    return sim


class Counting:
    """A controller whose effort counts its calls."""

    def __init__(self, period: float | None) -> None:
        self.period, self.times = period, list[float]()

    def reset(self) -> None:
        self.times.clear()

    def __call__(self, state: State, setpoint: Setpoint) -> Array:
        self.times.append(state.t)
        return np.full(7, 1e-4 * len(self.times))


def test_rows_pair_the_state_with_the_step_that_starts_there(sim: Simulator) -> None:
    recording = simulate(sim, Counting(None), hold(CENTRE), 0.02)
    assert len(recording) == 20
    other = Simulator("PSM", "wang2019")
    other.reset(CENTRE)
    for k in range(20):
        assert recording.t[k] == other.time
        np.testing.assert_array_equal(recording.q[k], other.q)
        np.testing.assert_array_equal(recording.dq[k], other.dq)
        other.step(np.full(7, 1e-4 * (k + 1)))
        np.testing.assert_array_equal(recording.extra["applied_tau"][k], other.tau)
        np.testing.assert_array_equal(recording.tau[k], other.measured_tau)
        np.testing.assert_array_equal(recording.ddq[k], other.ddq)
    np.testing.assert_array_equal(sim.q, other.q)
    np.testing.assert_allclose(recording.commands["tau"][:, 0], 1e-4 * np.arange(1, 21))


def test_rows_obey_the_equations_of_motion(mech: tr.Mechanism) -> None:
    sim = Simulator("PSM", "wang2019", friction=False, accuracy="exact")
    reference = sinusoid(CENTRE, 0.2 * SWING, 3.0)
    start = reference(0.0)
    sim.reset(start.q, start.dq)
    recording = simulate(sim, ComputedTorque(mech, 900.0, 60.0), reference, 0.1)
    applied = recording.extra["applied_tau"]
    scale = np.abs(applied).max(axis=0)
    tau = mech.inverse_dynamics(recording.q, recording.dq, recording.ddq)
    assert (np.abs(tau - applied).max(axis=0) < 1e-3 * scale).all()
    # pairing a state with the step that ends there would be detected
    shifted = mech.inverse_dynamics(recording.q[1:], recording.dq[1:], recording.ddq[:-1])
    assert (np.abs(shifted - applied[1:]).max(axis=0) > 1e-2 * scale).all()


def test_computed_torque_follows_a_motion(mech: tr.Mechanism, sim: Simulator) -> None:
    reference = quintic(CENTRE, CENTRE + SWING, 0.4)
    recording = simulate(sim, ComputedTorque(mech, 900.0, 60.0, friction=True), reference, 0.5)
    error = np.abs(recording.q - recording.commands["q"]).max(axis=0)
    assert (error < 0.02 * SWING).all()
    np.testing.assert_allclose(sim.q, CENTRE + SWING, atol=5e-3)


def test_the_pid_of_the_robot_with_gravity_compensation_holds(mech: tr.Mechanism) -> None:
    sim = Simulator("PSM", "wang2019", timestep=1 / 1500)
    sim.reset(CENTRE)
    recording = simulate(sim, JointPID(sim.arm) + GravityCompensation(mech), hold(CENTRE), 0.3)
    assert np.abs(recording.q - CENTRE).max() < 1e-4
    sim.reset(CENTRE)
    alone = simulate(sim, JointPID(sim.arm), hold(CENTRE), 0.3)
    assert np.abs(alone.q - CENTRE).max() > 3e-4


@pytest.mark.parametrize("substeps", [1, 3])
def test_the_effort_is_held_between_calls(substeps: int) -> None:
    sim = Simulator("PSM", "wang2019", timestep=1 / 1500 / substeps)
    controller = Counting(1 / 1500)
    recording = simulate(sim, controller, None, 5 / 1500)
    assert len(recording) == 5 * substeps
    np.testing.assert_allclose(controller.times, np.arange(5) / 1500, atol=1e-12)
    np.testing.assert_allclose(recording.commands["tau"][:, 0], 1e-4 * np.repeat(np.arange(1, 6), substeps))
    np.testing.assert_allclose(recording.extra["applied_tau"], recording.commands["tau"], atol=1e-15)


@pytest.mark.parametrize("period", [1 / 1500, 0.5e-3, 1.5e-3])
def test_an_unsuitable_period_is_rejected_with_suitable_timesteps(sim: Simulator, period: float) -> None:
    with pytest.raises(TrocarError, match=r"not a whole multiple of the timestep 0\.001 s") as caught:
        simulate(sim, Counting(period), None, 0.01)
    assert f"{period:.9g}, {period / 2:.9g}, {period / 3:.9g}" in str(caught.value)
    assert sim.time == 0.0


def test_measured_applied_and_commanded_efforts_are_recorded() -> None:
    sim = Simulator("PSM", "wang2019", motor_limits=True)
    limit = sim.arm.motors.effort[0]
    recording = simulate(sim, ConstantEffort([100.0, 0, 0, 0, 0, 0, 0]), None, 0.005)
    np.testing.assert_allclose(recording.extra["applied_tau"][:, 0], limit)
    np.testing.assert_allclose(recording.tau[:, 0], limit - 0.3000027)
    np.testing.assert_array_equal(recording.commands["tau"][:, 0], 100.0)


def test_a_plain_function_is_a_controller(sim: Simulator) -> None:
    def push(state: State, setpoint: Setpoint) -> list[float]:
        return [0.5 * (setpoint.q[0] - state.q[0]), 0, 0, 0, 0, 0, 0]

    recording = simulate(sim, push, hold(CENTRE + 0.01 * SWING), 0.003)
    assert recording.extra["applied_tau"][0, 0] == pytest.approx(0.5 * 0.01 * SWING[0])
    assert "push" in recording.provenance["controller"]


def test_every_thins_the_rows_and_not_the_simulation(sim: Simulator) -> None:
    full = simulate(sim, Counting(None), None, 0.01)
    sim.reset(CENTRE)
    thin = simulate(sim, Counting(None), None, 0.01, every=3)
    np.testing.assert_array_equal(thin.t, full.t[::3])
    np.testing.assert_array_equal(thin.ddq, full.ddq[::3])
    np.testing.assert_array_equal(thin.tau, full.tau[::3])


def test_diagnostics_are_those_of_each_row(sim: Simulator, mech: tr.Mechanism) -> None:
    recording = simulate(sim, ConstantEffort(np.full(7, 0.05)), None, 0.05, diagnostics=True)
    tip = mech.forward_kinematics(recording.q)[:, :3, 3]
    np.testing.assert_allclose(recording.extra["tip"], tip, atol=1e-6)
    assert np.abs(tip - tip[0]).max() > 1e-5
    assert recording.extra["rcm_error"].shape == recording.extra["loop_error"].shape == (50,)
    assert recording.extra["rcm_error"].max() < 1e-6
    assert dict(recording.extra_units) == {"tip": "m", "rcm_error": "m", "loop_error": "m", "applied_tau": "N m or N"}
    sim.reset(CENTRE)
    without = simulate(sim, ConstantEffort(np.full(7, 0.05)), None, 0.05)
    assert set(without.extra) == {"applied_tau"}
    np.testing.assert_array_equal(without.q, recording.q)


def test_a_run_continues_where_the_last_one_ended(sim: Simulator) -> None:
    first = simulate(sim, ConstantEffort(np.zeros(7)), None, 0.005)
    second = simulate(sim, ConstantEffort(np.zeros(7)), None, 0.005)
    assert second.t[0] == pytest.approx(first.t[-1] + sim.timestep)
    np.testing.assert_array_equal(second.commands["q"][0], second.q[0])


def test_progress_ends_at_one(sim: Simulator) -> None:
    seen: list[float] = []
    simulate(sim, ConstantEffort(np.zeros(7)), None, 0.25, seen.append)
    assert len(seen) == 100
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_the_provenance_describes_the_simulation(sim: Simulator, tmp_path: Path) -> None:
    recording = simulate(sim, ConstantEffort(np.zeros(7)), None, 0.002)
    about = recording.provenance
    assert (about["source"], about["arm"], about["parameters"]) == ("simulation", "PSM", "wang2019")
    assert about["timestep"] == 1e-3
    assert about["instrument"] == sim.arm.instrument
    assert about["controller"].startswith("ConstantEffort(")
    assert about["trocar"]
    assert recording.joint_units == ("rad", "rad", "m", "rad", "rad", "rad", "rad")
    loaded = Recording.load(recording.save(tmp_path / "run.csv"))
    np.testing.assert_array_equal(loaded.ddq, recording.ddq)
    assert loaded.provenance == about


@pytest.mark.parametrize("duration", [0.0, -1.0, np.nan, np.inf])
def test_bad_durations_are_rejected(sim: Simulator, duration: float) -> None:
    with pytest.raises(TrocarError, match="duration must be positive"):
        simulate(sim, ConstantEffort(np.zeros(7)), None, duration)


@pytest.mark.parametrize("every", [0, -1, 1.5])
def test_bad_thinning_is_rejected(sim: Simulator, every: float) -> None:
    with pytest.raises(TrocarError, match="every must be"):
        simulate(sim, ConstantEffort(np.zeros(7)), None, 0.01, every=every)  # type: ignore[arg-type]


def test_a_reference_outside_the_limits_is_rejected(sim: Simulator) -> None:
    goal = CENTRE.copy()
    goal[2] = 0.3
    with pytest.raises(TrocarError, match=r"at t = .* joint 3 \(insertion\) violates 0 <= 0\.\d+ <= 0\.24"):
        simulate(sim, ConstantEffort(np.zeros(7)), quintic(CENTRE, goal, 0.02), 0.05)
    with pytest.raises(TrocarError, match=r"PSM has 7 joints.*\(6,\)"):
        simulate(sim, ConstantEffort(np.zeros(7)), hold(np.zeros(6)), 0.05)


def test_an_effort_of_another_length_is_rejected(sim: Simulator) -> None:
    with pytest.raises(TrocarError, match="7 values"):
        simulate(sim, ConstantEffort(np.zeros(6)), None, 0.01)


def test_a_reference_that_reuses_its_arrays_is_recorded_and_limited_at_every_step(sim: Simulator) -> None:
    start = np.array(sim.arm.home)
    sim.reset(start)
    q, zero = start.copy(), np.zeros(sim.n)
    setpoint = Setpoint(q, zero, zero)

    def reference(t: float) -> Setpoint:
        q[2] = start[2] + 0.5 * t
        return setpoint

    def rest(state: State, setpoint: Setpoint) -> np.ndarray:
        return sim.mechanism.gravity(state.q)

    recording = simulate(sim, rest, reference, 0.05)
    np.testing.assert_allclose(recording.commands["q"][:, 2], start[2] + 0.5 * recording.t, atol=1e-12)
    with pytest.raises(TrocarError, match=r"joint 3 \(insertion\) violates"):
        simulate(sim, rest, reference, 0.5)


def test_an_arm_of_a_scene_cannot_be_run_alone(sim: Simulator) -> None:
    with pytest.raises(TrocarError, match="a Simulator or a Scene, got SimulatedArm"):
        simulate(sim.scene.arms["PSM"], lambda state, setpoint: np.zeros(7), None, 0.1)  # type: ignore[call-overload]
