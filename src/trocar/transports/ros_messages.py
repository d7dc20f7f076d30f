"""The table of ROS messages and services, and classes of plain objects with default values made from it.

A new message is one line of the table: its fields as in the .msg file (ROS 1 names). `field=attribute` names the
attribute of the bus message that the field carries, where the two differ; `ros_conversion` converts it by its type.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from trocar.errors import check_known
from trocar.transports.ros_time import Duration, Time

_MESSAGES = """
std_msgs/Header: uint32 seq, time stamp, string frame_id
std_msgs/Bool: bool data=value
std_msgs/Int8: int8 data
std_msgs/UInt8: uint8 data
std_msgs/Int16: int16 data
std_msgs/Int32: int32 data
std_msgs/UInt32: uint32 data
std_msgs/Int64: int64 data
std_msgs/UInt64: uint64 data
std_msgs/Float32: float32 data
std_msgs/Float64: float64 data=value
std_msgs/String: string data=value
std_msgs/Empty:
std_msgs/Time: time data
std_msgs/Duration: duration data
std_msgs/ColorRGBA: float32 r, float32 g, float32 b, float32 a
std_msgs/MultiArrayDimension: string label, uint32 size, uint32 stride
std_msgs/MultiArrayLayout: MultiArrayDimension[] dim, uint32 data_offset
std_msgs/Float32MultiArray: MultiArrayLayout layout, float32[] data
std_msgs/Float64MultiArray: MultiArrayLayout layout, float64[] data=values
std_msgs/Int32MultiArray: MultiArrayLayout layout, int32[] data
geometry_msgs/Vector3: float64 x, float64 y, float64 z
geometry_msgs/Point: float64 x, float64 y, float64 z
geometry_msgs/Point32: float32 x, float32 y, float32 z
geometry_msgs/Quaternion: float64 x, float64 y, float64 z, float64 w
geometry_msgs/Pose: Point position, Quaternion orientation
geometry_msgs/Pose2D: float64 x, float64 y, float64 theta
geometry_msgs/PoseArray: std_msgs/Header header, Pose[] poses
geometry_msgs/PoseStamped: std_msgs/Header header, Pose pose=T
geometry_msgs/PointStamped: std_msgs/Header header, Point point
geometry_msgs/Vector3Stamped: std_msgs/Header header, Vector3 vector
geometry_msgs/QuaternionStamped: std_msgs/Header header, Quaternion quaternion=R
geometry_msgs/Transform: Vector3 translation, Quaternion rotation
geometry_msgs/TransformStamped: std_msgs/Header header, string child_frame_id, Transform transform=T
geometry_msgs/Twist: Vector3 linear, Vector3 angular
geometry_msgs/TwistStamped: std_msgs/Header header, Twist twist=vector
geometry_msgs/Wrench: Vector3 force, Vector3 torque
geometry_msgs/WrenchStamped: std_msgs/Header header, Wrench wrench=vector
sensor_msgs/JointState: std_msgs/Header header, string[] name, float64[] position, float64[] velocity, float64[] effort
sensor_msgs/Image: std_msgs/Header header, uint32 height, uint32 width, string encoding, uint8 is_bigendian, \
uint32 step, uint8[] data
sensor_msgs/CompressedImage: std_msgs/Header header, string format, uint8[] data
sensor_msgs/RegionOfInterest: uint32 x_offset, uint32 y_offset, uint32 height, uint32 width, bool do_rectify
sensor_msgs/CameraInfo: std_msgs/Header header, uint32 height, uint32 width, string distortion_model, float64[] D, \
float64[9] K, float64[9] R, float64[12] P, uint32 binning_x, uint32 binning_y, RegionOfInterest roi
sensor_msgs/Joy: std_msgs/Header header, float32[] axes, int32[] buttons
crtk_msgs/OperatingState: std_msgs/Header header, string state, bool is_homed, bool is_busy
crtk_msgs/operating_state: std_msgs/Header header, string state, bool is_homed, bool is_busy
crtk_msgs/StringStamped: std_msgs/Header header, string string=value
crtk_msgs/CartesianState: std_msgs/Header header, geometry_msgs/Pose pose=T, std_msgs/Bool pose_is_valid=T, \
geometry_msgs/Twist twist, std_msgs/Bool twist_is_valid=twist, geometry_msgs/Wrench wrench, \
std_msgs/Bool wrench_is_valid=wrench
crtk_msgs/CartesianImpedanceHalfPlaneGains: geometry_msgs/Vector3 p, geometry_msgs/Vector3 d, \
geometry_msgs/Vector3 bias, geometry_msgs/Vector3 deadband
crtk_msgs/CartesianImpedance: std_msgs/Header header, geometry_msgs/Quaternion force_orientation=force_R, \
geometry_msgs/Vector3 force_position, geometry_msgs/Quaternion torque_orientation=torque_R, \
CartesianImpedanceHalfPlaneGains position_positive, CartesianImpedanceHalfPlaneGains position_negative, \
CartesianImpedanceHalfPlaneGains orientation_positive, CartesianImpedanceHalfPlaneGains orientation_negative
tf2_msgs/TFMessage: geometry_msgs/TransformStamped[] transforms
rosgraph_msgs/Clock: time clock=stamp
cisst_msgs/IntervalStatistics: std_msgs/Header header, float64 period_avg, float64 period_std_dev, \
float64 period_min, float64 period_max, float64 compute_time_avg, float64 compute_time_std_dev, \
float64 compute_time_min, float64 compute_time_max, int64 number_of_samples, int64 number_of_overruns, \
float64 statistics_interval, int64 user_data
"""
# request --- response
_SERVICES = """
std_srvs/Empty: ---
std_srvs/Trigger: --- bool success, string message
std_srvs/SetBool: bool data --- bool success, string message
crtk_msgs/QueryForwardKinematics: float64[] jp, geometry_msgs/Pose cp --- \
geometry_msgs/Pose cp=value, bool result, string message
crtk_msgs/QueryInverseKinematics: geometry_msgs/Pose cp, float64[] jp --- \
float64[] jp=value, bool result, string message
crtk_msgs/TriggerOperatingState: --- OperatingState operating_state
cisst_msgs/ConvertFloat64Array: float64[] input --- float64[] output
"""

_PRIMITIVES = re.compile(r"(bool|string|time|duration|u?int\d+|float\d+)(\[\d*\])?")
_PLAIN: dict[str, Any] = {"bool": False, "string": "", "time": Time, "duration": Duration}


class Field(NamedTuple):
    """A field of a message: its name, its type with package, and the attribute of the bus message that it carries."""

    name: str
    kind: str
    attribute: str


class RosMessage:
    """A message: its fields by position (all of them) or by name."""

    _table: tuple[Field, ...] = ()
    _fields: tuple[tuple[str, str], ...] = ()
    _type = ""
    __slots__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]  # mutable

    if TYPE_CHECKING:  # the fields

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self.__slots__
        if values and (named or len(values) != len(names)):
            raise TypeError(f"{self._type} takes all of its fields {list(names)} by position, or some by name")
        unknown = sorted(set(named) - set(names))
        if unknown:
            raise AttributeError(f"{self._type} has no field {', '.join(unknown)}; it has {', '.join(names)}")
        named = dict(zip(names, values, strict=True)) if values else named
        for name, kind in self._fields:
            setattr(self, name, named[name] if name in named else _default(kind))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            _same(getattr(self, name), getattr(other, name)) for name in self.__slots__
        )

    def __repr__(self) -> str:
        return "\n".join(_lines(self)) or "{}"

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        return dict(cls._fields)


def _same(a: Any, b: Any) -> bool:
    return list(a) == list(b) if hasattr(a, "__len__") and not isinstance(a, str) else bool(a == b)


def _lines(message: RosMessage, indent: str = "") -> list[str]:
    lines: list[str] = []
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, RosMessage):
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        elif isinstance(value, Time | Duration):
            lines += [f"{indent}{name}:", f"{indent}  secs: {value.secs}", f"{indent}  nsecs: {value.nsecs}"]
        else:
            text = f'"{value}"' if isinstance(value, str) else value
            lines.append(f"{indent}{name}: {list(value) if hasattr(value, 'tolist') else text}")
    return lines


def _default(kind: str) -> Any:
    if kind.endswith("]"):
        element, _, length = kind[:-1].partition("[")
        return [_default(element) for _ in range(int(length or 0))]
    if kind in _PLAIN:
        return _PLAIN[kind]() if callable(_PLAIN[kind]) else _PLAIN[kind]
    if "/" in kind:
        return MESSAGES[kind]()
    return 0.0 if kind.startswith("float") else 0


def _message_class(full_name: str, text: str) -> type[RosMessage]:
    package, name = full_name.split("/")
    table = []
    for kind, own in (field.split() for field in text.split(",") if field.strip()):
        full = kind if "/" in kind or _PRIMITIVES.fullmatch(kind) else f"{package}/{kind}"
        field, _, attribute = own.partition("=")
        table.append(Field(field, full, attribute or field))
    members = {
        "_table": tuple(table),
        "_fields": tuple((field.name, field.kind) for field in table),
        "_type": full_name,
        "__slots__": tuple(field.name for field in table),
        "__module__": f"{package}.msg",
        "__doc__": f"{full_name}: {', '.join(f'{field.kind} {field.name}' for field in table) or 'no fields'}.",
    }
    return type(name, (RosMessage,), members)


class _Service:
    """Request and response of a service."""

    Request: type[RosMessage]
    Response: type[RosMessage]


def _service_class(full_name: str, text: str) -> type[_Service]:
    package, name = full_name.split("/")
    request, response = text.split("---")
    parts = {
        "Request": _message_class(f"{package}/{name}Request", request),
        "Response": _message_class(f"{package}/{name}Response", response),
    }
    return type(name, (_Service,), {**parts, "_type": full_name, "__module__": f"{package}.srv"})


def _rows(text: str) -> dict[str, str]:
    return {name: fields for name, _, fields in (line.partition(":") for line in text.strip().splitlines())}


MESSAGES: dict[str, type[RosMessage]] = {name: _message_class(name, row) for name, row in _rows(_MESSAGES).items()}
SERVICES: dict[str, type[_Service]] = {name: _service_class(name, row) for name, row in _rows(_SERVICES).items()}


def message_class(ros_type: str) -> type[RosMessage]:
    """Class of a message, or of a part of a service: crtk_msgs/QueryForwardKinematics_Request, ..._Response."""
    service, _, part = ros_type.rpartition("_")
    if service in SERVICES and part in ("Request", "Response"):
        return SERVICES[service].Request if part == "Request" else SERVICES[service].Response
    check_known("message type", MESSAGES, ros_type)
    return MESSAGES[ros_type]


def definition(message: type[RosMessage]) -> str:
    """Text of the .msg file of a message."""
    return "".join(f"{kind} {name}\n" for name, kind in message._fields)


def _refuse(module: str, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"trocar run does not offer {module}.{name}")


def modules() -> dict[str, ModuleType]:
    """The packages as modules by name: std_msgs, std_msgs.msg, crtk_msgs.srv, ..."""
    by_name: dict[str, ModuleType] = {}

    def module(name: str) -> ModuleType:
        if name not in by_name:
            by_name[name] = new = ModuleType(name, f"Stand-in for {name}.")
            new.__path__ = []  # a package, so that its parts can be imported
            new.__getattr__ = lambda missing: _refuse(name, missing)  # type: ignore[method-assign]
            parent, _, own = name.rpartition(".")
            if parent:
                setattr(module(parent), own, new)
        return by_name[name]

    for full_name, message in MESSAGES.items():
        package, name = full_name.split("/")
        setattr(module(f"{package}.msg"), name, message)
    for full_name, service in SERVICES.items():
        package, name = full_name.split("/")
        part = module(f"{package}.srv")
        for suffix, kind in (("", service), ("Request", service.Request), ("Response", service.Response)):
            setattr(part, f"{name}{suffix}", kind)
    return by_name
