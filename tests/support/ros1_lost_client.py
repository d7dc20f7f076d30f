"""A client node that sends a joint effort of 0 to PSM1 over and over, until it is killed."""

import time

import rospy
from sensor_msgs.msg import JointState

rospy.init_node("lost", disable_signals=True)
effort = rospy.Publisher("/PSM1/servo_jf", JointState, queue_size=10)
while True:
    effort.publish(JointState(effort=[0.0] * 6))
    time.sleep(0.02)
