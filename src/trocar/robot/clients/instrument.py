"""Client of a PSM: an arm with an instrument, its jaw and its tool sensor."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.robot.clients.arm import Arm, JointSetpointReader, joints
from trocar.robot.clients.device import Clock
from trocar.robot.clients.move_handle import MoveHandle
from trocar.robot.messages import Bool

CLOSED, OPEN = np.radians(-20.0), np.radians(60.0)


class Jaw(JointSetpointReader):
    """The jaw of an instrument, one joint; its motions share the arm's busy state."""

    def __init__(self, psm: PSM) -> None:
        super().__init__(psm.robot, f"{psm.name()}/jaw", psm.connection_timeout)
        self._psm = psm

    def servo_jp(self, position: ArrayLike, velocity: ArrayLike = ()) -> None:
        self.send("servo_jp", joints(position, velocity))

    def servo_jf(self, effort: ArrayLike) -> None:
        self.send("servo_jf", joints(effort=effort))

    def move_jp(self, position: ArrayLike) -> MoveHandle:
        handle = MoveHandle(self._psm)
        self.send("move_jp", joints(position))
        return handle

    def close(self) -> MoveHandle:
        """Close beyond contact, to -20 deg, so that the jaw grips."""
        return self.move_jp(CLOSED)

    def open(self, angle: float = OPEN) -> MoveHandle:
        return self.move_jp(angle)


class PSM(Arm):
    """A patient side manipulator."""

    def __init__(self, robot: Clock, name: str, connection_timeout: float = 5.0) -> None:
        super().__init__(robot, name, connection_timeout)
        self.jaw = Jaw(self)

    def insert_jp(self, depth: float) -> MoveHandle:
        """Move the insertion joint alone to a depth [m]."""
        q = self.setpoint_jp()[0].copy()
        q[2] = depth
        return self.move_jp(q)

    def set_tool_present(self, present: bool) -> None:
        """Emulate the insertion or removal of an instrument."""
        self.send("emulate_tool_present", Bool(value=present))
