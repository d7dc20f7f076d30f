"""The dVRK's topics and services in ROS 1, with Debian's rospy.

    with Robot("dvrk", speed="real") as robot, Ros1Bridge(robot) as bridge:
        bridge.wait()

    with Ros1Client("http://127.0.0.1:11311") as client:
        print(client.read("PSM1/measured_js"))

`bridge` is the side of the simulation, `node` the rospy process; `client` is the other direction.
`rospy_types` gives rospy classes whose messages are bytes of the codec, and generates crtk_msgs and cisst_msgs for
other programs. `debian` locates rospy and starts a master, `rospy_internals` limits what rospy accepts.
"""
