"""MoveIt 2: configuration of one arm for motion planning, a launch file, and a relay to the topics of the dVRK.

The URDF and the SRDF of the model folder describe robot, groups and collisions; these files add the rest. Files that
end in .in are templates.
"""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

from trocar.simulation.export.links import ROOT, links
from trocar.simulation.export.yaml import yaml_text
from trocar.simulation.scene import Scene

TEMPLATES = ("moveit.launch.py", "trajectory_relay.py", "moveit.rviz")
SPEED = 0.2  # fraction of the velocity and acceleration limits that MoveIt uses by default: ASSUMED


def moveit_files(scene: Scene, name: str) -> dict[str, str]:
    """Contents of the folder moveit/ of the model of a single arm, by path within the model's folder."""
    ((_, simulated),) = scene.arms.items()
    arm = simulated.arm
    groups = {"arm": list(arm.joint_names[: arm.tip_joints]), "jaw": list(arm.joint_names[arm.tip_joints :])}
    groups = {group: joints for group, joints in groups.items() if joints}
    words = {"arm": arm.dvrk_name or arm.name, "file": name.lower(), "base": ROOT}
    here = Path(__file__).parent
    texts = {file: Template((here / f"{file}.in").read_text("utf-8")).substitute(words) for file in TEMPLATES}
    planners = {
        "planning_plugins": ["ompl_interface/OMPLPlanner"],
        "request_adapters": [f"default_planning_request_adapters/{adapter}" for adapter in REQUEST_ADAPTERS],
        "response_adapters": [f"default_planning_response_adapters/{adapter}" for adapter in RESPONSE_ADAPTERS],
        "planner_configs": {"RRTConnect": {"type": "geometric::RRTConnect", "range": 0.0}},
        **{group: {"planner_configs": ["RRTConnect"]} for group in groups},
    }
    texts |= {
        "kinematics.yaml": yaml_text({"arm": _solver(arm.tip_joints)}, "Inverse kinematics of MoveIt."),
        "joint_limits.yaml": yaml_text(_limits(scene), "Limits of the dVRK [rad, rad/s, rad/s^2; m, m/s, m/s^2]."),
        "ompl_planning.yaml": yaml_text(planners, "Planners, for MoveIt of ROS 2 Jazzy or later."),
        "moveit_controllers.yaml": yaml_text(_controllers(groups), "Actions of trajectory_relay.py."),
    }
    return {f"moveit/{file}": text for file, text in texts.items()}


REQUEST_ADAPTERS = (
    "ResolveConstraintFrames",
    "ValidateWorkspaceBounds",
    "CheckStartStateBounds",
    "CheckStartStateCollision",
)
RESPONSE_ADAPTERS = ("AddTimeOptimalParameterization", "ValidateSolution", "DisplayMotionPath")


def _solver(joints: int) -> dict[str, Any]:
    solver = {"kinematics_solver": "kdl_kinematics_plugin/KDLKinematicsPlugin"}
    # an arm with fewer than six joints cannot reach an arbitrary orientation
    return solver | {"kinematics_solver_timeout": 0.05, "position_only_ik": joints < 6}


def _limits(scene: Scene) -> dict[str, Any]:
    """Limits of the independent joints of the URDF."""
    ((_, simulated),) = scene.arms.items()
    accelerations = {joint.name: joint.acceleration for joint in simulated.arm.joints}
    limits = {}
    for link in links(scene, []):
        if link.follows is None:
            position = {"has_position_limits": True, "min_position": link.lower, "max_position": link.upper}
            velocity = {"has_velocity_limits": True, "max_velocity": link.velocity}
            acceleration = {"has_acceleration_limits": True, "max_acceleration": accelerations[link.joint]}
            limits[link.joint] = position | velocity | acceleration
    scaling = {f"default_{rate}_scaling_factor": SPEED for rate in ("velocity", "acceleration")}
    return scaling | {"joint_limits": limits}


def _controllers(groups: dict[str, list[str]]) -> dict[str, Any]:
    action = {"type": "FollowJointTrajectory", "action_ns": "follow_joint_trajectory", "default": True}
    controllers = {f"{group}_controller": action | {"joints": joints} for group, joints in groups.items()}
    return {
        "moveit_controller_manager": "moveit_simple_controller_manager/MoveItSimpleControllerManager",
        "moveit_simple_controller_manager": {"controller_names": list(controllers), **controllers},
    }
