"""A script for release 2.0: rospy and ROS messages, dvrk without a node, answers from input(), pedals."""

import dvrk
import numpy
import rospy
from crtk_msgs.msg import OperatingState
from crtk_msgs.srv import QueryForwardKinematics
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState, Joy
from std_msgs.msg import Bool, String
from tf_conversions import posemath

received = {"states": [], "joints": 0, "pedals": [], "strings": []}


def on_state(message):
    received["states"].append((message.state, message.is_busy))


def on_joints(message, factor):
    received["joints"] += factor
    received["last"] = message


def on_pedal(message):
    received["pedals"].append(message.buttons[0])


if __name__ == "__main__":
    arm = dvrk.psm("PSM1")
    rospy.Subscriber("/PSM1/operating_state", OperatingState, on_state)
    joints = rospy.Subscriber("PSM1/measured_js", JointState, on_joints, callback_args=2)
    rospy.Subscriber("/footpedals/clutch", Joy, on_pedal)
    own = rospy.Publisher("/script/words", String, queue_size=10, latch=True)
    own.publish("first")
    rospy.Subscriber("/script/words", String, lambda message: received["strings"].append(message.data))
    own.publish(String(data="second"))

    assert arm.enable(10)
    assert arm.home(10)
    answer = raw_input("which joint? ")  # noqa: F821  a name of Python 2
    goal = numpy.copy(arm.setpoint_jp())
    goal[int(answer)] += 0.05
    assert arm.wait_while_busy(arm.move_jp(goal))
    assert abs(arm.measured_jp()[int(answer)] - goal[int(answer)]) < 0.01
    assert ("ENABLED", True) in received["states"]
    assert received["states"][-1] == ("ENABLED", False)

    before, start = received["joints"], rospy.get_time()
    rospy.sleep(0.5)
    assert abs(rospy.get_time() - start - 0.5) < 0.1
    count = (received["joints"] - before) / 2
    assert 40 <= count <= 60, count
    assert list(received["last"].name)[:3] == ["yaw", "pitch", "insertion"]
    joints.unregister()
    assert received["strings"] == ["first", "second"], received["strings"]

    pose = rospy.wait_for_message("/PSM1/setpoint_cp", PoseStamped, timeout=1.0)
    frame = posemath.fromMsg(pose.pose)
    assert (frame.p - arm.setpoint_cp().p).Norm() < 1e-9
    frame.p[2] += 0.005
    command = rospy.Publisher("/PSM1/servo_cp", PoseStamped, queue_size=1)
    assert command.get_num_connections() == 1
    stamped = PoseStamped()
    stamped.header.stamp = rospy.Time.now()
    stamped.pose = posemath.toMsg(frame)
    command.publish(stamped)
    rospy.sleep(rospy.Duration(0.2))
    assert (arm.setpoint_cp().p - frame.p).Norm() < 1e-6

    rospy.wait_for_service("/PSM1/local/forward_kinematics", timeout=1.0)
    query = rospy.ServiceProxy("/PSM1/local/forward_kinematics", QueryForwardKinematics)
    answer_of_robot = query(jp=list(arm.measured_jp()))
    assert answer_of_robot.result, answer_of_robot.message
    assert (posemath.fromMsg(answer_of_robot.cp).p - arm.local.measured_cp().p).Norm() < 1e-3

    rospy.Publisher("/PSM1/use_gravity_compensation", Bool, latch=True, queue_size=1).publish(True)
    rate = rospy.Rate(10)
    while not rospy.is_shutdown() and received["pedals"][-2:] != [1, 0]:
        assert rospy.get_time() - start < 20
        rate.sleep()
    rospy.loginfo("pedals: %s", received["pedals"])
    print("passed: 2.0", rospy.get_param("~speed", 3))
