"""The target pose of a tip: a handle in the scene, and number fields."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import viser

from trocar.runtime.session import PATIENCE, Session
from trocar.spatial import Array, pose, quaternion, roll_pitch_yaw, rotation
from trocar.view.panels.entry import Entry
from trocar.view.panels.user_actions import UserActions
from trocar.view.selection import Selection

HANDLE = 0.12  # size of the handle [m]
FIELDS = ("x [mm]", "y [mm]", "z [mm]", "roll [deg]", "pitch [deg]", "yaw [deg]")
DECIMALS = 1  # decimals of the fields


class TipTarget:
    """The target pose of the tip. If the arm cannot reach it, it is refused: handle and fields go back.

    Args:
        base: node of the scene that is the base of the arm.

    Attributes:
        handle: the handle in the scene. entry: position and orientation in base axes; roll, pitch and yaw are rotations
            about the fixed axes x, y and z, in this order.
    """

    def __init__(self, server: viser.ViserServer, base: str, session: Session, shown: Selection, on: UserActions):
        self._session, self._arm = session, shown.name
        self._lock = threading.RLock()
        self._T = np.array(shown.state.T_tip)  # the exact target that is shown
        server.gui.add_markdown("Drag the handle at the tip, or type a target and press Enter:")
        self.entry = Entry(
            server.gui,
            FIELDS,
            10.0**-DECIMALS,
            ("Move there", viser.Icon.ARROW_RIGHT),
            on(lambda _: self.move_as_entered()),
        )
        self.handle: Any = server.scene.add_transform_controls(
            f"{base}/target", scale=HANDLE, depth_test=False, visible=False
        )
        self.handle.on_update(on(self._on_drag))

    def follow(self, shown: Selection) -> None:
        """Follow another arm."""
        self._arm = shown.name
        orients = shown.about.arm.tip_joints >= 6
        self.handle.disable_rotations = not orients
        for field in self.entry.fields[3:]:
            field.visible = orients

    def show(self, T: Array) -> None:
        """Move handle and fields to a pose (4, 4) in the base frame."""
        with self._lock:
            self._T = np.array(T)
            self.handle.position, self.handle.wxyz = T[:3, 3], quaternion(T[:3, :3])
            self._show_numbers()

    def entered(self) -> Array:
        """The pose (4, 4) in the fields. An unchanged number keeps its hidden decimals."""
        typed, exact = self.entry.values, _numbers(self._T)
        kept = typed == np.round(exact, DECIMALS)
        numbers = np.where(kept, exact, typed)
        roll, pitch, yaw = np.radians(numbers[3:])
        R = rotation("z", yaw) @ rotation("y", pitch) @ rotation("x", roll)
        return pose(R=self._T[:3, :3] if kept[3:].all() else R, p=numbers[:3] / 1000)

    def move_as_entered(self) -> None:
        """Move the tip to the pose in the fields."""
        with self._lock:
            self._move(self.entered())

    def _move(self, T: Array) -> None:
        """Move the tip to a pose. If it is refused, the user gets a message and the previous target is shown."""
        try:
            refused = self._session.move_tip(T, self._arm).exception(PATIENCE) is not None
        except Exception:
            self._show_current()
            raise
        if refused:
            self._show_current()
        else:
            self.show(T)

    def _show_current(self) -> None:
        state = self._session.settled().arms[self._arm]
        control = state.control
        self.show(control.target if control is not None and control.target.shape == (4, 4) else state.T_tip)

    def _on_drag(self, event: viser.TransformControlsEvent) -> None:
        with self._lock:
            R = viser.transforms.SO3(np.array(self.handle.wxyz)).as_matrix()
            T = pose(R=R, p=np.array(self.handle.position))
            if event.phase == "end":
                self._move(T)
                return
            self._T = T
            self._show_numbers()
            self._session.move_tip(T, self._arm)

    def _show_numbers(self) -> None:
        self.entry.show(np.round(_numbers(self._T), DECIMALS))


def _numbers(T: Array) -> Array:
    """Position [mm] and roll, pitch and yaw [deg] (6,) of a pose."""
    return np.concatenate([1000 * T[:3, 3], np.degrees(roll_pitch_yaw(T[:3, :3]))])
