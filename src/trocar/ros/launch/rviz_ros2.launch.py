"""RViz 2 beside "trocar serve --ros2".

trocar export dvrk --format urdf -o models
ros2 launch rviz_ros2.launch.py urdf:=models/dvrk/dvrk.urdf
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

HERE = Path(__file__).resolve().parent


def nodes(context, *args, **kwargs):
    """robot_state_publisher with the model, its meshes named by their full path, and RViz."""
    urdf = Path(LaunchConfiguration("urdf").perform(context)).resolve()
    text = urdf.read_text().replace('filename="assets/', f'filename="{urdf.parent.as_uri()}/assets/')
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[{"robot_description": text}],
        ),
        Node(package="rviz2", executable="rviz2", arguments=["-d", str(HERE / "ros2.rviz")]),
    ]


def generate_launch_description():
    urdf = DeclareLaunchArgument("urdf", description="model that trocar export has written")
    return LaunchDescription([urdf, OpaqueFunction(function=nodes)])
