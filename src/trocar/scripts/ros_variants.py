"""Earlier forms of the robot's topics: names of release 1, and other message types with the same content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trocar.transports.ros_messages import MESSAGES

# Names in /dvrk/<arm>/ of release 1, and the current ones.
_OLD_NAMES = {
    "state_joint_current": "measured_js",
    "state_joint_desired": "setpoint_js",
    "position_cartesian_current": "measured_cp",
    "position_cartesian_desired": "setpoint_cp",
    "position_cartesian_local_current": "local/measured_cp",
    "position_cartesian_local_desired": "local/setpoint_cp",
    "twist_body_current": "measured_cv",
    "wrench_body_current": "body/measured_cf",
    "jacobian_body": "body/jacobian",
    "jacobian_spatial": "spatial/jacobian",
    "state_jaw_current": "jaw/measured_js",
    "state_jaw_desired": "jaw/setpoint_js",
    "state_gripper_current": "gripper/measured_js",
    "set_position_joint": "servo_jp",
    "set_position_goal_joint": "move_jp",
    "set_position_cartesian": "servo_cp",
    "set_position_goal_cartesian": "move_cp",
    "set_position_jaw": "jaw/servo_jp",
    "set_position_goal_jaw": "jaw/move_jp",
    "set_effort_joint": "servo_jf",
    "set_effort_jaw": "jaw/servo_jf",
    "set_wrench_body": "body/servo_cf",
    "set_wrench_spatial": "spatial/servo_cf",
    "set_wrench_body_orientation_absolute": "body/set_cf_orientation_absolute",
    "set_gravity_compensation": "use_gravity_compensation",
    "robot_state": "operating_state",
    "current_state": "operating_state",
    "set_robot_state": "state_command",
    "set_desired_state": "state_command",
}
_OLD_WORDS = {"Home": "home", "READY": "home", "Disable": "disable", "UNINITIALIZED": "disable"}  # of state commands
_STATE, _TEXT = "crtk_msgs/OperatingState", "std_msgs/String"
# Types with the same content, field by field, except for the parts in `_NO_CONTENT`.
_FORMS = (
    {"geometry_msgs/Pose", "geometry_msgs/PoseStamped", "geometry_msgs/Transform", "geometry_msgs/TransformStamped"},
    {"geometry_msgs/Wrench", "geometry_msgs/WrenchStamped"},
    {"geometry_msgs/Twist", "geometry_msgs/TwistStamped"},
    {_TEXT, "crtk_msgs/StringStamped"},
    {"std_msgs/Float32", "std_msgs/Float64"},
    {_STATE, "crtk_msgs/operating_state"},
)
_NO_CONTENT = ("header", "child_frame_id")


def present_name(name: str) -> str:
    """The current name of a topic: dvrk/PSM1/state_joint_current is PSM1/measured_js."""
    if not name.startswith("dvrk/"):
        return name
    device, _, topic = name.removeprefix("dvrk/").partition("/")
    return f"{device}/{_OLD_NAMES.get(topic, topic)}"


def convertible(a: str, b: str) -> bool:
    """True if messages of two types can be converted in either direction."""
    return a == b or {a, b} == {_STATE, _TEXT} or any({a, b} <= form for form in _FORMS)


def converted(message: Any, kind: str) -> Any:
    """A message converted to another type with the same content; a missing stamp is 0."""
    if message._type == kind:
        return message
    target: Any = MESSAGES[kind]()
    if (message._type, kind) == (_STATE, _TEXT):
        target.data = first_state(message.state, message.is_homed)
        return target
    if hasattr(target, "header") and hasattr(message, "header"):
        target.header = message.header
    for (source, name), (part, field) in zip(_fields(message), _fields(target), strict=True):
        value = getattr(source, name)
        setattr(part, field, _OLD_WORDS.get(value, value) if isinstance(value, str) else value)
    return target


def first_state(state: str, homed: bool) -> str:
    """State of an arm in the words of release 1: READY when enabled and homed, UNINITIALIZED when switched off."""
    if state == "ENABLED" and homed:
        return "READY"
    return "UNINITIALIZED" if state == "DISABLED" else state


def _fields(message: Any) -> Iterator[tuple[Any, str]]:
    """Parts of a message and names of their plain fields, in order."""
    for name in message.__slots__:
        if name not in _NO_CONTENT:
            value = getattr(message, name)
            yield from _fields(value) if hasattr(value, "_type") else [(message, name)]
