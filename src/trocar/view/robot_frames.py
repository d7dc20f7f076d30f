"""Frames of a robot for a page."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from trocar.robot import Robot
from trocar.runtime.description import SceneDescription
from trocar.runtime.frame import ArmFrame, Frame, contact_forces
from trocar.runtime.settings import Settings
from trocar.teleoperation.channel import Channel


class RobotFrames:
    """Frames of a robot, as they are seen after a network delay [s]."""

    def __init__(self, robot: Robot, delay: float = 0.0) -> None:
        self._robot, self._line, self._number = robot, Channel(delay), 0
        self._described: tuple[Any, Any, SceneDescription] | None = None
        self._last: Frame | None = None

    def __call__(self) -> Frame:
        """The latest frame that has arrived; before the first one, the current frame."""
        with self._robot.bus.lock:
            frame, t = self._frame(), self._robot.time
        self._line.send(t, frame)
        arrived: Frame | None = self._line.receive(t)
        self._last = arrived or self._last or frame
        return self._last

    def _frame(self) -> Frame:
        scene = self._robot.scene
        if self._described is None or self._described[:2] != (
            scene,
            scene.cart,
        ):  # a new cart after set-up joints moved
            self._described = scene, scene.cart, SceneDescription.of(scene, Settings())
        self._number += 1
        return Frame(
            number=self._number,
            time=self._robot.time,
            arms=MappingProxyType(
                {name: ArmFrame(q=arm.q, dq=arm.dq, T_tip=arm.tip_pose()) for name, arm in scene.arms.items()}
            ),
            qpos=np.array(scene.data.qpos),
            scene=self._described[2],
            contacts=contact_forces(scene.model, scene.data),
            playing=True,
        )
