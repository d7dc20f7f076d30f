"""Endoscope images for ROS, rendered in a separate process: the control loop never waits for a picture."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Set
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any

import mujoco
import numpy as np
from PIL import Image as PillowImage

from trocar.appearance import Picture
from trocar.appearance.endoscope_camera import BASELINE, VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.errors import TrocarError
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import Message, String
from trocar.robot.robot import Robot
from trocar.simulation import load_scene
from trocar.spatial import Array
from trocar.transports.protocol import Failed, Publish
from trocar.transports.scene_messages import CameraInfo, CompressedImage, Image
from trocar.transports.scene_topics import EYES, optical_frame

RATE = 10.0  # pairs of images [Hz]
SIZE = 640, 480  # [pixels]
QUALITY = 85  # of JPEG
NICE = 10  # lower priority than the control loop
RAW, COMPRESSED, INFO = "image_raw", "image_raw/compressed", "camera_info"


@dataclass(frozen=True)
class CameraSettings:
    """The cameras of an endoscope.

    Attributes:
        scene: name or file of the scene. arm: its ECM. namespace: namespace of the topics left and right.
        rate: largest number of pairs per second. size: (width, height) [pixels].
    """

    scene: str
    arm: str = "ECM"
    namespace: str = "stereo"
    rate: float = RATE
    size: tuple[int, int] = SIZE

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate) and 0.0 < self.rate <= 100.0):
            raise TrocarError(f"the rate of images must be above 0 and at most 100 Hz, got {self.rate}")

    @property
    def lens(self) -> Lens:
        return Lens.of_view(VIEW, *self.size)

    @property
    def topics(self) -> tuple[Topic, ...]:
        return tuple(
            Topic(f"{self.namespace}/{eye}/{name}", kind, Direction.state, ros)
            for eye in EYES
            for name, kind, ros in (
                (RAW, Image, "sensor_msgs/Image"),
                (COMPRESSED, CompressedImage, "sensor_msgs/CompressedImage"),
                (INFO, CameraInfo, "sensor_msgs/CameraInfo"),
            )
        )


@dataclass(frozen=True)
class Moment:
    """State of the scene for pictures: all joint positions, set-up joints by arm, and the topics with readers."""

    stamp: int
    qpos: Array
    set_up: dict[str, Array]
    topics: frozenset[str]


class Camera:
    """The rendering process, controlled by the simulation. It sends its messages directly to `node`."""

    def __init__(self, settings: CameraSettings, node: Connection) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._topics, self._interval = frozenset(topic.name for topic in settings.topics), 1.0 / settings.rate
        self._busy = True  # until the process has made its scene
        self._due = 0.0
        self._reported = False
        self.error = ""
        self._process = context.Process(target=run, args=(other, node, settings), name="trocar-camera", daemon=True)
        self._process.start()
        other.close()
        node.close()

    def look(self, robot: Robot, read: Set[str], stamp: Callable[[], int]) -> None:
        """Ask for pictures of this moment, if some of their topics are read, the last ones are done and it is time.

        Args:
            read: topics that have readers. stamp: of this moment, called with the bus locked [ns].
        """
        topics, now = self._topics & read, time.perf_counter()
        if topics and now >= self._due and self.idle:
            self._due = now + self._interval
            with robot.bus.lock:
                asked = moment(robot, stamp(), topics)
            self.ask(asked)
        if self.error and not self._reported:
            self._reported = True
            robot.bus.publish("system/warning", String(value=f"system: no images of the endoscope: {self.error}"))

    @property
    def idle(self) -> bool:
        """True if the last pictures are finished; always False after an error."""
        with contextlib.suppress(OSError, EOFError):
            while self._busy and not self.error and self._pipe.poll():
                said = self._pipe.recv()
                self._busy, self.error = False, said.reason if isinstance(said, Failed) else ""
            return not self._busy and not self.error
        self.error = "the rendering process ended"
        return False

    def ask(self, moment: Moment) -> None:
        """Request pictures of a state; call it when idle."""
        self._busy = True
        with contextlib.suppress(OSError):
            self._pipe.send(moment)

    def close(self) -> None:
        self._pipe.close()  # ends the process
        self._process.join(timeout=5.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def moment(robot: Robot, stamp: int, topics: frozenset[str]) -> Moment:
    """The current state of a robot; call it with the bus locked."""
    cart, mounts = robot.scene.cart, {name: robot.scene.mount(name) for name in robot.scene.arms}
    set_up = {} if cart is None else {arm: np.array(cart.q_setup[mount]) for arm, mount in mounts.items() if mount}
    return Moment(stamp, np.array(robot.scene.data.qpos), set_up, topics)


def run(pipe: Connection, node: Connection, settings: CameraSettings) -> None:
    """Render requested pictures until the pipe is closed. The simulation handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICE)
    try:
        scene = load_scene(settings.scene)
        endoscope = StereoEndoscope(scene, settings.arm, settings.lens)
        endoscope.pair()
        pipe.send(None)
        while True:
            asked: Moment = pipe.recv()
            for arm, q_setup in asked.set_up.items():
                mount = scene.mount(arm)
                if scene.cart is not None and mount and not np.array_equal(scene.cart.q_setup[mount], q_setup):
                    scene.set_up(arm, q_setup)
            scene.data.qpos[:] = asked.qpos
            mujoco.mj_kinematics(scene.model, scene.data)
            node.send(Publish(messages(settings, asked, endoscope.pair())))
            pipe.send(None)
    except (EOFError, BrokenPipeError):
        return
    except Exception as error:
        pipe.send(Failed(str(error) or type(error).__name__))


def messages(settings: CameraSettings, asked: Moment, pair: tuple[Picture, Picture]) -> tuple[tuple[str, Message], ...]:
    """The messages of a pair of pictures, for topics with readers."""
    found: list[tuple[str, Message]] = []
    for (eye, aside), picture in zip(EYES.items(), pair, strict=True):
        about: dict[str, Any] = {"stamp": asked.stamp, "frame_id": optical_frame(settings.arm, eye)}
        for name in (RAW, COMPRESSED, INFO):
            topic = f"{settings.namespace}/{eye}/{name}"
            if topic not in asked.topics:
                continue
            if name == RAW:
                height, width, _ = picture.shape
                found.append((topic, Image(height=height, width=width, data=picture.tobytes(), **about)))
            elif name == COMPRESSED:
                found.append((topic, CompressedImage(data=jpeg(picture), **about)))
            else:
                from_left = BASELINE / 2 - aside
                found.append((topic, CameraInfo(**asdict(settings.lens), baseline=from_left, **about)))
    return tuple(found)


def jpeg(picture: Picture) -> bytes:
    """Content of a JPEG file of a picture (height, width, 3)."""
    content = io.BytesIO()
    PillowImage.fromarray(picture).save(content, "JPEG", quality=QUALITY)
    return content.getvalue()
