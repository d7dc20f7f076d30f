"""Groups of controls: sliders of named values, number fields that apply together, and the target pose of a tip."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import ArrayLike

from trocar.arms.arm import LimitedJoint
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.robot import Robot
from trocar.robot.messages import Pose
from trocar.spatial import Array, inverse, pose, quaternion, roll_pitch_yaw, rotation
from trocar.view.page import Page
from trocar.view.panel import Selection

STEPS = {"rad": 0.001, "m": 0.0001}  # of sliders of joints, by unit
HANDLE = 0.12  # size of the handle of a tip [m]
FIELDS = ("x [mm]", "y [mm]", "z [mm]", "roll [deg]", "pitch [deg]", "yaw [deg]")
DECIMALS = 1  # decimals of these fields
MAX_STEPS, CONVERGED = 30, 1e-6  # of Newton's method: number of steps, final error [m]


class Sliders:
    """A replaceable set of sliders; `changed` is called when one is moved. Attributes: handles: sliders by name."""

    def __init__(self, page: Page, folder: viser.GuiFolderHandle, changed: Callable[[], object]) -> None:
        self._page, self._folder, self._changed = page, folder, changed
        self.handles: dict[str, Any] = {}

    def make(self, ranges: Iterable[tuple[str, str, tuple[float, float], float, float]]) -> None:
        """Replace the sliders: name, unit, limits (widened to hold the value), step and value of each."""
        for handle in self.handles.values():
            handle.remove()
        handles = {}
        with self._folder:
            for name, unit, (low, high), step, value in ranges:
                label, limits = f"{name} [{unit}]" if unit else name, (min(low, value), max(high, value))
                handles[name] = self._page.add("slider", label, lambda _: self._changed(), *limits, step, value)
        self.handles = handles

    @property
    def values(self) -> Array:
        """Values (k,), in order."""
        return np.array([handle.value for handle in self.handles.values()], dtype=float)

    def show(self, values: ArrayLike) -> None:
        """Move the sliders to these values, clipped to their limits."""
        for handle, value in zip(self.handles.values(), np.asarray(values), strict=True):
            handle.value = float(np.clip(value, handle.min, handle.max))

    def limit(self, ranges: Iterable[tuple[float, float]]) -> None:
        """Change the limits of all sliders."""
        for handle, limits in zip(self.handles.values(), ranges, strict=True):
            handle.min, handle.max = limits


def inside(joint: LimitedJoint) -> tuple[float, float]:
    """Limits of a joint [rad, m], rounded inwards to short numbers."""
    return float(np.ceil(joint.lower * 1000) / 1000), float(np.floor(joint.upper * 1000) / 1000)


class Entry:
    """Number fields. Half-typed numbers have no effect.

    The fields have no limits; `apply` refuses values out of range. A field that stopped at a limit would apply a
    different number from the one that was typed.

    Args:
        labels: labels of the fields. step: step of their arrows; the fields show as many decimals as it has.
        button, icon: of the button. apply: called on Enter in a field, or when the button is pressed.

    Attributes:
        form: the form. fields: its fields, in order. button: its button.
    """

    def __init__(
        self, page: Page, labels: Sequence[str], step: float, button: str, icon: str, apply: Callable[[], object]
    ) -> None:
        self._lock = threading.Lock()
        with page.server.gui.add_form(None) as self.form:
            self.fields = [page.add("number", x, None, 0.0, step=step, hint="press Enter to apply") for x in labels]
            self.button = page.add("button", button, lambda _: apply(), icon=icon)
        self.form.on_submit(page.on(lambda _: apply()))

    @property
    def values(self) -> Array:
        """The numbers in the fields."""
        with self._lock:
            return np.array([field.value for field in self.fields])

    def show(self, values: ArrayLike) -> None:
        """Put numbers into the fields, even if a browser shows others that it has not sent.

        viser's browser side sends at most one message in 50 ms: a key pressed just before Enter may get lost.
        """
        with self._lock:
            for field, value in zip(self.fields, np.asarray(values, dtype=float).tolist(), strict=True):
                field.value = value + 1.0  # an equal value would not be sent
                field.value = value


class TipTarget:
    """The target pose of a tip: a handle in the scene, and number fields.

    Args:
        base: node of the scene that is the base of the arm. move: called with a pose (4, 4) in the base.
        lock: that of the owner, who shows and moves the target under it; a second one could wait for the first.

    Attributes:
        handle: the handle in the scene. entry: position and orientation in base axes; roll, pitch and yaw are rotations
            about the fixed axes x, y and z, in this order.
    """

    def __init__(self, page: Page, base: str, move: Callable[[Array], None], lock: threading.RLock) -> None:
        self._move, self._lock = move, lock
        self._T = np.eye(4)  # the exact target that is shown
        page.add("markdown", "Drag the handle at the tip, or type a target and press Enter:")
        icon = viser.Icon.ARROW_RIGHT
        self.entry = Entry(page, FIELDS, 10.0**-DECIMALS, "Move there", icon, self.move_as_entered)
        look: dict[str, Any] = {"scale": HANDLE, "depth_test": False, "visible": False}
        self.handle: Any = page.server.scene.add_transform_controls(f"{base}/target", **look)
        self.handle.on_update(page.on(lambda _: self._on_drag()))

    def orients(self, orients: bool) -> None:
        """Offer orientations, for an arm that can turn its tip in any direction."""
        self.handle.disable_rotations = not orients
        for field in self.entry.fields[3:]:
            field.visible = orients

    def show(self, T: Array) -> None:
        """Move handle and fields to a pose (4, 4) in the base frame."""
        with self._lock:
            self.handle.position, self.handle.wxyz = T[:3, 3], quaternion(T[:3, :3])
            self._show_numbers(np.array(T))

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
            reference: Any = robot.bus.read(f"{name}/setpoint_cp")
            base: Any = robot.bus.read(f"{name}/local/setpoint_cp")
        return Pose(T=reference.T @ inverse(base.T) @ T)

    def _on_drag(self) -> None:
        with self._lock:
            R = viser.transforms.SO3(np.array(self.handle.wxyz)).as_matrix()
            self._show_numbers(pose(R=R, p=np.array(self.handle.position)))
            self._move(self._T)

    def _show_numbers(self, T: Array) -> None:
        self._T = T
        self.entry.show(np.round(_numbers(T), DECIMALS))


def _numbers(T: Array) -> Array:
    """Position [mm] and roll, pitch and yaw [deg] (6,) of a pose."""
    return np.concatenate([1000 * T[:3, 3], np.degrees(roll_pitch_yaw(T[:3, :3]))])


def _joints_at(mechanism: Mechanism, position: Array, seed: Array) -> Array:
    """Joints (n,) near a seed that put the tip at a position (3,) [m] in the base, with any orientation."""
    q, arm = np.array(seed), mechanism.arm
    for _ in range(MAX_STEPS):
        error = position - mechanism.forward_kinematics(q)[:3, 3]
        if np.linalg.norm(error) < CONVERGED:
            return q
        J = mechanism.jacobian(q)[:3]
        m = J.shape[1]
        q[:m] = np.clip(q[:m] + np.linalg.lstsq(J, error, rcond=1e-6)[0], arm.lower[:m], arm.upper[:m])
    raise TrocarError(f"the tip of {arm.name} cannot reach {(1000 * position).round(1).tolist()} mm")
