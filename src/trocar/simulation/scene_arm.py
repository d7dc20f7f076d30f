"""One arm of a scene: its options, its place and its start."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from numpy.typing import ArrayLike

from trocar.arms import ARMS, Arm
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.mechanics import ArmOptions, Mechanism
from trocar.mechanics.cart import Cart
from trocar.simulation.forces.elastic_drives import Compliance
from trocar.simulation.forces.mirrored_counterweight import Mirror
from trocar.simulation.forces.port import Port
from trocar.simulation.modelling.elastic_mount import ElasticMount

PLACE = ("arm", "base", "mount", "q")  # fields that a `Simulator` sets itself


@dataclass(frozen=True, kw_only=True)
class Cable:
    """Elastic transmission of the counterweight: stiffness [N/m] and damping [N s/m] of its cable."""

    stiffness: float
    damping: float


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
    elastic_mount: ElasticMount | None = None
    port: Port | None = None
    limits: bool = True
    motor_limits: bool = False
    arm: str | Arm | None = None
    base: ArrayLike | None = None
    mount: str | None = None
    q: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.transmission not in ("rigid", "mirrored") and not isinstance(self.transmission, Cable | Mirror):
            known = ("rigid", "mirrored", "Cable(stiffness=, damping=)", "Mirror(gain=, period=)")
            raise UnknownName("transmission", self.transmission, known)

    @classmethod
    def alone(cls, arm: str | Arm, base: ArrayLike, **options: Any) -> Self:
        """The only arm of a scene; an unknown option raises an error that lists the known ones."""
        known = [field.name for field in fields(cls) if field.name not in PLACE]
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
        return mechanism, self if self.compliance is None else replace(self, compliance=self.compliance.of(arm))

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
