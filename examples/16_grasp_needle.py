"""Pick up a suture needle of 1 mm wire by friction between the jaws, turn it, hold it and drop it."""

import numpy as np

import trocar as tr
from trocar.appearance import render, save_png
from trocar.simulation import Box, Solid, needle
from trocar.simulation.skills import Hands, pick
from trocar.spatial import inverse, pose, rotation

psm = tr.load_mechanism("PSM")
low = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.6])
REACH = 0.0075  # distance of the needle along the jaws, from their axis [m]
T_world_grip = psm.forward_kinematics(low)  # tip pose of the grip
z = T_world_grip[2, 3] - REACH

# The needle lies across two rails.
rails = [Box((0.0, y, z - 0.0045), (0.03, 0.008, 0.008)) for y in (-0.01, 0.01)]
tray = Solid("tray", [*rails, Box((0.0, 0.0, z - 0.0095), (0.03, 0.028, 0.002))])
sim = tr.Simulator("PSM", objects=[tray, needle("needle", pose(p=[-0.0115, 0.0, z]))])
thing = sim.objects["needle"]


def report(what):
    in_jaws = (inverse(sim.tip_pose()) @ thing.pose)[:3, 3]
    pull = sim.contact_wrench(of="needle")[2]
    print(f"{what}: needle at height {1e3 * (thing.pose[2, 3] - z):6.2f} mm, in the jaws at {1e3 * in_jaws} mm, "
          f"pulls with {1e3 * pull:.3f} mN")  # fmt: skip


np.set_printoptions(precision=2, suppress=True)
print(f"needle of {1e6 * thing.thing.mass:.0f} mg, weight {1e3 * 9.81 * thing.thing.mass:.3f} mN")
sim.reset(low - [0, 0, 0.05, 0, 0, 0, 0])
hands = Hands(sim.scene)
picked = pick(hands, "PSM", T_world_grip, 4.0 * REACH, approach=0.03, lift=0.03)  # close with 4 N, lift by 30 mm
print(f"holds the {picked.object}; jaws open by {picked.opening:.3f} rad")
report("lifted")
turned = hands.tip("PSM") @ pose(rotation("z", 0.8))
hands.move("PSM", turned, hands.gentle("PSM", turned))
hands.hold(1.0)
report("turned, held for 1 s")
try:
    print("wrote", save_png("grasp_needle.png", render(sim, "tip")))
except tr.TrocarError as error:  # no OpenGL on this machine
    print("no picture:", error)
hands.open("PSM")
report("jaws opened")
