"""A script for release 2.0: a master under wrenches, a custom class for the PSM, and raw topics."""

import crtk
import dvrk
import numpy as np
import rospy
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState


class mover:
    def __init__(self, namespace):
        self.utils = crtk.utils(self, namespace)
        for feature in ("operating_state", "setpoint_js", "measured_js", "servo_jp", "move_jp"):
            getattr(self.utils, "add_" + feature)()


mtm = dvrk.mtm("MTMR")
assert mtm.enable(10)
assert mtm.home(20)
mtm.use_gravity_compensation(True)
mtm.body.servo_cf(np.zeros(6))
rospy.sleep(0.2)
mtm.lock_orientation_as_is()
start = mtm.measured_cp()
for _ in range(20):
    mtm.body.servo_cf(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
    rospy.sleep(0.01)
assert (mtm.measured_cp().p - start.p).Norm() > 0.002
mtm.unlock_orientation()
mtm.hold()

psm = mover("/PSM1")
assert psm.enable(10)
assert psm.home(10)
initial = np.copy(psm.setpoint_jp())
joints = []
rospy.Subscriber("/PSM1/measured_js", JointState, joints.append)
publisher = rospy.Publisher("/PSM1/servo_jp", JointState, queue_size=1)
rate, message = rospy.Rate(100), JointState()
begin = rospy.Time.now()
while not rospy.is_shutdown() and (rospy.Time.now() - begin).to_sec() < 2.0:
    phase = (rospy.Time.now() - begin).to_sec() * np.pi
    message.position = [*(initial[:5]), initial[5] + 0.1 * (1 - np.cos(phase))]
    publisher.publish(message)
    rate.sleep()
swing = [msg.position[5] for msg in joints]
assert abs(max(swing) - min(swing) - 0.2) < 0.02
psm.move_jp(initial).wait()
pose = rospy.wait_for_message("/PSM1/measured_cp", PoseStamped, timeout=1.0)
print("passed: 2.0", pose.header.frame_id)
