"""Messages in addition to the dVRK's that ROS programs expect: frames, clock, images, camera parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trocar.robot.messages import Empty, Message
from trocar.spatial import Array
from trocar.transports.ros_conversion import set_orientation, set_xyz, to_ros
from trocar.transports.ros_messages import MESSAGES


@dataclass(frozen=True, kw_only=True, eq=False)
class Transforms(Message):
    """Frames: (parent, child, pose (4, 4) of the child in the parent)."""

    frames: tuple[tuple[str, str, Array], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Image(Message):
    """Pixels of an image (height, width, 3), red, green, blue, row by row."""

    height: int
    width: int
    data: bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class CompressedImage(Message):
    """An image as the content of a JPEG file."""

    data: bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class CameraInfo(Message):
    """Parameters of one camera of a parallel stereo pair.

    Attributes:
        width, height: [pixels]. fx, fy: focal lengths, cx, cy: principal point [pixels].
        distortion: k1, k2, p1, p2, k3. baseline: position of the camera to the right of the left one [m].
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, ...]
    baseline: float


def message_to_ros(message: Message, ros_type: str, classes: Mapping[str, Any] = MESSAGES) -> Any:
    """One of these messages, or a message of the bus, as a message of ROS; see `to_ros`."""
    if ros_type not in _FILL:
        return to_ros(message, ros_type, classes)
    made = classes[ros_type]()
    if hasattr(made, "header"):
        _set_header(made.header, message)
    _FILL[ros_type](message, made, classes)
    return made


def _set_header(header: Any, message: Message) -> None:
    header.stamp.secs, header.stamp.nsecs = divmod(message.stamp, 10**9)
    header.frame_id = message.frame_id


def _fill_transforms(message: Transforms, made: Any, classes: Mapping[str, Any]) -> None:
    for parent, child, T in message.frames:
        one = classes["geometry_msgs/TransformStamped"]()
        _set_header(one.header, Empty(stamp=message.stamp, frame_id=parent))
        one.child_frame_id = child
        set_xyz(one.transform.translation, T[:3, 3])
        set_orientation(one.transform.rotation, T[:3, :3])
        made.transforms.append(one)


def _fill_clock(message: Message, made: Any, classes: Mapping[str, Any]) -> None:
    made.clock.secs, made.clock.nsecs = divmod(message.stamp, 10**9)


def _fill_image(message: Image, made: Any, classes: Mapping[str, Any]) -> None:
    made.height, made.width, made.data = message.height, message.width, message.data
    made.encoding, made.step = "rgb8", 3 * message.width


def _fill_compressed(message: CompressedImage, made: Any, classes: Mapping[str, Any]) -> None:
    made.format, made.data = "rgb8; jpeg compressed bgr8", message.data


def _fill_camera(message: CameraInfo, made: Any, classes: Mapping[str, Any]) -> None:
    """Camera parameters. The optical axes are parallel, so the rectified cameras equal the cameras."""
    fx, fy, cx, cy = message.fx, message.fy, message.cx, message.cy
    made.height, made.width, made.distortion_model = message.height, message.width, "plumb_bob"
    made.D, made.K = list(message.distortion), [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
    made.R = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    made.P = [fx, 0.0, cx, -fx * message.baseline, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]


_FILL: dict[str, Callable[[Any, Any, Mapping[str, Any]], None]] = {
    "tf2_msgs/TFMessage": _fill_transforms,
    "rosgraph_msgs/Clock": _fill_clock,
    "sensor_msgs/Image": _fill_image,
    "sensor_msgs/CompressedImage": _fill_compressed,
    "sensor_msgs/CameraInfo": _fill_camera,
}
