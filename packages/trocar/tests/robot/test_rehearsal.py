"""Motions rehearsed on the simulated robot."""

from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from trocar.control.trajectories import quintic
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.robot.controller.actuators import Sensors
from trocar.robot.rehearsal import CYCLES, rehearse


def plan_of(arm, seconds, change, rate=200.0):
    """A path from home by `change` [rad, m] of every joint."""
    path = quintic(arm.home, np.array(arm.home) + change, seconds)
    t = np.arange(int(seconds * rate) + 1) / rate
    q, dq = (np.array([getattr(path(float(time)), name) for time in t]) for name in ("q", "dq"))
    return Recording(t=t, q=q, dq=dq, joints=arm.joint_names, joint_units=arm.joint_units)


def simulator(name):
    return tr.Simulator(name, timestep=1 / 1500, motor_limits=True)


@pytest.mark.parametrize("name", ["PSM", "PSM_Si", "ECM", "ECM_Si", "MTML", "MTMR"])
def test_a_rehearsal_follows_its_plan_and_reports_bias_as_the_robot_does(name):
    sim = simulator(name)
    plan = plan_of(sim.arm, 0.4, 0.02)
    rehearsal = rehearse(sim, plan, sensors=Sensors(current=0.0))
    recording = rehearsal.recording
    assert rehearsal.switched_off is None
    assert recording.t[-1] == pytest.approx(plan.t[-1], abs=2 * CYCLES / 1500)
    np.testing.assert_allclose(recording.commands["q"][-1], plan.q[-1], atol=1e-3)
    np.testing.assert_allclose(recording.commands["tau"], recording.tau - sim.mechanism.effort_bias, atol=1e-9)
    means = np.abs(recording.commands["tau"] @ sim.arm.motors.coupling).max(0)
    assert (rehearsal.motor_efforts >= means * (1.0 - 1e-12)).all()  # a mean of equal numbers is rounded
    assert (rehearsal.motor_efforts < sim.arm.motors.effort).all()


def test_positions_are_means_of_encoder_counts_unless_encoders_are_exact():
    sim = simulator("MTMR")
    motors, plan = sim.arm.motors, plan_of(sim.arm, 0.4, 0.05)
    counts = np.array(motors.gear) * np.array(motors.encoder_counts) / (2 * np.pi)

    def fractions(sensors):
        q = rehearse(sim, plan, sensors=sensors).recording.q
        whole = CYCLES * counts * np.linalg.solve(motors.coupling, q.T).T
        return np.abs(whole - np.rint(whole)).max()

    assert fractions(Sensors()) < 1e-6
    assert fractions(Sensors(encoders=False)) > 0.4


def test_a_rehearsal_ends_when_the_controller_switches_the_arm_off():
    sim = simulator("PSM")
    still = plan_of(sim.arm, 0.4, 0.0)
    q = still.q.copy()
    q[40:, 0] += 1.0  # at 0.2 s, a jump beyond the tolerance of tracking errors
    rehearsal = rehearse(sim, replace(still, q=q))
    assert 0.2 <= rehearsal.switched_off < 0.3
    assert rehearsal.recording.t[-1] < rehearsal.switched_off
    still = plan_of(sim.arm, 0.4, 0.0, rate=1500.0)
    q = still.q.copy()
    q[1:, 0] += 1.0
    with pytest.raises(TrocarError, match="switched PSM off at the start"):
        rehearse(sim, replace(still, q=q))


def test_a_plan_shorter_than_two_rows_is_rejected():
    sim = simulator("ECM")
    with pytest.raises(TrocarError, match=r"takes 0.005 s, shorter than two rows"):
        rehearse(sim, plan_of(sim.arm, 0.005, 0.0))
