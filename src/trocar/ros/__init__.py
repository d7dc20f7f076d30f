"""The dVRK's topics and services in ROS 1, by Debian's rospy.

    with Robot("dvrk", speed="real") as robot, Bridge(robot) as bridge:
        bridge.wait()

rospy runs in a process of its own: it would share the interpreter lock with the 1500 Hz control loop otherwise.

- `bridge` is the side of the simulation: it samples topics that somebody reads, and carries out commands and calls.
- `node` is the process of rospy. `packages` makes the classes of crtk_msgs and cisst_msgs for it.

The two talk over a pipe with the small values of `protocol`.
"""

from trocar.ros.bridge import Bridge

__all__ = ["Bridge"]
