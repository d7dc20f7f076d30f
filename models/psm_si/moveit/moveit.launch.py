"""MoveIt 2 for one arm of a running "trocar serve ros2" or of a dVRK.

ros2 launch moveit.launch.py [arm:=PSM1] [rviz:=false] [use_sim_time:=true]

Needs ROS 2 Jazzy or later with moveit, joint_state_publisher and robot_state_publisher. All nodes use topics below the
name of the arm, because the served robot has its own joint_states and tf, with the frames of the whole scene.
"""

from pathlib import Path

import yaml
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "psm_si"


def loaded(name):
    """Contents of a YAML file in this folder."""
    return yaml.safe_load((HERE / name).read_text())


def nodes(context):
    """Joint states with mimic joints, frames, move_group, the relay of trajectories, and RViz."""
    arm = LaunchConfiguration("arm").perform(context)
    simulated = {"use_sim_time": LaunchConfiguration("use_sim_time").perform(context) == "true"}
    urdf = MODEL.with_suffix(".urdf").read_text().replace('"assets/', f'"file://{HERE.parent}/assets/')
    controllers = loaded("moveit_controllers.yaml")
    sources = [f"/{arm}/measured_js"]
    if "jaw_controller" in controllers["moveit_simple_controller_manager"]["controller_names"]:
        sources.append(f"/{arm}/jaw/measured_js")
    robot = {
        "robot_description": urdf,
        "robot_description_semantic": MODEL.with_suffix(".srdf").read_text(),
        "robot_description_kinematics": loaded("kinematics.yaml"),
        "robot_description_planning": loaded("joint_limits.yaml"),
    }
    pipeline = {"planning_pipelines": ["ompl"], "default_planning_pipeline": "ompl"}
    planning = pipeline | {"ompl": loaded("ompl_planning.yaml")}
    monitored = ("planning_scene", "geometry_updates", "state_updates", "transforms_updates")
    scene = {f"publish_{name}": True for name in monitored}
    topics = ("joint_states", "robot_description", "robot_description_semantic", "/tf", "/tf_static")
    own = [(name, f"/{arm}/{name.lstrip('/')}") for name in topics]
    return [
        Node(
            package="joint_state_publisher",
            executable="joint_state_publisher",
            parameters=[simulated, {"robot_description": urdf, "source_list": sources, "rate": 100}],
            remappings=own,
        ),
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[simulated, {"robot_description": urdf}],
            remappings=own,
        ),
        Node(
            package="moveit_ros_move_group",
            executable="move_group",
            parameters=[simulated, robot, planning, controllers, scene],
            remappings=own,
        ),
        ExecuteProcess(cmd=["python3", str(HERE / "trajectory_relay.py"), arm], output="screen"),
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", str(HERE / "moveit.rviz")],
            parameters=[simulated, robot],
            remappings=own,
            condition=IfCondition(LaunchConfiguration("rviz")),
        ),
    ]


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("arm", default_value="PSM1"),
            DeclareLaunchArgument("rviz", default_value="true"),
            DeclareLaunchArgument("use_sim_time", default_value="false"),
            OpaqueFunction(function=nodes),
        ]
    )
