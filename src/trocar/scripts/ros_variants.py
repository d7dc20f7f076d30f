"""Earlier forms of the robot's topics: names of release 1, and other message types with the same content."""

from __future__ import annotations

from collections.abc import Callable
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


def present_name(name: str) -> str:
    """The current name of a topic: dvrk/PSM1/state_joint_current is PSM1/measured_js."""
    if not name.startswith("dvrk/"):
        return name
    device, _, topic = name.removeprefix("dvrk/").partition("/")
    return f"{device}/{_OLD_NAMES.get(topic, topic)}"


def convertible(given: str, wanted: str) -> bool:
    """True if messages of two types can be converted in either direction."""
    return _form(given) == _form(wanted) or {given, wanted} == {_STATE, _TEXT}


def converted(message: Any, wanted: str) -> Any:
    """A message converted to another type with the same content; a missing stamp is 0."""
    if message._type == wanted:
        return message
    made: Any = MESSAGES[wanted]()
    if (message._type, wanted) == (_STATE, _TEXT):
        made.data = first_state(message.state, message.is_homed)
        return made
    if hasattr(made, "header") and hasattr(message, "header"):
        made.header = message.header
    _FORMS[_form(wanted)](message, made)
    return made


def first_state(state: str, homed: bool) -> str:
    """State of an arm in the words of release 1: READY when enabled and homed, UNINITIALIZED when switched off."""
    if state == "ENABLED" and homed:
        return "READY"
    return "UNINITIALIZED" if state == "DISABLED" else state


def _form(kind: str) -> Any:
    """The content that types share; a type without variants is its own form."""
    return next((form for form, types in _TYPES.items() if kind in types), kind)


def _pose(message: Any, made: Any) -> None:
    place, turn = _pose_parts(message)
    to_place, to_turn = _pose_parts(made)
    _copy(place, to_place, "xyz")
    _copy(turn, to_turn, "xyzw")


def _pose_parts(message: Any) -> tuple[Any, Any]:
    part = getattr(message, "pose", getattr(message, "transform", message))
    if hasattr(part, "translation"):
        return part.translation, part.rotation
    return part.position, part.orientation


def _wrench(message: Any, made: Any) -> None:
    source, target = getattr(message, "wrench", message), getattr(made, "wrench", made)
    _copy(source.force, target.force, "xyz")
    _copy(source.torque, target.torque, "xyz")


def _twist(message: Any, made: Any) -> None:
    source, target = getattr(message, "twist", message), getattr(made, "twist", made)
    _copy(source.linear, target.linear, "xyz")
    _copy(source.angular, target.angular, "xyz")


def _text(message: Any, made: Any) -> None:
    value = message.string if hasattr(message, "string") else message.data
    setattr(made, "string" if hasattr(made, "string") else "data", _OLD_WORDS.get(value, value))


def _number(message: Any, made: Any) -> None:
    made.data = message.data


def _state(message: Any, made: Any) -> None:
    _copy(message, made, ("state", "is_homed", "is_busy"))


def _copy(source: Any, target: Any, names: Any) -> None:
    for name in names:
        setattr(target, name, getattr(source, name))


_TYPES = {
    "pose": ("geometry_msgs/Pose", "geometry_msgs/PoseStamped", "geometry_msgs/Transform",
             "geometry_msgs/TransformStamped"),
    "wrench": ("geometry_msgs/Wrench", "geometry_msgs/WrenchStamped"),
    "twist": ("geometry_msgs/Twist", "geometry_msgs/TwistStamped"),
    "text": ("std_msgs/String", "crtk_msgs/StringStamped"),
    "number": ("std_msgs/Float32", "std_msgs/Float64"),
    "state": ("crtk_msgs/OperatingState", "crtk_msgs/operating_state"),
}  # fmt: skip
_FORMS: dict[str, Callable[[Any, Any], None]] = {
    "pose": _pose,
    "wrench": _wrench,
    "twist": _twist,
    "text": _text,
    "number": _number,
    "state": _state,
}
