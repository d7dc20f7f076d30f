"""The dVRK's topics and services in ROS 2, over DDS with cyclonedds; requires no ROS installation.

    with Robot("dvrk", speed="real") as robot, Ros2Bridge(robot) as bridge:
        bridge.wait()

cyclonedds runs in a separate process: otherwise it would share the interpreter lock with the 1500 Hz control loop.

- `bridge` runs with the simulation: it samples and encodes topics that have readers, and executes commands and calls.
  `node` is the cyclonedds process, which announces itself to ROS 2, waits for the pipe and for DDS, and answers calls.
- `participant` and `domain` wrap cyclonedds; its private parts are in `cyclonedds_internals`.
- `client` presents any ROS 2 system with this interface as a bus, for the conformance check.
"""
