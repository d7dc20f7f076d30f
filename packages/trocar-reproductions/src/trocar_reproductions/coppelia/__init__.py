"""CoppeliaSim's remote APIs, so that its clients control a simulated scene of trocar without a change.

    packets        bytes of the legacy remote API: packets, messages, commands (pure functions)
    remote_scene   the members that a scene must have to be served
    robot_scene    a live robot as such a scene
    pictures       pictures of vision sensors
    commands       the commands of the legacy API on such a scene
    stepping       when the simulation takes its steps
    server         its TCP server: clients, streams, synchronous and free-running simulation
    zmq_server     the ZMQ remote API of newer versions on the same scene

The protocols follow from the public sources of Coppelia Robotics (remoteApi, simExtRemoteApi,
zmqRemoteApi).
"""
