"""The target pose of a tip: a handle in the scene, and number fields."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.robot import Robot
from trocar.robot.messages import Pose
from trocar.spatial import Array, inverse, pose, quaternion, roll_pitch_yaw, rotation
from trocar.view.page import Page
from trocar.view.panels.controls import Entry
from trocar.view.selection import Selection

HANDLE = 0.12  # size of the handle [m]
FIELDS = ("x [mm]", "y [mm]", "z [mm]", "roll [deg]", "pitch [deg]", "yaw [deg]")
DECIMALS = 1  # decimals of the fields
STEPS, CONVERGED = 30, 1e-6  # of Newton's method: number of steps, final error [m]


class TipTarget:
    """The target pose of the tip.

    Args:
        base: node of the scene that is the base of the arm. move: called with a pose (4, 4) in the base.

    Attributes:
        handle: the handle in the scene. entry: position and orientation in base axes; roll, pitch and yaw are rotations
            about the fixed axes x, y and z, in this order.
    """

    def __init__(self, page: Page, base: str, move: Callable[[Array], None]) -> None:
        self._move, self._lock = move, threading.RLock()
        self._T = np.eye(4)  # the exact target that is shown
        server = page.server
        server.gui.add_markdown("Drag the handle at the tip, or type a target and press Enter:")
        button = ("Move there", viser.Icon.ARROW_RIGHT)
        apply = page.on(lambda _: self.move_as_entered())
        self.entry = Entry(server.gui, FIELDS, 10.0**-DECIMALS, button, apply)
        self.handle: Any = server.scene.add_transform_controls(
            f"{base}/target", scale=HANDLE, depth_test=False, visible=False
        )
        self.handle.on_update(page.on(self._on_drag))

    def orients(self, orients: bool) -> None:
        """Offer orientations, for an arm that can turn its tip in any direction."""
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
        same = typed == np.round(exact, DECIMALS)
        numbers = np.where(same, exact, typed)
        roll, pitch, yaw = np.radians(numbers[3:])
        R = rotation("z", yaw) @ rotation("y", pitch) @ rotation("x", roll)
        return pose(R=self._T[:3, :3] if same[3:].all() else R, p=numbers[:3] / 1000)

    def move_as_entered(self) -> None:
        """Move the tip to the pose in the fields."""
        with self._lock:
            T = self.entered()
            self._move(T)
            self.show(T)

    def command(self, robot: Robot, selection: Selection, T: Array, seed: Array) -> Pose | Array:
        """The goal of `move_cp` for a pose (4, 4) in the base; joints (n,) if the arm cannot take a pose now.

        An arm that does not orient its tip goes to a position, and a paused robot takes joints only.
        """
        arm, name = selection.about.arm, selection.name
        if arm.tip_joints < 6:
            return _joints_at(selection.about.mechanism(), T[:3, 3], seed)
        if not robot.playing:
            solution = robot.bus.call(f"{name}/inverse_kinematics", seed[: arm.tip_joints], T)
            if not solution.result:
                raise TrocarError(f"the tip of {name} cannot reach this pose: {solution.message}")
            return np.concatenate([solution.value, seed[arm.tip_joints :]])
        with robot.bus.lock:
            poses = [robot.bus.read(f"{name}/{topic}") for topic in ("setpoint_cp", "local/setpoint_cp")]
        T_reference_tip, T_base_tip = (message.T for message in poses if isinstance(message, Pose))
        return Pose(T=T_reference_tip @ inverse(T_base_tip) @ T)

    def _on_drag(self, event: viser.TransformControlsEvent) -> None:
        with self._lock:
            R = viser.transforms.SO3(np.array(self.handle.wxyz)).as_matrix()
            T = pose(R=R, p=np.array(self.handle.position))
            self._T = T
            self._show_numbers()
            self._move(T)

    def _show_numbers(self) -> None:
        self.entry.show(np.round(_numbers(self._T), DECIMALS))


def _numbers(T: Array) -> Array:
    """Position [mm] and roll, pitch and yaw [deg] (6,) of a pose."""
    return np.concatenate([1000 * T[:3, 3], np.degrees(roll_pitch_yaw(T[:3, :3]))])


def _joints_at(mechanism: Mechanism, position: Array, seed: Array) -> Array:
    """Joints (n,) near a seed that put the tip at a position (3,) [m] in the base, with any orientation."""
    q, arm = np.array(seed), mechanism.arm
    for _ in range(STEPS):
        error = position - mechanism.forward_kinematics(q)[:3, 3]
        if np.linalg.norm(error) < CONVERGED:
            return q
        J = mechanism.jacobian(q)[:3]
        m = J.shape[1]
        q[:m] = np.clip(q[:m] + np.linalg.lstsq(J, error, rcond=1e-6)[0], arm.lower[:m], arm.upper[:m])
    raise TrocarError(f"the tip of {arm.name} cannot reach {(1000 * position).round(1).tolist()} mm")
