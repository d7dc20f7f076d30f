"""Client of the set-up joints."""

from __future__ import annotations

from numpy.typing import ArrayLike

from trocar.robot.clients.arm import JointReader, PoseReader, joints
from trocar.robot.clients.device import Clock, StatefulDevice


class SetUpArm(JointReader, PoseReader, StatefulDevice):
    """The set-up joints of one arm of the cart."""

    def __init__(self, robot: Clock, name: str, connection_timeout: float = 1.0) -> None:
        super().__init__(robot, name, connection_timeout)
        self.local = PoseReader(robot, f"{name}/local", connection_timeout)

    def move_jp(self, positions: ArrayLike) -> None:
        """Place the set-up joints [m, rad], as by hand with the brakes released."""
        self.send("move_jp", joints(positions))


class SUJ:
    """All set-up joints of a cart.

    Attributes:
        ECM, PSM1, PSM2, PSM3: set-up joints of each arm.
    """

    def __init__(self, robot: Clock, connection_timeout: float = 1.0, name: str = "SUJ") -> None:
        self.ECM, self.PSM1, self.PSM2, self.PSM3 = (
            SetUpArm(robot, f"{name}/{arm}", connection_timeout) for arm in ("ECM", "PSM1", "PSM2", "PSM3")
        )
