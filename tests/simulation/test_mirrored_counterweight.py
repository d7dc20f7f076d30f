"""The counterweight driven as in Ferro et al. 2022: by a motor, whose force reaches the tool a period late."""

import numpy as np
import pytest

import trocar as tr

HOLD = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])
FORCE = np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0])  # on the insertion [N]


def mirrored(timestep=1e-3):
    sim = tr.Simulator("PSM", friction=False, contacts=False, timestep=timestep, transmission="mirrored")
    sim.reset(HOLD)
    return sim


def test_the_counterweight_balances_the_tool_from_the_first_step():
    sim = mirrored()
    for _ in range(100):
        sim.step(sim.mechanism.gravity(sim.q))
    np.testing.assert_allclose(sim.q[:3], HOLD[:3], atol=2e-5)


@pytest.mark.parametrize("timestep", [1e-3, 5e-3])
def test_the_inertia_of_the_counterweight_acts_on_the_tool_one_period_late(timestep):
    sim = mirrored(timestep)
    tool = sim.mechanism.parameters.inertias["insertion"].mass
    rates = []
    for _ in range(round(0.02 / timestep)):
        sim.step(sim.mechanism.gravity(HOLD) + FORCE)
        rates.append(sim.ddq[2])
    half = len(rates) // 2
    np.testing.assert_allclose(rates[:half], FORCE[2] / tool, rtol=0.02)
    assert max(rates[half:]) < 0.97 * FORCE[2] / tool


def test_the_counterweight_follows_at_its_rate():
    """At a constant velocity of the tool it is one over the rate, 50 ms, behind."""
    sim = mirrored()
    speed = 0.05
    for _ in range(500):
        ddq = np.zeros(7)
        ddq[:3] = ([0.0, 0.0, speed] - sim.dq[:3]) / 0.01
        sim.step(sim.mechanism.inverse_dynamics(sim.q, sim.dq, ddq))
    assert sim.dq[2] == pytest.approx(speed, rel=1e-2)
    assert sim.q[2] - sim.tree_positions["counterweight"] == pytest.approx(0.05 * speed, rel=0.02)


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
