"""The dVRK's topics and services in ROS 2, over DDS by cyclonedds; no installation of ROS is needed.

    with Robot("dvrk", speed="real") as robot, Bridge(robot) as bridge:
        bridge.wait()

cyclonedds runs in a process of its own: it would share the interpreter lock with the 1500 Hz control loop otherwise.

- `bridge` is the side of the simulation: it samples topics that somebody reads and encodes them, and carries out
  commands and calls. `node` is the process of cyclonedds. The two talk over a pipe with the values of `protocol`.
- `types` has fields, names and hashes of messages, `cdr` their bytes, `template` those of fast topics.
- `participant`, `samples` and `qos` wrap cyclonedds; `graph` announces the node to ROS 2; `services` answers calls.
- `client` sees any ROS 2 system with this interface as a bus: the conformance check runs on it.
"""
