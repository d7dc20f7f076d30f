"""The dVRK's topics and services in ROS 1, with Debian's rospy.

    with Robot("dvrk", speed="real") as robot, Bridge(robot) as bridge:
        bridge.wait()

    with Client("http://127.0.0.1:11311") as client:
        print(client.read("PSM1/measured_js"))

`bridge` is the side of the simulation, `node` the rospy process. `packages` makes the classes of crtk_msgs and
cisst_msgs for it; `limits` bounds what it accepts from others. `client` and `client_node` are the other direction.
"""
