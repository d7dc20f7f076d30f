"""Robots of the runs and messages to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.scripted_runs.recorder import RunRecorder
from trocar import Scene, SceneArm
from trocar.robot import Robot
from trocar.robot.messages import Message
from trocar.spatial import Array

CYCLE = 1.0 / 1500.0  # period of the controllers [s]
SCRIPTS = Path(__file__).parents[2] / "tests" / "support" / "run_scripts"


def scene_path(name: str) -> str:
    """A scene's name, or the path of a scene file of the scripts."""
    return str(SCRIPTS / name) if name.endswith(".toml") else name


def dvrk(rec: RunRecorder, scene: str = "dvrk", **options: Any) -> Robot:
    """A robot in a scene, with options of `Robot`."""
    return rec.watch(Robot(scene_path(scene), **options))


def alone(rec: RunRecorder, arm: str, q: Sequence[float] | None = None, **options: Any) -> Robot:
    """A ready robot of one arm, with options of `Robot`. q: joint positions [rad, m]."""
    placed = SceneArm(arm=arm, base=np.eye(4)) if q is None else SceneArm(arm=arm, base=np.eye(4), q=np.array(q))
    return rec.watch(Robot(Scene({arm: placed}, timestep=CYCLE), **{"start": "ready"} | options))


def message(robot: Robot, topic: str, **fields: Any) -> Message:
    """A message of a topic's type."""
    return robot.bus.topics[topic].message(**fields)


def send(robot: Robot, topic: str, **fields: Any) -> None:
    """Publish a message with these fields."""
    robot.bus.publish(topic, message(robot, topic, **fields))


def read(robot: Robot, topic: str) -> Any:
    """The current message of a topic."""
    return robot.bus.read(topic)


def press(robot: Robot, pedal: str, down: int = 1) -> None:
    """Press (1) or release (0) a pedal of the console."""
    send(robot, f"console/emulate_{pedal}", buttons=(int(down),))


def rotation(axis: str, angle: float) -> Array:
    """Rotation matrix (3, 3) about the x, y or z axis by an angle [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    R = np.eye(3)
    R[i, i] = R[j, j] = c
    R[i, j], R[j, i] = -s, s
    return R
