"""Messages of the CRTK interface: small frozen values with a time stamp and a reference frame.

Poses are (4, 4) arrays, six-vectors linear first, rotations (3, 3) matrices; SI units, radians. A stamp is the time of
the measurement in nanoseconds; 0 means that the content is not valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, dataclass_transform

import numpy as np

from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.robot.description import SceneDescription

EMPTY = np.zeros(0)
EMPTY.setflags(write=False)


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True, eq=False)
class Message:
    """A value on the bus.

    Attributes:
        stamp: time of the measurement [ns]; 0: not valid, or set by the bus when it is published.
        frame_id: frame of reference of the content.
    """

    stamp: int = 0
    frame_id: str = ""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True, eq=False)(cls)

    @property
    def time(self) -> float:
        """The stamp in seconds."""
        return 1e-9 * self.stamp

    @property
    def valid(self) -> bool:
        return self.stamp > 0


class Empty(Message):
    """A message without content: it is itself the command or event."""


class Bool(Message):
    value: bool


class Float(Message):
    value: float


class String(Message):
    value: str


class Floats(Message):
    """Numbers (k,), such as duration [s], frequency [Hz] and volume of a beep."""

    values: Array


class JointState(Message):
    """Positions [rad, m], velocities and efforts [N m, N] of joints; an empty array means "not given"."""

    name: tuple[str, ...] = ()
    position: Array = field(default_factory=lambda: EMPTY)
    velocity: Array = field(default_factory=lambda: EMPTY)
    effort: Array = field(default_factory=lambda: EMPTY)


class Pose(Message):
    """Pose (4, 4) in `frame_id` [m]."""

    T: Array


class Twist(Message):
    """Velocity (6,): linear [m/s], then angular [rad/s]."""

    vector: Array


class Wrench(Message):
    """Force [N], then moment [N m] (6,)."""

    vector: Array


class Matrix(Message):
    """A matrix, such as a Jacobian (6, n)."""

    values: Array


class Rotation(Message):
    """Rotation (3, 3)."""

    R: Array


class OperatingState(Message):
    """State of a device: DISABLED, ENABLED, PAUSED or FAULT; homed; busy with a motion or its homing."""

    state: str
    is_homed: bool
    is_busy: bool


class Joy(Message):
    """Buttons and pedals: RELEASED, PRESSED or, after a quick tap, CLICKED."""

    RELEASED: ClassVar[int] = 0
    PRESSED: ClassVar[int] = 1
    CLICKED: ClassVar[int] = 2
    buttons: tuple[int, ...] = ()
    axes: tuple[float, ...] = ()


class CartesianState(Message):
    """Pose (4, 4), twist (6,) and wrench (6,) of a tip; None if not given."""

    T: Array | None = None
    twist: Array | None = None
    wrench: Array | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class HalfPlaneGains:
    """Impedance on one side of a plane, per axis (3,): effort = p error + d velocity + bias beyond the deadband.

    Units: p [N/m, N m/rad], d [N s/m, N m s/rad], bias [N, N m], deadband [m, rad].
    """

    p: Array = field(default_factory=lambda: np.zeros(3))
    d: Array = field(default_factory=lambda: np.zeros(3))
    bias: Array = field(default_factory=lambda: np.zeros(3))
    deadband: Array = field(default_factory=lambda: np.zeros(3))


class ImpedanceGoal(Message):
    """Goal of a Cartesian impedance, with gains for either side of it along every axis.

    Attributes:
        force_R, torque_R: (3, 3) axes in which position and orientation errors are measured; torque_R is also the
            orientation to keep. force_position: (3,) position to keep [m].
    """

    force_R: Array
    force_position: Array
    torque_R: Array
    position_positive: HalfPlaneGains = field(default_factory=HalfPlaneGains)
    position_negative: HalfPlaneGains = field(default_factory=HalfPlaneGains)
    orientation_positive: HalfPlaneGains = field(default_factory=HalfPlaneGains)
    orientation_negative: HalfPlaneGains = field(default_factory=HalfPlaneGains)


class IntervalStatistics(Message):
    """Periods and compute times of a control loop over the last interval [s]."""

    period_avg: float = 0.0
    period_std_dev: float = 0.0
    period_min: float = 0.0
    period_max: float = 0.0
    compute_time_avg: float = 0.0
    compute_time_std_dev: float = 0.0
    compute_time_min: float = 0.0
    compute_time_max: float = 0.0
    number_of_samples: int = 0
    number_of_overruns: int = 0
    statistics_interval: float = 0.0


@dataclass(frozen=True)
class KinematicsResult:
    """Answer of a kinematics service: `value` is a pose (4, 4) or joints (n,), also if `result` is False."""

    value: Array
    result: bool
    message: str = ""


class _ReadOnly:
    """A dataclass whose arrays cannot be changed, so that threads can share it."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmFrame(_ReadOnly):
    """State of one arm and the forces on it, for a `Frame`. Poses and forces are in its base frame.

    Attributes:
        q, dq: (n,) at the time of the frame [rad, m; /s]. T_tip: (4, 4).
        ddq, tau: (n,) of the last step; None before the first step and if a recording has none.
        q_ref: (n,) joint setpoint, T_ref: (4, 4) its tip pose; None unless the arm follows positions.
        force: (3,) push on the tip [N]. contact_effort: (n,) joint effort of contacts with objects [N m, N]; None
            before the first step and in a recording.
        rcm_error: [m]; None without a remote centre. loop_error: [m]; None without loops.
        law, gains: control law by name and its gains; None in a recording.
        target: (n,) goal of the running move or the joint setpoint [rad, m]; commanded efforts [N m, N] if the arm
            follows efforts; None in a recording and while the motors are off.
    """

    q: Array
    dq: Array
    T_tip: Array
    ddq: Array | None = None
    tau: Array | None = None
    q_ref: Array | None = None
    T_ref: Array | None = None
    force: Array = field(default_factory=lambda: np.zeros(3))
    contact_effort: Array | None = None
    rcm_error: float | None = None
    loop_error: float | None = None
    law: str | None = None
    gains: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    target: Array | None = None


class Frame(_ReadOnly, Message):
    """One moment of a simulation or a recording: read-only copies.

    Attributes:
        number: increases with every frame.
        time: simulated time since the last reset, or time in the recording [s].
        arms: by name; a frame may have the states of some arms only. qpos: every joint of the scene's model.
        scene: description of the simulated scene.
        contacts: (k, 2, 3) points [m] and forces [N] in world axes; if an arm touches an object, the force on the
            arm.
        layers: `flex_elemlayer` of the scene's model, which marks removed elements of soft objects; empty in a
            recording.
        live: False in a recording.
        playing: time is running. speed, factor: requested and achieved ratio of simulated to real time; 0 if no
            thread advances the robot.
    """

    number: int
    time: float = 0.0
    arms: Mapping[str, ArmFrame]
    qpos: Array
    scene: SceneDescription
    contacts: Array = field(default_factory=lambda: np.zeros((0, 2, 3)))
    layers: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    live: bool = True
    playing: bool = False
    speed: float = 1.0
    factor: float = 0.0
