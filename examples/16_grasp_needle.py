"""Pick up a suture needle, 1 mm thick, by friction between the jaws; hold it, turn it, drop it."""

import numpy as np

import trocar as tr
from trocar.appearance import render, save_png
from trocar.control import ComputedTorque, State
from trocar.control.trajectories import quintic
from trocar.simulation import Box, Solid, needle
from trocar.spatial import inverse, pose

psm = tr.load_mechanism("PSM")
law = ComputedTorque(psm, kp=2500.0, kd=100.0, friction=True)
low = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.6])  # jaws open about the needle
high = low - [0, 0, 0.03, 0, 0, 0, 0]
GRIP = -0.03  # jaw effort [N m]

# The needle lies across two rails, 7.5 mm along the jaws.
z = psm.forward_kinematics(low)[2, 3] - 0.0075
rails = [Box((0.0, y, z - 0.0045), (0.03, 0.008, 0.008)) for y in (-0.01, 0.01)]
tray = Solid("tray", [*rails, Box((0.0, 0.0, z - 0.0095), (0.03, 0.028, 0.002))])
sim = tr.Simulator("PSM", objects=[tray, needle("needle", pose(p=[-0.0115, 0.0, z]))])
thing = sim.objects["needle"]


def go(start, goal, duration, grip=None):
    """Move the joints; with `grip` the jaw is left to that effort [N m]."""
    reference = quintic(start, goal, duration, t0=sim.time)
    for _ in range(round(duration / sim.timestep)):
        tau = law(State(sim.time, sim.q, sim.dq), reference(sim.time))
        if grip is not None:
            tau[6] = grip - 2e-4 * sim.dq[6]
        sim.step(tau)


def report(what):
    in_jaws = (inverse(sim.tip_pose()) @ thing.pose)[:3, 3]
    pull = sim.contact_wrench(of="needle")[2]
    print(f"{what}: needle at height {1e3 * (thing.pose[2, 3] - z):6.2f} mm, in the jaws at {1e3 * in_jaws} mm, "
          f"pulls with {1e3 * pull:.3f} mN")  # fmt: skip


np.set_printoptions(precision=2, suppress=True)
print(f"needle of {1e6 * thing.thing.mass:.0f} mg, weight {1e3 * 9.81 * thing.thing.mass:.3f} mN")
sim.reset(high)
go(high, low, 0.6)
go(low, low, 0.4, GRIP)
report("closed")
go(low, high, 0.6, GRIP)
report("lifted")
turned = high + [0.1, 0.1, 0, 0.8, 0, 0, 0]
go(high, turned, 0.8, GRIP)
go(turned, turned, 1.0, GRIP)
report("turned, held for 1 s")
try:
    print("wrote", save_png("grasp_needle.png", render(sim, "tip")))
except tr.TrocarError as error:  # no OpenGL on this machine
    print("no picture:", error)
go(turned, turned, 0.4)
report("jaws opened")
