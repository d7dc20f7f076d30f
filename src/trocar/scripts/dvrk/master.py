"""A master: `dvrk.mtm`."""

from __future__ import annotations

from typing import Any

from trocar.robot.messages import CartesianImpedance, Empty, Rotation
from trocar.scripts.dvrk.any_arm import Part, arm
from trocar.scripts.pykdl import Rotation as KDLRotation
from trocar.transports.ros_conversion import from_ros


class _Gripper(Part):
    """The gripper: one joint, measured only."""

    def __init__(self, ral: Any, connection_timeout: float) -> None:
        super().__init__(ral, "gripper", connection_timeout)
        self._utils.add_measured_js()


class mtm(arm):
    """An MTM with its gripper."""

    def __init__(self, ral: Any = None, arm_name: str = "", connection_timeout: float = 5.0, **earlier: Any) -> None:
        super().__init__(ral, arm_name, connection_timeout, **earlier)
        self.gripper = _Gripper(self._ral, connection_timeout)

    def lock_orientation_as_is(self) -> None:
        """Lock the current orientation while a wrench is commanded."""
        T = self._device.receive("setpoint_cp").T
        self._device.send("lock_orientation", Rotation(R=T[:3, :3].copy()))

    def lock_orientation(self, orientation: KDLRotation) -> None:
        self._device.send("lock_orientation", Rotation(R=orientation.array.copy()))

    def unlock_orientation(self) -> None:
        self._device.send("unlock_orientation", Empty())

    def servo_ci(self, gains: Any) -> None:
        """Follow a Cartesian impedance, a crtk_msgs/CartesianImpedance."""
        self._device.send("servo_ci", from_ros(gains, "crtk_msgs/CartesianImpedance", CartesianImpedance))
