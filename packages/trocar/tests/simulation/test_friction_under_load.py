"""Friction that grows with the load a transmission carries: weight, applied wrenches and contact, in every engine."""

import itertools

import numpy as np
import pytest

import trocar as tr
from trocar import batch
from trocar.control import ComputedTorque, sinusoid
from trocar.control.observers import MomentumObserver
from trocar.mechanics import friction_share
from trocar.simulation import Box, Solid
from trocar.spatial import pose

Q = np.array([0.3, 0.2, 0.15, 0, 0, 0, 0.3])


@pytest.fixture(scope="module")
def si():
    return tr.load_mechanism("PSM_Si")


def tip_effort(mech, force):
    return np.append(mech.jacobian(Q)[:3].T @ force, 0.0)


@pytest.mark.parametrize("simulator", [tr.Simulator, tr.ReducedSimulator])
@pytest.mark.parametrize(("joint", "axis"), [(0, 0), (1, 1)], ids=["yaw", "pitch"])
def test_breakaway_grows_with_a_force_at_the_tip(si, simulator, joint, axis):
    """Coulomb friction is Fc + mu |gravity - J' F|: in zhou2025 0.633 N m and 0.153 at yaw."""
    sim = simulator("PSM_Si")
    Fc, mu = ((0.633, 0.153), (0.908, 0.136))[joint]
    breakaways = []
    for size in (0.0, 10.0, 30.0):
        force = size * np.eye(3)[axis]
        load = si.gravity(Q) - tip_effort(si, force)
        breakaways.append(Fc + mu * abs(load[joint]))
        for share in (-0.98, 0.98, 1.02):
            extra = share * breakaways[-1] * np.eye(7)[joint]
            assert friction_share(si, Q, extra, tip_effort(si, force)) == pytest.approx(abs(share))
            sim.reset(Q)
            sim.apply_wrench([*force, 0, 0, 0])
            for _ in range(100):
                sim.step(load + extra)
            moved = abs(sim.q - Q)[joint]
            assert moved < 1e-6 if abs(share) < 1 else moved > 1e-5
    assert min(abs(a - b) for a, b in itertools.combinations(breakaways, 2)) > 0.1


def test_contact_loads_the_drives_in_the_closed_chain(si):
    """The friction in the model follows the contact, one step later; a snapshot remembers that step."""
    tip = si.forward_kinematics(Q)[:3, 3]
    plate = Solid("plate", Box(np.zeros(3), (0.1, 0.1, 0.02)), pose(p=tip - [0, 0, si.arm.jaw_length + 0.0101]))
    sim = tr.Simulator("PSM_Si", objects=[plate])
    sim.reset(Q)
    press = si.gravity(Q) + [0, 4.0, 20.0, 0, 0, 0, 0]
    for _ in range(300):
        sim.step(press)
    load = si.gravity(sim.q) - sim.contact_effort()
    assert np.abs(load - si.gravity(sim.q))[:2].max() > 0.3
    sim.step(press)
    expected = [0.633 + 0.153 * abs(load[0]), 0.908 + 0.136 * abs(load[1])]
    dofs = [sim.model.joint(si.arm.driven[name]).dofadr[0] for name in ("yaw", "pitch")]
    np.testing.assert_allclose(sim.model.dof_frictionloss[dofs], expected, rtol=1e-6)
    kept, ends = sim.snapshot(), []
    for _ in range(2):
        sim.restore(kept)
        for _ in range(20):
            sim.step(press + [3.0, 0, 0, 0, 0, 0, 0])
        ends.append(sim.q)
    np.testing.assert_array_equal(*ends)


def test_contact_loads_the_drives_of_a_batch(si):
    """Pressed against a wall ever harder, the yaw motor overcomes the wall, Fc and mu times its load."""
    T = si.forward_kinematics(Q)
    J = si.jacobian(Q)[:3]
    side = J[:, 0] / np.linalg.norm(J[:, 0])  # yaw moves the tip this way, and presses it on the wall
    wall = batch.Plane(normal=-side, offset=float(-side @ T[:3, 3]), stiffness=2e4, damping=200.0)
    arms = batch.load("PSM_Si", surfaces=[wall])
    hold = si.gravity(Q)
    ramp = np.linspace(0.0, 8.0, 4001)
    tau = hold + np.outer(ramp, np.eye(7)[0])
    state, _ = arms.rollout(arms.state(Q), tau, 1e-3)
    normal = float(state.contact[0])
    touched = si.jacobian(state.q)[:3].T @ (-normal * side)
    load = si.gravity(state.q)[0] - touched[0]
    assert normal > 10.0
    assert load + 0.633 + 0.153 * abs(load) == pytest.approx(tau[-1, 0], rel=2e-3)


def test_the_observer_sees_a_tip_force_through_friction_that_grows_with_it(si):
    force, motion = np.array([20.0, -10.0, 5.0]), sinusoid(Q, [0.3, 0.2, 0.02, 0, 0, 0, 0], 0.25)
    sim = tr.Simulator("PSM_Si")
    sim.reset(Q, motion(0.0).dq)
    sim.apply_wrench([*force, 0, 0, 0])
    recording = tr.simulate(sim, ComputedTorque(si, 900.0, 60.0), motion, 0.9)
    observer = MomentumObserver(si, 40.0)
    residual = observer.along(recording)
    late = recording.t > 0.6
    effort = np.swapaxes(si.jacobian(recording.q)[:, :3], 1, 2) @ force
    np.testing.assert_allclose(residual[late, :2], effort[late, :2], atol=0.12)
    observer.reset(recording.q[0], recording.dq[0])
    rows = zip(recording.q[1:], recording.dq[1:], recording.tau, np.diff(recording.t), strict=False)
    np.testing.assert_allclose([observer.update(*row) for row in rows], residual[1:], atol=1e-12)
