"""Compare the force that the dVRK estimates from motor currents (`measured_cf`) with the true contact force."""

import numpy as np

import trocar as tr
from trocar.robot import Robot
from trocar.simulation.objects.solid import Box, Solid
from trocar.spatial import pose

np.set_printoptions(precision=2, suppress=True)

# A block 8 mm below the jaws of a PSM that hangs straight down.
tip = tr.load_mechanism("PSM").forward_kinematics(tr.load_arm("PSM").home)[:3, 3]
block = Solid("block", Box(np.zeros(3), np.array([0.04, 0.04, 0.02])), pose(p=tip - [0.0, 0.0, 0.0285]))
scene = tr.Scene({"PSM": tr.SceneArm(arm="PSM", base=np.eye(4))}, objects=[block], timestep=1 / 1500)
robot = Robot(scene, start="ready")
psm = robot.psm("PSM")
psm.jaw.move_jp(0.0).wait()


def forces():
    """Reported and true force of the instrument on the block, in base axes [N]."""
    robot.sleep(0.5)
    R = psm.local.measured_cp()[0][:3, :3]
    return R @ psm.body.measured_cf()[0][:3], -robot.contact_wrench("PSM")[:3]


free = forces()[0]
print(f"free:      reported {free} N, true {forces()[1]} N")
for press in (0.0005, 0.001, 0.0015):
    psm.insert_jp(0.12 + 0.008 + press).wait()
    reported, true = forces()
    print(
        f"{1e3 * press:.1f} mm deep: reported {reported} N, minus that in free space {reported - free} N, true {true} N"
    )
print("\nThe reported force includes weight, friction and the current bias; these depend on the pose.")
