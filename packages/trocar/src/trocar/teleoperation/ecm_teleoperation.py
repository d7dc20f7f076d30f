"""Camera control with both MTMs: law and state machine of the dVRK's mtsTeleOperationECM, without bus or clock.

Source: sawIntuitiveResearchKit 2.4. Forces keep the MTMs apart; positions are in the display frame HRSV: X left, Y up,
Z away; the origin is between the eyes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trocar.spatial import Array, unit
from trocar.teleoperation.component import (
    ARMS_TIMEOUT,
    DISABLED,
    ENABLED,
    SETTING_ARMS_STATE,
    CameraSample,
    Component,
    ComponentState,
    Output,
)
from trocar.teleoperation.settings import ECMSettings

MASTERS = ("MTML", "MTMR")
SPRING = 150.0  # stiffness towards the goal of each MTM [N/m]
FRICTION = np.array([-10.0, -10.0, -40.0])  # viscous, by axis [N s/m]
BOX = np.array([[-0.4, -0.2, 0.01], [0.4, 0.2, 0.8]])  # work area: both grips must be inside to start [m]


# -- law ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grips:
    """Geometry of two grips, seen from the eyes.

    Attributes:
        middle: midpoint (3,) [m]. up, side: unit vectors (3,) of the picture that the grips hold.
        width, depth: half of the distance right - left, along `side` and along the line of sight [m].
    """

    middle: Array
    up: Array
    side: Array
    width: float
    depth: float


def grips(left: Array, right: Array) -> Grips:
    """Geometry of grips at two positions (3,) [m]."""
    apart, middle = right - left, 0.5 * (left + right)
    up = unit(_cross(apart, middle))
    side = unit(_cross(middle, up))
    return Grips(middle, up, side, 0.5 * float(side.dot(apart)), 0.5 * float(unit(middle).dot(apart)))


def goals(now: Grips, start: Grips) -> tuple[Array, Array]:
    """Goals (3,) of the left and right grip: width and depth as at the start, about the current midpoint."""
    half = start.width * now.side + start.depth * unit(now.middle)
    return now.middle - half, now.middle + half


def force(goal: Array, position: Array, velocity: Array) -> Array:
    """Force (3,) on a grip [N]."""
    return SPRING * (goal - position) + FRICTION * velocity


def joint_change(now: Grips, start: Grips, q4: float, scale: float, camera_roll_offset: float = 0.0) -> Array:
    """Change (4,) of the ECM's joints since the start [rad, m]; `q4` is its roll at the start [rad]."""
    (x0, y0, z0), (x, y, z) = start.middle.tolist(), now.middle.tolist()
    (u0, v0, _), (u, v, _) = start.up.tolist(), now.up.tolist()
    sideways, upwards, rolled = -_angle(z0, x0, z, x), _angle(y0, z0, y, z), -_angle(u0, v0, u, v)
    r = rolled + q4 + camera_roll_offset
    c, s = math.cos(r), math.sin(r)
    inwards = scale * (_length(start.middle) - _length(now.middle))
    return np.array([sideways * c - upwards * s, upwards * c + sideways * s, inwards, rolled])


def _angle(x0: float, y0: float, x: float, y: float) -> float:
    """Angle from (x0, y0) to (x, y) in their plane, from the first axis towards the second [rad]."""
    return math.atan2(x0 * y - y0 * x, x0 * x + y0 * y)


def _length(v: Array) -> float:
    return math.sqrt(v.dot(v))  # np.linalg.norm without its overhead


def _cross(a: Array, b: Array) -> Array:
    """Cross product (3,); np.cross takes ten times as long for two vectors."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def view(q: Array) -> Array:
    """Orientation (3, 3) that camera control gives the ECM at joints q (4,): Rz(q4) Ry(q1) Rx(q2)."""
    y, x, _, z = q.tolist()
    cz, sz, cy, sy, cx, sx = math.cos(z), math.sin(z), math.cos(y), math.sin(y), math.cos(x), math.sin(x)
    return np.array(
        [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ]
    )


def inside(position: Array) -> bool:
    """True if a grip is inside the work area in front of the eyes."""
    return bool((position >= BOX[0]).all() and (position <= BOX[1]).all())


# -- state machine -----------------------------------------------------------------------------------------------------


@dataclass
class CameraState(ComponentState):
    """Memory of a `EcmTeleoperation`; the scale is that of the insertion.

    Attributes:
        start: grips when following began. q: ECM joints (4,) then. R: orientations (3, 3) of both MTMs then.
    """

    start: Grips | None = None
    q: Array = field(default_factory=lambda: np.zeros(4))
    R: tuple[Array, Array] = (np.eye(3), np.eye(3))


class EcmTeleoperation(Component[CameraState]):
    """Camera control. Call `step` once per period with a sample; other methods are the dVRK's commands and events.

    `state_command` takes enable and disable.

    Attributes:
        settings: settings as configured. state: everything it remembers.
    """

    def __init__(self, name: str = "MTML_MTMR_ECM", settings: ECMSettings | None = None) -> None:
        self.settings = settings or ECMSettings()
        super().__init__(name, CameraState(self.settings.scale), {"scale": self.settings.scale})
        self._last: CameraSample | None = None

    # -- commands ------------------------------------------------------------------------------------------------------

    def set_scale(self, scale: float) -> None:
        """Change the scale of the insertion, 0 < scale <= 1. As on the dVRK, the insertion jumps if the ECM follows."""
        self._change_scale(scale)

    def _release_clutch(self) -> None:
        if self.state.desired == ENABLED:
            self._report("status", "console clutch released")
            self._enter(SETTING_ARMS_STATE)

    # -- step ----------------------------------------------------------------------------------------------------------

    def step(self, t: float, sample: CameraSample) -> Output:
        """Commands and events of the cycle at time t [s]."""
        self._t = t
        s, fault = self.state, sample.reason()
        if fault and s.current != DISABLED:
            self._desire_disabled()
            self._report("error", f"{fault}; the ECM holds")
        elif not fault:
            self._last = sample
        if s.desired == DISABLED:
            if s.current != DISABLED:
                self._enter(DISABLED)
        elif not fault:
            self._run(sample)
        return self.output()

    def _run(self, sample: CameraSample) -> None:
        s = self.state
        ready = [state.ready for state in sample.states]
        if s.current == ENABLED:
            if not all(ready):
                names = [name for name, fine in zip((*MASTERS, "ECM"), ready, strict=True) if not fine]
                self._desire_disabled()
                self._report("error", f"{', '.join(names)} not in state ENABLED anymore")
                self._enter(DISABLED)
            elif not s.clutched:
                self._follow(sample)
        elif s.current == DISABLED:
            self._enter(SETTING_ARMS_STATE)
        elif self._prepare(zip((*MASTERS, "ECM"), sample.states, strict=True)):
            self._begin(sample)
        elif self._t - s.since > ARMS_TIMEOUT:
            self._report("error", "timed out while setting up arms state")
            self._desire_disabled()

    def _begin(self, sample: CameraSample) -> None:
        """Start following from here, if both grips are in the work area."""
        if self.settings.check_MTMs_workspace:
            for name, T in zip(MASTERS, (sample.left, sample.right), strict=True):
                if not inside(T[:3, 3]):
                    self._report("error", f"{name} position doesn't seem to be in the work area")
                    self._desire_disabled()
                    return
        s = self.state
        s.start, s.q = grips(sample.left[:3, 3], sample.right[:3, 3]), sample.q.copy()
        s.R = sample.left[:3, :3].copy(), sample.right[:3, :3].copy()
        self._enter(ENABLED)

    def _follow(self, sample: CameraSample) -> None:
        s, settings = self.state, self.settings
        assert s.start is not None
        now = grips(sample.left[:3, 3], sample.right[:3, 3])
        if settings.MTM_is_haptic:
            masters = (sample.left, sample.left_twist), (sample.right, sample.right_twist)
            for name, goal, (T, twist) in zip(MASTERS, goals(now, s.start), masters, strict=True):
                wrench = np.zeros(6)
                wrench[:3] = settings.haptic_feedback_ratio * force(goal, T[:3, 3], twist[:3])
                self._out.command(name, "body/servo_cf", wrench)
        q = s.q + joint_change(now, s.start, s.q[3], s.scale, settings.camera_roll_offset)
        self._out.command("ECM", "servo_jp", q)
        if settings.MTM_is_haptic:
            turned_t = view(s.q).dot(view(q).T)
            for name, R in zip(MASTERS, s.R, strict=True):
                self._out.command(name, "lock_orientation", turned_t.dot(R))

    # -- states --------------------------------------------------------------------------------------------------------

    def _enter(self, state: str) -> None:
        s = self.state
        if s.following and state != ENABLED:
            self._set_following(False)
        self._change_state(state)
        if state == ENABLED:
            self._free_masters(absolute=True)
            self._follow_unless_clutched()

    def _free_masters(self, *, absolute: bool) -> None:
        """Command zero force, gravity compensation and locked orientations."""
        if not self.settings.MTM_is_haptic or self._last is None:
            return
        for name, T in zip(MASTERS, (self._last.left, self._last.right), strict=True):
            self._out.command(name, "use_gravity_compensation", True)
            if absolute:
                self._out.command(name, "body/set_cf_orientation_absolute", True)
            self._out.command(name, "body/servo_cf", np.zeros(6))
            self._out.command(name, "lock_orientation", T[:3, :3])

    def _press_clutch(self) -> None:
        if self.state.desired == ENABLED:
            super()._press_clutch()
            self._free_masters(absolute=False)
