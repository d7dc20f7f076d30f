"""The counterweight driven as in Ferro et al. 2022: by a motor, whose force reaches the tool a period late."""

import numpy as np
import pytest

import trocar as tr
from trocar.simulation import Mirror

HOLD = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])
FORCE = np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0])  # on the insertion [N]


def mirrored(timestep=1e-3, transmission="mirrored"):
    sim = tr.Simulator("PSM", friction=False, contacts=False, timestep=timestep, transmission=transmission)
    sim.reset(HOLD)
    return sim


def test_the_counterweight_balances_the_tool_from_the_first_step():
    sim = mirrored()
    for _ in range(100):
        sim.step(sim.mechanism.gravity(sim.q))
    np.testing.assert_allclose(sim.q[:3], HOLD[:3], atol=2e-5)


@pytest.mark.parametrize("timestep", [1e-3, 5e-3])
@pytest.mark.parametrize("period", [5e-3, 1e-2])
def test_the_inertia_of_the_counterweight_acts_on_the_tool_two_periods_late(timestep, period):
    """In one period the script reads the moved tool, in the next one it passes on the force of the motor."""
    sim = mirrored(timestep, Mirror(period=period))
    tool = sim.mechanism.parameters.inertias["insertion"].mass
    rates = []
    for _ in range(round(3 * period / timestep)):
        sim.step(sim.mechanism.gravity(HOLD) + FORCE)
        rates.append(sim.ddq[2])
    late = 2 * len(rates) // 3
    np.testing.assert_allclose(rates[:late], FORCE[2] / tool, rtol=0.02)
    assert max(rates[late:]) < 0.97 * FORCE[2] / tool


def test_the_counterweight_follows_at_its_rate():
    """At a constant velocity of the tool it is behind by 50 ms, one over the rate, and half a period of the script."""
    sim = mirrored()
    speed = 0.05
    for _ in range(500):
        ddq = np.zeros(7)
        ddq[:3] = ([0.0, 0.0, speed] - sim.dq[:3]) / 0.01
        sim.step(sim.mechanism.inverse_dynamics(sim.q, sim.dq, ddq))
    assert sim.dq[2] == pytest.approx(speed, rel=1e-2)
    behind = 0.01 / (1.0 - (1.0 - 20.0 * 1e-3) ** 10)  # the target is constant for 10 steps
    assert sim.q[2] - sim.tree_positions["counterweight"] == pytest.approx(behind * speed, rel=0.02)


def test_the_motor_of_the_counterweight_has_a_largest_force_and_speed():
    """A motor that is too weak lets it sink; a slow one falls behind a fast tool."""
    weight = 0.35 * 9.81
    for limit, lowest, highest in ((0.5 * weight, -0.1, -0.01), (2.0 * weight, -1e-3, 1e-3)):
        sim = mirrored(transmission=Mirror(force=limit))
        for _ in range(100):
            sim.step(sim.mechanism.inverse_dynamics(sim.q, sim.dq, (0 * HOLD - sim.dq) / 0.01))
        assert lowest < sim.tree_positions["counterweight"] - HOLD[2] < highest
    sim = mirrored(transmission=Mirror(speed=0.01))
    velocities = []
    for _ in range(300):
        ddq = np.zeros(7)
        ddq[:3] = ([0.0, 0.0, 0.05] - sim.dq[:3]) / 0.01
        before = sim.tree_positions["counterweight"]
        sim.step(sim.mechanism.inverse_dynamics(sim.q, sim.dq, ddq))
        velocities.append((sim.tree_positions["counterweight"] - before) / sim.timestep)
    assert np.mean(velocities[100:]) == pytest.approx(0.01, rel=0.02)


def test_the_motor_reaches_its_velocity_whatever_the_arm_does_in_the_same_step():
    """ODE solves for motors and loads together: an effort that jumps does not disturb the counterweight's velocity."""
    sim, rng = mirrored(1e-3, Mirror(period=1e-3)), np.random.default_rng(0)
    errors = []
    for _ in range(50):
        q, at = sim.q[2], sim.tree_positions["counterweight"]
        sim.step(sim.mechanism.gravity(sim.q) + rng.uniform(-20.0, 20.0, 7) * [1, 1, 1, 0, 0, 0, 0])
        errors.append((sim.tree_positions["counterweight"] - at) / 1e-3 - 20.0 * (q - at))
    assert np.abs(errors).max() < 2e-3  # [m/s]; 30 times as much with the load of the step before


def test_without_a_settled_start_the_first_period_passes_no_force_to_the_tool():
    sims = [mirrored(transmission=Mirror(settled=settled)) for settled in (True, False)]
    weight = 0.35 * 9.81
    for k in range(11):
        for sim in sims:
            sim.step(sim.mechanism.gravity(HOLD))
        if k < 10:
            tool = sims[1].mechanism.parameters.inertias["insertion"].mass
            assert sims[1].ddq[2] - sims[0].ddq[2] == pytest.approx(weight / tool, rel=0.05)
    assert sims[1].ddq[2] == pytest.approx(sims[0].ddq[2], abs=1.0)


def test_a_snapshot_includes_the_delayed_force():
    sim = mirrored()
    for _ in range(13):
        sim.step(sim.mechanism.gravity(HOLD) + FORCE)
    snapshot = sim.snapshot()
    ends = []
    for _ in range(2):
        sim.restore(snapshot)
        for _ in range(20):
            sim.step(sim.mechanism.gravity(HOLD) + FORCE)
        ends.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*ends)
