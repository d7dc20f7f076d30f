"""Topics of the whole scene for programs such as RViz: frames, joints of the model, the clock, images.

Fields of their messages have the names of ROS where they carry the same; see `ros_messages`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trocar.appearance.endoscope_camera import BASELINE, R_TIP_OPTICAL
from trocar.appearance.lens import Lens
from trocar.files import user_cache, write_whole
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import Empty, JointState, Message, Pose, String
from trocar.robot.robot import Robot
from trocar.simulation import Scene
from trocar.simulation.export import model_files
from trocar.simulation.export.links import ROOT, flat, independent_values
from trocar.spatial import Array, inverse, pose
from trocar.transports.remote_bus import CLOCK_TOPIC


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
    def of_lens(cls, lens: Lens, baseline: float, **about: Any) -> CameraInfo:
        """Parameters of a camera `baseline` to the right of the left one [m]; about: stamp and frame.

        The optical axes are parallel, so the rectified cameras equal the cameras.
        """
        fx, fy, cx, cy = lens.fx, lens.fy, lens.cx, lens.cy
        K = (fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0)
        R = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
        P = (fx, 0.0, cx, -fx * baseline, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0)
        return cls(width=lens.width, height=lens.height, D=lens.distortion, K=K, R=R, P=P, **about)


TF = Topic("tf", Transforms, Direction.state, "tf2_msgs/TFMessage")
TF_STATIC = Topic("tf_static", Transforms, Direction.event, "tf2_msgs/TFMessage")
JOINT_STATES = Topic("joint_states", JointState, Direction.state, "sensor_msgs/JointState")
DESCRIPTION = Topic("robot_description", String, Direction.event, "std_msgs/String")  # a parameter in ROS 1
# Minimal time between two samples of topics that are slower than the others [ns]; the dVRK sends frames at 50 Hz.
INTERVALS = {TF.name: 15_000_000, JOINT_STATES.name: 15_000_000}
EYES = {"left": BASELINE / 2, "right": -BASELINE / 2}  # of the cameras along x of the endoscope's tip [m]


def optical_frame(arm: str, eye: str) -> str:
    """Name of the frame of one camera of an endoscope."""
    return f"{arm}_{eye}_optical"


class SceneTopics:
    """Content of the topics: sources of those that change, to call with the bus locked, and messages of fixed ones.

    /tf has the frames of the dVRK (the tip of an arm is named as the arm, in the frame of its measured_cp), and
    their parent frames, down to the root link of the exported model. /joint_states has the joints of that model as they
    are simulated, also while an arm is off. /tf_static has the cameras of the endoscopes.

    Args:
        clock: publish the robot's clock. description: URDF to publish; "" for none.
    """

    def __init__(self, robot: Robot, *, clock: bool, description: str = "") -> None:
        self._robot = robot
        self.sources: dict[Topic, Callable[[], Message]] = {TF: self.frames, JOINT_STATES: self.joints}
        if clock:
            self.sources[CLOCK_TOPIC] = lambda: Empty(stamp=robot.now)
        endoscopes = [name for name in robot.arms if robot.readings(name).arm.carries == "endoscope"]
        cameras = tuple(
            (name, optical_frame(name, eye), pose(R_TIP_OPTICAL, [aside, 0.0, 0.0]))
            for name in endoscopes
            for eye, aside in EYES.items()
        )
        self.fixed: dict[Topic, Message] = {TF_STATIC: Transforms(stamp=robot.now, frames=cameras)}
        if description:
            self.fixed[DESCRIPTION] = String(stamp=robot.now, value=description)

    def frames(self) -> Transforms:
        """Frames of all arms with valid poses."""
        robot, parents = self._robot, dict[str, tuple[str, Array]]()
        for name in robot.arms:
            T_root_base = robot.scene.T_world_base(name)
            parents[f"{name}_base"] = ROOT, T_root_base
            T_reference_base, reference = robot.readings(name).base_frame()
            if reference not in robot.arms and reference not in parents:
                parents[reference] = ROOT, T_root_base @ inverse(T_reference_base)
            tip = robot.bus.read(f"{name}/measured_cp")
            assert isinstance(tip, Pose)
            if tip.valid:
                parents[name] = tip.frame_id, tip.T
        frames = tuple((parent, child, T) for child, (parent, T) in parents.items())
        return Transforms(stamp=robot.now, frames=frames)

    def joints(self) -> JointState:
        """Independent joints of the exported model, of all arms of the scene."""
        scene, values = self._robot.scene, dict[str, float]()
        for name, arm in scene.arms.items():
            prefix = scene.stepped[name].prefix
            values |= {flat(prefix + joint): q for joint, q in independent_values(arm.arm, arm.q).items()}
        return JointState(stamp=self._robot.now, name=tuple(values), position=np.array(list(values.values())))


def write_description(scene: Scene, folder: Path | None = None) -> str:
    """URDF of the arms of a scene, with the full paths of its meshes.

    Args:
        folder: folder for the meshes. Default: in the user's cache folder.
    """
    folder = user_cache() / "meshes" if folder is None else folder
    files = model_files(scene, ("urdf",), "dvrk")
    meshes = {path: content for path, content in files.items() if path.startswith("assets/")}
    key = hashlib.sha256(b"".join(path.encode() + meshes[path] for path in sorted(meshes))).hexdigest()[:12]
    folder = (folder / key).resolve()  # scenes may have different meshes with the same name
    for path, content in meshes.items():
        if not (folder / path).is_file():
            write_whole(folder / path, content)
    return files["dvrk.urdf"].decode().replace('filename="assets/', f'filename="{folder.as_uri()}/assets/')
