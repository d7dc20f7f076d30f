"""A script for release 1: a master under wrenches, with its orientation locked; topics under their old names."""

import dvrk
import numpy as np
import rospy
from sensor_msgs.msg import Joy
from std_msgs.msg import String

mtm = dvrk.mtm("MTMR")
mtm.home()
seen = {"state": None, "clutch": []}
rospy.Subscriber("/dvrk/MTMR/robot_state", String, lambda msg: seen.update(state=msg.data))
rospy.Subscriber("/dvrk/footpedals/clutch", Joy, lambda msg: seen["clutch"].append(msg.buttons[0]))
q = np.copy(mtm.get_current_joint_position())
mtm.move_joint(q + np.array([0.1, 0, 0, 0, 0, 0, 0.2]))
assert abs(mtm.get_current_joint_position()[0] - q[0] - 0.1) < 0.02
mtm.set_wrench_body_orientation_absolute(True)
mtm.set_gravity_compensation(True)
mtm.set_wrench_body_force([0.0, 0.0, 0.0])
rospy.sleep(0.2)
mtm.lock_orientation_as_is()
before = mtm.get_current_position()
for _ in range(20):
    mtm.set_wrench_body_force((0.0, 0.0, 2.0))
    rospy.sleep(0.01)
after = mtm.get_current_position()
assert (after.p - before.p).Norm() > 0.005
assert abs((before.M.Inverse() * after.M).GetRotAngle()[0]) < 0.1
mtm.unlock_orientation()
mtm.set_effort_joint(np.zeros(7))
rospy.sleep(2.0)
assert mtm.get_current_gripper_position() >= 0
assert seen["state"] == "READY"
mtm.move_joint(q)
rospy.Publisher("/dvrk/MTMR/set_robot_state", String, latch=True, queue_size=1).publish(String("Home"))
rospy.sleep(0.1)
mtm.shutdown()
rospy.sleep(0.1)
assert seen["state"] == "UNINITIALIZED"
print("passed: 1", seen["clutch"])
