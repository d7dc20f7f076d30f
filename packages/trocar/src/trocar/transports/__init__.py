"""Windows on the robot outside its process: ROS 1, ROS 2, bags, and the shadow of an arm in ROS.

- The codec: `ros_messages.toml` is the table of messages, `ros_messages` makes classes of it, `ros_conversion` converts
  between bus and ROS, `codec` encodes and decodes with rosbags. `rosbag` reads bags.
- `ros1` uses Debian's rospy, `ros2` DDS. Each has a bridge (the side of the simulation), a node (a separate process,
  which does not share the interpreter lock with the 1500 Hz control loop) and a client (a robot in ROS as a bus).
- `bags` records a simulated robot to bags, and replays their servo commands. `shadow` lets a twin follow an arm.

ROS 1 and ROS 2 share the rest. `topic_bridge` executes commands and calls, `sampling` takes samples of topics with
readers and stamps them, `priority` asks for real-time priority. `remote_bus` is the common part of clients. `link`
starts processes and connects them by pipes. `scene_topics` has /tf, /joint_states, /clock and the model, `camera`
renders images in a third process.
"""
