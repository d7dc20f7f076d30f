"""One arm of a scene: its options with those of its drives, mount and port, its place and its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import ARMS, Arm
from trocar.arms.arm import Deflection
from trocar.arms.wrist_cables import WristCables, chosen_wrist
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.mechanics import ArmOptions, Mechanism
from trocar.mechanics.cable_drives import check_wrist
from trocar.mechanics.cart import Cart
from trocar.spatial import Array

MOUNT = "mount"  # body between the fixed base and the arm, on an elastic mount
PLACE = ("arm", "base", "mount", "q", "compensation")  # fields that a `Simulator` sets itself or cannot use


@dataclass(frozen=True, kw_only=True)
class Cable:
    """Elastic transmission of the counterweight: stiffness [N/m] and damping [N s/m] of its cable."""

    stiffness: float
    damping: float


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """Motor that makes the counterweight follow the insertion. Defaults: the published scene of Ferro et al. 2022.

    Attributes:
        gain: of the position loop, which commands the velocity gain x error / physics.
        physics, period: physics step and simulation step of their engine [s]. The scene's script runs once per period.
        force, speed: limits of the motor [N] and of the commanded velocity [m/s].
        cfm: softness of the motor in ODE [m/(N s)]. The scene's error reduction, ERP 0.6, acts on joint stops and loop
            closures, which are hard here; a velocity motor has no position error to reduce.
        settled: the tool feels the counterweight from the start. False: after the first period, as in CoppeliaSim,
            where the script finds no motor force when the simulation starts.
    """

    gain: float = 0.1
    physics: float = 5e-3
    period: float = 1e-2
    force: float = 50.0
    speed: float = 10.0
    cfm: float = 1e-5
    settled: bool = True


@dataclass(frozen=True, kw_only=True)
class Compliance:
    """Elastic drives of an arm with known deflections, such as yaw and pitch of the Classic PSM.

    Attributes:
        rotor_inertia: inertia of each motor at the joint [kg m^2]. Not published; assumed, large enough for the dVRK's
            PID to be stable with one sample of delay. The identified link inertias include the rotors, so that with
            this the arm is 5 % heavier about yaw and pitch.
        damping: damping of each spring [N m s/rad]; assumed.
        backlash: dead band of each spring, from stop to stop [rad].
        deflections: by joint. Default: those of the arm.
    """

    rotor_inertia: float = 1e-2
    damping: float = 0.05
    backlash: float = 0.0
    deflections: Mapping[str, Deflection] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.attributes(self, "a Compliance", positive=("rotor_inertia",), not_negative=("damping", "backlash"))

    def of(self, arm: Arm) -> Compliance:
        """A copy with the deflections of an arm; raises an error if none were measured."""
        if not self.deflections and not arm.deflections:
            raise TrocarError(f"no drive compliance is known for {arm.name}; omit compliance, or give deflections")
        return self if self.deflections else replace(self, deflections=arm.deflections)


@dataclass(frozen=True, kw_only=True)
class ElasticMount:
    """Springs and dampers between the fixed base of an arm and the arm, about a point and along base axes.

    On a real cart the weight of the links bends the mount as they move, and the remote centre of motion wanders.

    The deflection is zero with the arm at home: the base frame is defined by the loaded mount in that state.

    Attributes:
        pivot: (3,) point about which the mount bends, in the base frame [m].
        rotation: stiffness (3,) about the base axes x, y, z [N m/rad]. inf: rigid.
        translation: stiffness (3,) along the base axes [N/m]. Default: rigid.
        loss: damping over stiffness, of every spring [s].
    """

    pivot: tuple[float, float, float]
    rotation: tuple[float, float, float]
    translation: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    loss: float = 0.01

    def __post_init__(self) -> None:
        if np.shape(self.pivot) != (3,) or not np.isfinite(self.pivot).all():
            raise TrocarError(f"the pivot of an ElasticMount must be three finite numbers [m], got {self.pivot!r}")
        for name, unit in (("rotation", "N m/rad"), ("translation", "N/m")):
            value = getattr(self, name)
            if np.shape(value) != (3,) or not (np.asarray(value, dtype=float) > 0).all():
                raise TrocarError(f"{name} of an ElasticMount must be three stiffnesses > 0 [{unit}], got {value!r}")
        if not (np.isfinite(self.loss) and self.loss >= 0):
            raise TrocarError(f"loss of an ElasticMount must be a time >= 0 [s], got {self.loss!r}")
        if not self.joints:
            raise TrocarError("an ElasticMount without a finite stiffness is rigid; omit elastic_mount")

    @property
    def joints(self) -> dict[str, tuple[mujoco.mjtJoint, Array, float]]:
        """Kind, axis and stiffness of every joint of the mount, by its name in the model."""
        kinds = (
            ("slide", mujoco.mjtJoint.mjJNT_SLIDE, self.translation),
            ("hinge", mujoco.mjtJoint.mjJNT_HINGE, self.rotation),
        )
        return {
            f"{MOUNT}_{name}_{'xyz'[i]}": (kind, np.eye(3)[i], float(stiffness[i]))
            for name, kind, stiffness in kinds
            for i in range(3)
            if np.isfinite(stiffness[i])
        }


@dataclass(frozen=True, kw_only=True)
class Port:
    """A port in a body wall, where the instrument enters the body; its seal causes friction on the shaft.

    Attributes:
        offset: (3,) position of the hole in the relaxed wall relative to the remote centre, base axes [m].
        stiffness: lateral stiffness of the wall [N/m]; assumed, not measured. damping: [N s/m]; assumed.
        friction: Coulomb friction of the seal on the shaft [N]: 0.25 to 3 N, by the kind of trocar (van den Dobbelsteen
            et al. 2007, six trocars with a 5 mm instrument). In rotation it acts at the shaft's radius.
        viscous: viscous friction on the shaft [N s/m], in rotation at its radius; assumed.
    """

    offset: ArrayLike = (0.0, 0.0, 0.0)
    stiffness: float = 1000.0
    damping: float = 20.0
    friction: float = 1.0
    viscous: float = 2.0

    def __post_init__(self) -> None:
        checks.three_numbers("offset of a port", self.offset, "[m]")
        checks.attributes(self, "a port", not_negative=("stiffness", "damping", "friction", "viscous"))


@dataclass(frozen=True, kw_only=True)
class SceneArm(ArmOptions):
    """One arm of a scene: `ArmOptions`, options of its simulation, its place and its start.

    The parameter set must be physically consistent.

    Attributes:
        friction: False removes viscous, Coulomb and Dahl friction.
        transmission: link between counterweight and insertion: "rigid", an elastic `Cable`, or a `Mirror` (a motor
            moves the counterweight, and its force reaches the tool one period later); "mirrored": the `Mirror` of
            Ferro et al. 2022.
        compliance: elastic drives of yaw and pitch with separate motors; `measured_q` then reads the motors.
        wrist: "rigid", "cables" (elastic cables and joint friction of a large needle driver, `hwang2020`), the file of
            your own (`trocar identify-wrist`), or `WristCables`. With cables, `measured_q` reads the motors.
        compensation: cables that the arm's controller assumes, and whose play it makes up for: None (the default),
            "cables", a file or `WristCables`; see `trocar.control.WristCompensation`. It may differ from `wrist`.
        elastic_mount: springs between the fixed base and the arm. Default: a rigid mount.
        port: body wall and seal around the instrument.
        limits: enforce the joint limits. motor_limits: clamp efforts to the motors' limits.
        arm: PSM, PSM_Si, ECM, ECM_Si, MTML, MTMR or a custom `Arm`; omit it on a cart, which defines its arms.
        base: T_world_base (4, 4). Default: the origin, tilted by the arm's default mounting.
        mount: PSM1, PSM2, PSM3 or ECM, for an arm on the scene's cart; instead of base.
        q: joints (n,) at the start [rad, m]. Default: home.
    """

    friction: bool = True
    transmission: str | Cable | Mirror = "rigid"
    compliance: Compliance | None = None
    wrist: str | Path | WristCables = "rigid"
    compensation: str | Path | WristCables | None = None
    elastic_mount: ElasticMount | None = None
    port: Port | None = None
    limits: bool = True
    motor_limits: bool = False
    arm: str | Arm | None = None
    base: ArrayLike | None = None
    mount: str | None = None
    q: ArrayLike | None = None

    def __post_init__(self) -> None:
        for name in ("counterweight", "friction", "limits", "motor_limits"):
            checks.flag(name, getattr(self, name))
        if self.transmission not in ("rigid", "mirrored") and not isinstance(self.transmission, Cable | Mirror):
            known = ("rigid", "mirrored", "Cable(stiffness=, damping=)", "Mirror(gain=, period=)")
            raise UnknownName("transmission", self.transmission, known)

    @property
    def cables(self) -> WristCables | None:
        """Cables of the wrist, or None if it is rigid."""
        return None if self.wrist == "rigid" else chosen_wrist("wrist", self.wrist)

    @property
    def compensated_cables(self) -> WristCables | None:
        """Cables that the arm's controller compensates, or None."""
        return None if self.compensation is None else chosen_wrist("compensation", self.compensation, "None, ")

    @classmethod
    def alone(cls, arm: str | Arm, base: ArrayLike, **options: Any) -> Self:
        """The only arm of a scene; an unknown option raises an error that lists the known ones."""
        known = [f.name for f in fields(cls) if f.name not in PLACE]
        check_known("option of a simulated arm", known, *options)
        return cls(arm=arm, base=base, **options)

    def loaded(
        self, cart: Cart | None = None, gravity: ArrayLike | None = None, mounting: float | None = None
    ) -> tuple[Mechanism, Self]:
        """The equations of the arm, and its options with the arm's deflections; raises if it lacks an option's part."""
        mechanism = self.mechanism(self._kind(cart), gravity, mounting)
        arm = mechanism.arm
        if mechanism.parameters is None:
            raise TrocarError(f"{arm.name} has no dynamic parameters to simulate yet")
        if self.transmission != "rigid" and arm.counterweight is None:
            raise TrocarError(f"{arm.name} has no counterweight for transmission={self.transmission!r}")
        if self.port is not None and not arm.has_rcm:
            raise TrocarError(f"{arm.name} has no remote centre of motion, which port needs; omit port")
        cables, compensated = self.cables, self.compensated_cables
        for name, value in (("wrist", cables), ("compensation", compensated)):
            if value is not None:
                check_wrist(arm, name, getattr(self, name))
        # a file is read once
        options = replace(self, wrist="rigid" if cables is None else cables, compensation=compensated)
        return mechanism, options if self.compliance is None else replace(options, compliance=self.compliance.of(arm))

    def _kind(self, cart: Cart | None) -> str | Arm:
        """The arm, or the name of the one that the cart carries at this mount."""
        if self.mount is None:
            if self.arm is None:
                raise TrocarError(f"needs arm= ({', '.join(ARMS)}) or, on a cart, mount=")
            return self.arm
        if self.base is not None:
            raise TrocarError("has both base and mount; omit base for an arm on the cart")
        if cart is None:
            raise TrocarError(f"is on mount {self.mount!r}, but the scene has no cart")
        carried = cart.set_up(self.mount).arm
        if self.arm not in (None, carried):
            raise TrocarError(f"the {cart.name} cart carries a {carried} at {self.mount}, not a {self.arm}")
        return carried
