"""Client of an ECM."""

from __future__ import annotations

from trocar.robot.clients.arm import Arm
from trocar.robot.clients.device import Clock
from trocar.robot.clients.move_handle import MoveHandle


class ECM(Arm):
    """An endoscope camera manipulator."""

    def __init__(self, robot: Clock, name: str = "ECM", connection_timeout: float = 5.0) -> None:
        super().__init__(robot, name, connection_timeout)

    def insert_jp(self, depth: float) -> MoveHandle:
        """Move the insertion joint alone to a depth [m]."""
        q = self.setpoint_jp()[0].copy()
        q[2] = depth
        return self.move_jp(q)
