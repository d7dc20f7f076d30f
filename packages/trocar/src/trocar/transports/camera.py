"""Endoscope images for ROS, rendered in a separate process: the control loop never waits for a picture."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Set
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import mujoco
import numpy as np

from trocar.appearance import Picture
from trocar.appearance.camera_place import CameraPlace
from trocar.appearance.endoscope_camera import BASELINE, VIEW, StereoEndoscope
from trocar.appearance.films import jpeg
from trocar.appearance.lens import Lens
from trocar.appearance.stereo_camera import StereoCamera
from trocar.errors import TrocarError
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import Message, String
from trocar.robot.robot import Robot
from trocar.simulation import Scene, load_scene
from trocar.spatial import Array
from trocar.transports.codec import codec
from trocar.transports.link import ConnectedProcess, NodeFailed, Publish, receive, send
from trocar.transports.scene_topics import EYES, CameraInfo, CompressedImage, Image, optical_frame

RATE = 10.0  # pairs of images [Hz]
SIZE = 640, 480  # [pixels]
QUALITY = 85  # of JPEG
NICE = 10  # lower priority than the control loop
RAW, COMPRESSED, INFO = "image_raw", "image_raw/compressed", "camera_info"
KINDS = {RAW: Image, COMPRESSED: CompressedImage, INFO: CameraInfo}  # with the names of ROS


@dataclass(frozen=True)
class CameraSettings:
    """The cameras of an endoscope, or fixed ones.

    Attributes:
        scene: the scene, its name or its file. arm: its ECM, or the first part of the cameras' frames.
        namespace: namespace of the topics left and right. rate: largest number of pairs per second.
        size: (width, height) [pixels]. fixed: cameras that are not at the tip of an ECM.
        compressed: offer compressed images, too.
    """

    scene: str | Scene
    arm: str = "ECM"
    namespace: str = "stereo"
    rate: float = RATE
    size: tuple[int, int] = SIZE
    fixed: CameraPlace | None = None
    compressed: bool = True

    def __post_init__(self) -> None:
        if not 0.0 < self.rate <= 100.0:
            raise TrocarError(f"the rate of images must be above 0 and at most 100 Hz, got {self.rate}")

    @property
    def lens(self) -> Lens:
        return Lens.of_view(VIEW, *self.size) if self.fixed is None else self.fixed.lens(self.size)

    @property
    def baseline(self) -> float:
        """Distance of the cameras [m]."""
        return BASELINE if self.fixed is None else self.fixed.baseline

    def camera(self, scene: Scene) -> StereoCamera:
        """The cameras in a scene."""
        if self.fixed is None:
            return StereoEndoscope(scene, self.arm, self.lens)
        return self.fixed.camera(scene, self.size)

    @property
    def topics(self) -> tuple[Topic, ...]:
        return tuple(
            Topic(f"{self.namespace}/{eye}/{name}", kind, Direction.state, f"sensor_msgs/{kind.__name__}")
            for eye in EYES
            for name, kind in KINDS.items()
            if self.compressed or name != COMPRESSED
        )


class Moment(NamedTuple):
    """State of the scene for pictures: all joint positions, set-up joints by arm, and the topics with readers."""

    stamp: int
    qpos: Array
    set_up: dict[str, Array]
    topics: frozenset[str]


class Camera:
    """The rendering process, controlled by the simulation. It sends its messages directly to `node`."""

    def __init__(self, settings: CameraSettings, node: Connection, ros_version: int) -> None:
        self._topics, self._interval = frozenset(topic.name for topic in settings.topics), 1.0 / settings.rate
        self._busy = True  # until the process has made its scene
        self._due, self._reported, self.error = 0.0, False, ""
        self._process = ConnectedProcess(run, node, settings, ros_version, name="trocar-camera")
        self._pipe = self._process.pipe
        node.close()

    def request_image(self, robot: Robot, read: Set[str], stamp: Callable[[], int]) -> None:
        """Request a frame if an image topic has subscribers, the previous frame is done and the period has elapsed.

        Args:
            read: topics that have readers. stamp: of this moment, called with the bus locked [ns].
        """
        topics, now = self._topics & read, time.perf_counter()
        if topics and now >= self._due and self.idle:
            self._due = now + self._interval
            with robot.bus.lock:
                cart, mounts = robot.scene.cart, {name: robot.scene.mount(name) for name in robot.scene.arms}
                q_setup = {} if cart is None else {arm: np.array(cart.q_setup[m]) for arm, m in mounts.items() if m}
                moment = Moment(stamp(), np.array(robot.scene.data.qpos), q_setup, topics)
            self._busy = True
            with contextlib.suppress(OSError):
                send(self._pipe, moment)
        if self.error and not self._reported:
            self._reported = True
            robot.bus.publish("system/warning", String(value=f"system: no images of the endoscope: {self.error}"))

    @property
    def idle(self) -> bool:
        """True if the last pictures are finished; always False after an error."""
        with contextlib.suppress(OSError, EOFError):
            while self._busy and not self.error and self._pipe.poll():
                report = receive(self._pipe)
                self._busy, self.error = False, report.reason if isinstance(report, NodeFailed) else ""
            return not self._busy and not self.error
        self.error = "the rendering process ended"
        return False

    def close(self) -> None:
        self._pipe.close()  # ends the process
        self._process.join()


def run(pipe: Connection, node: Connection, settings: CameraSettings, ros_version: int) -> None:
    """Render requested pictures until the pipe is closed. The simulation handles Ctrl-C."""
    os.nice(NICE)
    try:
        scene = settings.scene if isinstance(settings.scene, Scene) else load_scene(settings.scene)
        endoscope = settings.camera(scene)
        endoscope.pair()
        encode, types = codec(ros_version).encode, {topic.name: topic.ros for topic in settings.topics}
        send(pipe, None)
        while True:
            moment: Moment = receive(pipe)
            for arm, q_setup in moment.set_up.items():
                mount = scene.mount(arm)
                if scene.cart is not None and mount and not np.array_equal(scene.cart.q_setup[mount], q_setup):
                    scene.set_up(arm, q_setup)
            scene.data.qpos[:] = moment.qpos
            mujoco.mj_kinematics(scene.model, scene.data)
            images = messages(settings, moment, endoscope.pair())
            send(node, Publish(tuple((name, encode(message, types[name])) for name, message in images)))
            send(pipe, None)
    except (EOFError, ConnectionError):
        return
    except Exception as error:
        send(pipe, NodeFailed(str(error) or type(error).__name__))


def messages(settings: CameraSettings, moment: Moment, pair: tuple[Picture, Picture]) -> list[tuple[str, Message]]:
    """The messages of a pair of pictures, for topics with readers."""
    by_topic: dict[str, Message] = {}
    apart = {"left": 0.0, "right": settings.baseline}
    for eye, picture in zip(EYES, pair, strict=True):
        prefix, frame = f"{settings.namespace}/{eye}", optical_frame(settings.arm, eye)
        about: dict[str, Any] = {"stamp": moment.stamp, "frame_id": frame}
        height, width, _ = picture.shape
        if (raw := f"{prefix}/{RAW}") in moment.topics:
            by_topic[raw] = Image(height=height, width=width, step=3 * width, data=picture.tobytes(), **about)
        if (compressed := f"{prefix}/{COMPRESSED}") in moment.topics:
            by_topic[compressed] = CompressedImage(data=jpeg(picture, QUALITY), **about)
        if (info := f"{prefix}/{INFO}") in moment.topics:
            by_topic[info] = CameraInfo.of_lens(settings.lens, apart[eye], **about)
    return list(by_topic.items())
