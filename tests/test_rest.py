"""An arm left alone rests: what holds it is friction, and the bias of its effort measurement moves nothing."""

import numpy as np
import pytest

import trocar as tr
from trocar.arms import ARMS
from trocar.control import GravityCompensation

ARM_NAMES = tuple(ARMS)
POSES, SECONDS = 4, 1.0


def poses(arm: tr.Arm, count: int = POSES) -> np.ndarray:
    """States away from the joint limits by a tenth of their range; the jaw, where there is one, is open."""
    rng = np.random.default_rng(7)
    return rng.uniform(0.9 * arm.lower + 0.1 * arm.upper, 0.1 * arm.lower + 0.9 * arm.upper, (count, arm.n))


def allowed(arm: tr.Arm) -> np.ndarray:
    """Drift that counts as rest: 1e-3 rad, 1e-4 m."""
    return np.where([unit == "rad" for unit in arm.joint_units], 1e-3, 1e-4)


def least_friction(mech: tr.Mechanism, q: np.ndarray) -> np.ndarray:
    """Static friction (n,) of each joint by the drives that act on it alone [N m, N]."""
    drives = mech.drives
    single = (drives.A != 0).sum(1) == 1
    breakaway = drives.coulomb(q, mech.gravity(q)) + drives.S @ drives.F
    return (breakaway[:, None] * np.abs(drives.A))[single].sum(0)


@pytest.mark.parametrize("name", ARM_NAMES)
def test_without_gravity_and_effort_a_joint_below_static_friction_stays(name: str) -> None:
    """Joints whose springs are stronger than friction are held by their motors: they would drag the others."""
    sim = tr.Simulator(name, gravity=(0.0, 0.0, 0.0))
    judged = 0
    for q in poses(sim.arm):
        resting = np.abs(sim.mechanism.gravity(q)) < least_friction(sim.mechanism, q)
        sim.reset(q)
        for _ in range(round(SECONDS / sim.timestep)):
            sim.step(np.where(resting, 0.0, sim.mechanism.gravity(sim.q)))
        assert (np.abs(sim.q - q) < allowed(sim.arm))[resting].all(), (q, sim.q - q)
        judged += resting.sum()
    assert judged > POSES  # more than one joint of every pose, on average


@pytest.mark.parametrize("name", ARM_NAMES)
def test_gravity_compensation_with_its_defaults_holds_the_arm(name: str) -> None:
    sim = tr.Simulator(name)
    controller = GravityCompensation(sim.mechanism)
    for q in poses(sim.arm):
        sim.reset(q)
        recording = tr.simulate(sim, controller, None, SECONDS, every=100)
        assert (np.abs(sim.q - q) < allowed(sim.arm)).all(), sim.q - q
        np.testing.assert_allclose(recording.tau, recording.extra["applied_tau"] + sim.mechanism.effort_bias)
