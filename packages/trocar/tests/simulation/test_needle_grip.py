"""A suture needle held in the jaws by friction alone: creep, slip while moving, and the force that pulls it out."""

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.control import Setpoint, State
from trocar.simulation import Solid, Sphere, needle
from trocar.simulation.manipulation import GripControl
from trocar.spatial import inverse, pose

Q = np.array([0.1, -0.1, 0.15, 0.3, 0.2, -0.1, 0.10])
REACH = 6.5e-3  # distance of the needle along the jaws [m]
GRIPPED = np.pi / 6  # angle of the gripped point from the middle of the needle [rad]
FRICTION = 0.5


def gripped(accuracy="fast"):
    """A PSM whose jaws are about to close on an SH needle, its plane normal to the jaws and its wire along x."""
    c, s = np.cos(GRIPPED), np.sin(GRIPPED)
    thing = needle("needle", np.eye(4), size="SH", friction=FRICTION)
    R = np.diag([1.0, -1.0, -1.0]) @ np.array([[-s, c, 0.0], [c, s, 0.0], [0.0, 0.0, -1.0]])
    T_tip_needle = pose(R, np.array([0, 0, REACH]) - R @ (thing.radius * np.array([c, s, 0.0])))
    T = tr.load_mechanism("PSM").forward_kinematics(Q) @ T_tip_needle
    sim = tr.Simulator("PSM", objects=[needle("needle", T, size="SH", friction=FRICTION)], accuracy=accuracy)
    sim.reset(Q)
    return sim


class Hold:
    """Jaws closed on the needle with an effort [N m], and a pull [N] at the gripped point."""

    def __init__(self, sim, effort):
        self.sim, self.law, self.needle = sim, GripControl(sim.mechanism, effort), sim.objects["needle"]
        self.step(seconds=0.3)
        self.start = self.in_jaws()
        self.gripped_point = inverse(self.start) @ [0, 0, REACH, 1]

    def in_jaws(self):
        return inverse(self.sim.tip_pose()) @ self.needle.pose

    def step(self, pull=(0.0, 0.0, 0.0), reference=lambda t: Setpoint(Q, np.zeros(7), np.zeros(7)), seconds=1e-3):
        """Advance under a pull (3,) [N] in tip axes."""
        sim, data = self.sim, self.sim.data
        for _ in range(round(seconds / sim.timestep)):
            if np.any(pull):
                T = sim.tip_pose()
                force, point = T[:3, :3] @ pull, (T @ [0, 0, REACH, 1])[:3]
                lever = point - data.xipos[self.needle.body]
                data.xfrc_applied[self.needle.body] = [*force, *np.cross(lever, force)]
            sim.step(self.law(State(sim.time, sim.q, sim.dq), reference(sim.time)))

    def slip(self):
        """Distance of the gripped point from where it was gripped [m]."""
        return float(np.linalg.norm((self.in_jaws() @ self.gripped_point)[:3] - [0, 0, REACH]))


@pytest.mark.parametrize(("accuracy", "pull", "bound"), [("fast", 1.0, 5e-5), ("discrete", 0.5, 1e-5)])
def test_a_needle_under_a_pull_stays_in_the_jaws_for_ten_seconds(accuracy, pull, bound):
    hold = Hold(gripped(accuracy), 0.05)
    hold.step(pull=(0.0, 0.0, pull), seconds=10.0)
    assert hold.slip() < bound
    assert hold.sim.scene.unconverged == 0


def test_a_needle_moved_at_50_mm_per_second_under_one_newton_slips_less_than_a_sixth_of_a_millimetre():
    hold, w = Hold(gripped(), 0.05), 2 * np.pi * 0.25
    begin, A = hold.sim.time, np.array([0.1, 0.1, 0.01, 0.8, 0.4, 0.4, 0.0])

    def swing(t):
        t, share = t - begin, min(1.0, 2 * (t - begin))
        return Setpoint(Q + share * A * np.sin(w * t), share * A * w * np.cos(w * t), -share * A * w**2 * np.sin(w * t))

    fastest = 0.0
    for _ in range(1000):
        before = hold.sim.tip_pose()[:3, 3]
        hold.step(pull=(0.0, 0.0, 1.0), reference=swing, seconds=0.01)
        fastest = max(fastest, float(np.linalg.norm(hold.sim.tip_pose()[:3, 3] - before)) / 0.01)
    assert fastest > 0.045
    assert hold.slip() < 1.5e-4


def squeezes(sim):
    """Normal forces of both fingers on the needle [N]."""
    model, data, forces, wrench = sim.model, sim.data, {}, np.zeros(6)
    for i, contact in enumerate(data.contact[: data.ncon]):
        mujoco.mj_contactForce(model, data, i, wrench)
        for geom in contact.geom:
            name = model.body(model.geom_bodyid[geom]).name
            if name.startswith("finger"):
                forces[name] = forces.get(name, 0.0) + wrench[0]
    return list(forces.values())


@pytest.mark.parametrize("effort", [0.01, 0.04, 0.16])
def test_the_force_that_pulls_a_needle_along_its_wire_is_twice_the_friction_of_the_squeeze(effort):
    hold = Hold(gripped(), effort)
    forces = squeezes(hold.sim)
    # jaws that have closed on a hard wire recoil, and the dry friction of their drive then adds to the effort
    slow = np.zeros(7)
    slow[6] = 1e-4
    friction = hold.sim.mechanism.friction(hold.sim.q, slow)[6]
    np.testing.assert_allclose(forces, (effort + friction) / REACH, rtol=0.05)
    expected = FRICTION * sum(forces)
    pull = 0.0
    while hold.slip() < 5e-4 and pull < 2 * expected:
        pull += 0.002 * expected
        hold.step(pull=(pull, 0.0, 0.0))
    assert pull == pytest.approx(expected, rel=0.15)


def test_jaws_close_at_a_limited_speed_and_reach_any_effort():
    sim = tr.Simulator("PSM")
    sim.reset([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.8])
    law, hold = GripControl(sim.mechanism, 0.15), Setpoint(sim.q, np.zeros(7), np.zeros(7))
    speeds = []
    for _ in range(800):
        sim.step(law(State(sim.time, sim.q, sim.dq), hold))
        speeds.append(-sim.dq[6])
    assert 1.0 < max(speeds) < 5.0
    assert sim.tau[6] == pytest.approx(-0.15)


def test_steps_that_do_not_converge_are_counted_since_the_last_reset():
    sim = tr.Simulator("PSM", objects=[Solid("ball", Sphere((0, 0, 0), 0.005), pose(p=[0.1, 0, 0]), mass=0.01)])
    sim.scene.engine._max_iterations = 0  # every step reaches this limit
    with pytest.warns(tr.errors.Unsolved):
        sim.step(np.zeros(7))
    sim.step(np.zeros(7))
    assert sim.scene.unconverged == 2
    sim.reset(np.array(sim.arm.home))
    assert sim.scene.unconverged == 0
