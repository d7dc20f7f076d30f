"""Messages in addition to the dVRK's that ROS programs expect: frames, images, camera parameters.

Fields have the names of ROS where they carry the same; see `ros_messages`.
"""

from __future__ import annotations

from trocar.appearance.lens import Lens
from trocar.robot.messages import Message
from trocar.spatial import Array


class Transforms(Message):
    """Frames: (parent, child, pose (4, 4) of the child in the parent)."""

    frames: tuple[tuple[str, str, Array], ...]


class Image(Message):
    """Pixels of an image (height, width, 3), red, green, blue, row by row; step: bytes of a row."""

    height: int
    width: int
    step: int
    data: bytes
    encoding: str = "rgb8"


class CompressedImage(Message):
    """An image as the content of a JPEG file."""

    data: bytes
    format: str = "rgb8; jpeg compressed bgr8"


class CameraInfo(Message):
    """Parameters of one camera of a parallel stereo pair.

    Attributes:
        width, height: [pixels]. D: distortion k1, k2, p1, p2, k3. K: camera matrix (3, 3), row by row [pixels].
        R: rotation to the rectified camera (3, 3). P: projection (3, 4) [pixels, pixels m].
    """

    width: int
    height: int
    D: tuple[float, ...]
    K: tuple[float, ...]
    R: tuple[float, ...]
    P: tuple[float, ...]
    distortion_model: str = "plumb_bob"

    @classmethod
    def of_lens(cls, lens: Lens, baseline: float, stamp: int = 0, frame_id: str = "") -> CameraInfo:
        """Parameters of a camera `baseline` to the right of the left one [m].

        The optical axes are parallel, so the rectified cameras equal the cameras.
        """
        fx, fy, cx, cy = lens.fx, lens.fy, lens.cx, lens.cy
        return cls(
            stamp=stamp,
            frame_id=frame_id,
            width=lens.width,
            height=lens.height,
            D=lens.distortion,
            K=(fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0),
            R=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
            P=(fx, 0.0, cx, -fx * baseline, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0),
        )
