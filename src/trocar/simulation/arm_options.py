"""Options of a simulated arm, and the arm and parameters that they lead to."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from trocar.arms import Arm
from trocar.arms.parameters import Parameters
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.mechanics.loading import load_set
from trocar.simulation.forces.elastic_drives import Compliance
from trocar.simulation.forces.port import Port
from trocar.simulation.modelling.elastic_mount import ElasticMount


@dataclass(frozen=True, kw_only=True)
class Cable:
    """Elastic transmission of the counterweight: stiffness [N/m] and damping [N s/m] of its cable."""

    stiffness: float
    damping: float


@dataclass(frozen=True, kw_only=True)
class ArmOptions:
    """Options of one simulated arm.

    Attributes:
        parameters: a physically consistent parameter set, its name, or a parameter file. Default: the arm's best set.
        counterweight: False removes only the mass and inertia of the counterweight.
        friction: False removes viscous, Coulomb and Dahl friction.
        transmission: link between counterweight and insertion: "rigid", an elastic `Cable`, or "mirrored" (a motor
            moves the counterweight, and its force reaches the tool 10 ms later, as in Ferro et al. 2022).
        compliance: elastic drives of yaw and pitch with separate motors; `measured_q` then reads the motors.
        elastic_mount: springs between the fixed base and the arm. Default: a rigid mount.
        port: body wall and seal around the instrument.
        limits: enforce the joint limits. motor_limits: clamp efforts to the motors' limits.
        instrument, rotor_inertia, endoscope, added_mass: as for `load_mechanism`.
    """

    parameters: str | Path | Parameters | None = None
    counterweight: bool = True
    friction: bool = True
    transmission: str | Cable = "rigid"
    compliance: Compliance | None = None
    elastic_mount: ElasticMount | None = None
    port: Port | None = None
    limits: bool = True
    motor_limits: bool = False
    instrument: str | Path | None = None
    rotor_inertia: float | None = None
    endoscope: str | float | None = None
    added_mass: float = 0.0

    def __post_init__(self) -> None:
        if self.transmission not in ("rigid", "mirrored") and not isinstance(self.transmission, Cable):
            raise UnknownName("transmission", self.transmission, ("rigid", "mirrored", "Cable(stiffness=, damping=)"))

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Options by name; an unknown name raises an error that lists the known ones."""
        known = [field.name for field in fields(cls)]
        check_known("option of a simulated arm", known, *options)
        return cls(**options)

    def load(self, name: str | Arm) -> LoadedArm:
        """The named or custom arm with its parameters; raises if the arm does not support an option."""
        arm, parameters = load_set(
            name, self.parameters, self.instrument, self.rotor_inertia, self.endoscope, self.added_mass
        )
        if parameters is None:
            raise TrocarError(f"{arm.name} has no dynamic parameters to simulate yet")
        if not self.counterweight and arm.counterweight is None:
            raise TrocarError(f"{arm.name} has no counterweight; omit counterweight")
        if self.transmission != "rigid" and arm.counterweight is None:
            raise TrocarError(f"{arm.name} has no counterweight for transmission={self.transmission!r}")
        if self.port is not None and not arm.has_rcm:
            raise TrocarError(f"{arm.name} has no remote centre of motion, which port needs; omit port")
        compliance = None if self.compliance is None else self.compliance.of(arm)
        return LoadedArm(arm, parameters, replace(self, compliance=compliance))


@dataclass(frozen=True)
class LoadedArm:
    """An arm ready to be simulated: its data, its dynamic parameters and the options it was loaded with."""

    arm: Arm
    parameters: Parameters
    options: ArmOptions

    @property
    def elastic_motors(self) -> int:
        """Number of joints in the model besides those of the tree: the motors of elastic drives."""
        return 0 if self.options.compliance is None else len(self.options.compliance.deflections)
