"""A node on Debian's rospy that plays the joint states of a bag once every topic has a reader: player.py BAG HZ."""

import sys
import time
from pathlib import Path

import rospy
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import JointState

PATIENCE = 300.0  # [s]

rospy.init_node("player", disable_signals=True)
with AnyReader([Path(sys.argv[1])]) as reader:
    publishers = {c.topic: rospy.Publisher(c.topic, JointState, queue_size=10000) for c in reader.connections}
    deadline = time.monotonic() + PATIENCE
    while not all(publisher.get_num_connections() for publisher in publishers.values()):
        if time.monotonic() > deadline:
            sys.exit("nobody reads")
        time.sleep(0.005)
    for connection, _, raw in reader.messages():
        found = reader.deserialize(raw, connection.msgtype)
        message = JointState(name=found.name, position=found.position, velocity=found.velocity, effort=found.effort)
        message.header.stamp = rospy.Time(found.header.stamp.sec, found.header.stamp.nanosec)
        publishers[connection.topic].publish(message)
        time.sleep(1 / float(sys.argv[2]))
print("played", flush=True)
time.sleep(PATIENCE)  # the connections stay, until the test ends this process
