"""Clients of teleoperation components: a pair of arms, and camera control."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.robot.clients.device import Clock, Device
from trocar.robot.messages import Bool, Float, String, Wrench
from trocar.spatial import Array


class _Teleoperation(Device):
    """Commands and states shared by both components."""

    def __init__(self, robot: Clock, name: str) -> None:
        if f"{name}/state_command" not in robot.bus.topics:
            raise TrocarError(
                f"the robot has no teleoperation {name}; trocar.teleoperation.Teleoperation(robot) adds it"
            )
        super().__init__(robot, name)

    def set_scale(self, scale: float) -> None:
        """Set the scale, 0 < scale <= 1."""
        self.send("set_scale", Float(value=float(scale)))

    def get_scale(self) -> float:
        return float(self.receive("scale").value)

    def enable(self) -> None:
        self.send("state_command", String(value="enable"))

    def disable(self) -> None:
        self.send("state_command", String(value="disable"))

    def current_state(self) -> str:
        """DISABLED, SETTING_ARMS_STATE, ALIGNING_MTM or ENABLED."""
        return str(self.receive("current_state").value)

    def desired_state(self) -> str:
        return str(self.receive("desired_state").value)

    def is_following(self) -> bool:
        return bool(self.receive("following").value)


class TeleopPSM(_Teleoperation):
    """An MTM that drives a PSM, such as MTMR_PSM1."""

    def align_MTM(self) -> None:
        """Align the MTM with the PSM and hold it there."""
        self.send("state_command", String(value="align_MTM"))

    def set_align_MTM(self, align: bool) -> None:
        """Set whether to align before following."""
        self.send("set_align_MTM", Bool(value=align))

    def lock_rotation(self, lock: bool) -> None:
        """Lock or unlock the rotation of the instrument; unlocking aligns the master again."""
        self.send("lock_rotation", Bool(value=lock))

    def lock_translation(self, lock: bool) -> None:
        """Lock or unlock the translation of the instrument."""
        self.send("lock_translation", Bool(value=lock))

    def alignment_offset(self) -> Array:
        """Rotation (3, 3) from the MTM to the PSM."""
        return np.asarray(self.receive("alignment_offset").R)

    def following_mtm_body_servo_cf(self, wrench: ArrayLike) -> None:
        """Apply a wrench (6,) [N, N m] to the MTM while the PSM follows."""
        self.send("following/mtm/body/servo_cf", Wrench(vector=np.array(wrench, dtype=float).reshape(-1)))


class TeleopECM(_Teleoperation):
    """Both MTMs that drive the ECM."""
