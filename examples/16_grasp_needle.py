"""Pick up a suture needle of 1 mm wire by friction between the jaws, turn it, hold it and drop it."""

import numpy as np

import trocar as tr
from trocar.appearance import render, save_png
from trocar.simulation import Box, Solid, needle, pick_up
from trocar.simulation.manipulation import move_tip
from trocar.spatial import inverse, pose, rotation

psm = tr.load_mechanism("PSM")
low = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.6])
T_world_needle = psm.forward_kinematics(low) @ pose(p=[0.0, 0.0, 0.0075])  # 7.5 mm along the jaws
z = T_world_needle[2, 3]

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
grasp = pick_up(sim.scene, "PSM", T_world_needle, force=4.0)  # approach, close with 4 N, lift by 30 mm
print(f"holds the {grasp.object}; jaw effort {grasp.effort:.3f} N m")
report("lifted")
turned = sim.scene.T_world_tip("PSM") @ pose(rotation("z", 0.8))
move_tip(sim.scene, "PSM", turned, 0.8, grip=grasp.effort)
move_tip(sim.scene, "PSM", turned, 1.0, grip=grasp.effort)
report("turned, held for 1 s")
try:
    print("wrote", save_png("grasp_needle.png", render(sim, "tip")))
except tr.TrocarError as error:  # no OpenGL on this machine
    print("no picture:", error)
sim.scene.move_tip("PSM", turned, 0.4, jaw=0.6)
report("jaws opened")
