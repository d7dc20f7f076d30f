"""Client of an MTM: an arm with a gripper and a lockable orientation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.robot.clients.arm import Arm, JointReader
from trocar.robot.clients.device import Clock
from trocar.robot.messages import CartesianImpedance, Empty, Rotation


class MTM(Arm):
    """A master tool manipulator."""

    def __init__(self, robot: Clock, name: str, connection_timeout: float = 5.0) -> None:
        super().__init__(robot, name, connection_timeout)
        self.gripper = JointReader(robot, f"{name}/gripper", connection_timeout)

    def lock_orientation_as_is(self) -> None:
        """Lock the current orientation while a wrench is commanded."""
        self.lock_orientation(self.setpoint_cp()[0][:3, :3])

    def lock_orientation(self, R: ArrayLike) -> None:
        """Lock an orientation (3, 3), in the reference frame of `measured_cp`, while a wrench is commanded."""
        self.send("lock_orientation", Rotation(R=np.array(R, dtype=float)))

    def unlock_orientation(self) -> None:
        """Let the wrist turn freely while a wrench is commanded."""
        self.send("unlock_orientation", Empty())

    def servo_ci(self, goal: CartesianImpedance) -> None:
        """Follow a Cartesian impedance."""
        self.send("servo_ci", goal)
