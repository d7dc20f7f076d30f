"""An arm without commands rests: friction holds it, and the bias of its effort measurement moves nothing."""

from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from trocar.arms import ARMS
from trocar.arms.parameters import Dahl, load_parameters
from trocar.control import GravityCompensation
from trocar.errors import TrocarError
from trocar.mechanics import friction_share, presliding

ARM_NAMES = tuple(ARMS)
POSES, SECONDS = 4, 1.0


def poses(arm: tr.Arm, count: int = POSES) -> np.ndarray:
    """States away from the joint limits by a tenth of their range; the jaw, if there is one, is open."""
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


def heavier(mech: tr.Mechanism, factor: float) -> tr.Mechanism:
    """The mechanism with links heavier by a factor."""
    known = mech.parameters
    links = {name: replace(body, mass=factor * body.mass, I=factor * body.I) for name, body in known.inertias.items()}
    return tr.Mechanism(mech.arm, replace(known, inertias=links), gravity=mech.gravity_vector)


@pytest.mark.parametrize("name", ["ECM", "MTMR"])
def test_an_arm_compensated_by_a_wrong_model_moves_where_the_error_exceeds_static_friction(name: str) -> None:
    sim = tr.Simulator(name)
    mech, verdicts = sim.mechanism, []
    for factor in (1.05, 1.10):
        wrong = heavier(mech, factor)
        for q in poses(sim.arm):
            share = friction_share(mech, q, wrong.gravity(q) - mech.gravity(q))
            sim.reset(q)
            tr.simulate(sim, GravityCompensation(wrong), None, SECONDS, every=100)
            if not 0.97 < share < 1.1:  # near 1, a second is too short to decide
                assert (np.abs(sim.q - q) < allowed(sim.arm)).all() == (share < 1.0), share
                verdicts.append(share < 1.0)
    assert True in verdicts
    assert False in verdicts


def test_the_share_of_static_friction_is_that_of_the_only_drive_on_a_joint() -> None:
    mech = tr.load_mechanism("PSM")
    q, drives = np.array(mech.arm.home), mech.drives
    assert drives.drives[0].name == "yaw"
    assert friction_share(mech, q, 0.7 * drives.Fc[0] * drives.A[0]) == pytest.approx(0.7)
    both = 0.7 * drives.Fc[0] * drives.A[0] + 0.2 * drives.Fc[1] * drives.A[1]
    assert friction_share(mech, q, both) == pytest.approx(0.7)
    assert np.isinf(friction_share(frictionless(mech), q, both))
    with pytest.raises(TrocarError, match="one state"):
        friction_share(mech, q[None], both[None])


def frictionless(mech: tr.Mechanism) -> tr.Mechanism:
    drives = tuple(replace(d, Fc=0.0) for d in mech.parameters.drives)
    return tr.Mechanism(mech.arm, replace(mech.parameters, drives=drives))


def test_hysteretic_friction_yields_elastically_before_it_holds() -> None:
    base = load_parameters("PSM")
    damped = {"yaw": 4.0, "pitch": 4.0, "insertion": 6.0}  # its vibration on these springs would decay slowly
    drives = tuple(
        replace(d, Fc=0.0, Fv=damped[d.name], hysteresis=(Dahl(2e-3, 0.05), Dahl(8e-3, 0.1))) if d.name in damped else d
        for d in base.drives
    )
    sim = tr.Simulator("PSM", replace(base, drives=drives))
    q, push = np.array(sim.arm.home), np.array([0.09, 0.05, 0.08, 0, 0, 0, 0])
    sim.reset(q)
    for k in range(4000):
        grown = 0.5 - 0.5 * np.cos(np.pi * min(k / 2500, 1.0))  # a sudden push would overshoot
        sim.step(sim.mechanism.gravity(sim.q) + grown * push)
    expected = presliding(sim.mechanism, q, push)
    assert (expected[:3] > 1e-4).all()
    np.testing.assert_allclose((sim.q - q)[:3], expected[:3], rtol=5e-3)
    with pytest.raises(TrocarError, match="slides"):
        presliding(sim.mechanism, q, 2 * push)
