"""RViz 2 for a running "trocar serve ros2", which publishes robot_description, joint_states and tf.

ros2 launch rviz_ros2.launch.py [rviz:=false] [use_sim_time:=true]

robot_state_publisher takes its model from a parameter: it gets the one that is served. Set use_sim_time if
"trocar serve --speed" has another factor than 1.
"""

import time
from pathlib import Path

import rclpy
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

HERE = Path(__file__).resolve().parent
TIMEOUT = 10.0  # of the served robot [s]


def description():
    """The model of the served robot."""
    context, texts = rclpy.Context(), []
    rclpy.init(context=context)
    node = rclpy.create_node("trocar_description", context=context)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(String, "/robot_description", lambda message: texts.append(message.data), latched)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    deadline = time.monotonic() + TIMEOUT
    while not texts and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    node.destroy_node()
    rclpy.shutdown(context=context)
    if not texts:
        raise RuntimeError(f"no /robot_description within {TIMEOUT:.0f} s: start trocar serve ros2 first")
    return texts[0]


def nodes(context):
    """robot_state_publisher with the model of the served robot, and RViz."""
    simulated = LaunchConfiguration("use_sim_time").perform(context) == "true"
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[{"robot_description": description(), "use_sim_time": simulated}],
            remappings=[("robot_description", "~/robot_description")],  # the topic is that of the served robot
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", str(HERE / "ros2.rviz")],
            parameters=[{"use_sim_time": simulated}],
            condition=IfCondition(LaunchConfiguration("rviz")),
        ),
    ]


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("rviz", default_value="true"),
            DeclareLaunchArgument("use_sim_time", default_value="false"),
            OpaqueFunction(function=nodes),
        ]
    )
