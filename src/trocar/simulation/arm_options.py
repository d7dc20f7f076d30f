"""What is chosen of an arm before it is simulated: mechanism, parameters, friction, transmission, port."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco

from trocar.arms import Arm
from trocar.arms.parameters import Parameters
from trocar.errors import TrocarError, UnknownName
from trocar.mechanics.mechanism import load_set
from trocar.simulation.forces.elastic_drives import Compliance
from trocar.simulation.forces.port import Port, add_seal
from trocar.simulation.modelling.arm_model import Cable, build
from trocar.spatial import Array


@dataclass(frozen=True, kw_only=True)
class ArmSpec:
    """One arm to be simulated; see `Simulator` for the meaning of the options."""

    arm: Arm
    parameters: Parameters
    counterweight: bool
    friction: bool
    transmission: str | Cable
    compliance: Compliance | None
    port: Port | None
    limits: bool
    motor_limits: bool

    @classmethod
    def load(
        cls,
        name: str | Arm,
        parameters: str | Path | Parameters | None = None,
        *,
        counterweight: bool = True,
        friction: bool = True,
        transmission: str | Cable = "rigid",
        compliance: Compliance | None = None,
        port: Port | None = None,
        limits: bool = True,
        motor_limits: bool = False,
        instrument: str | Path | None = None,
        rotor_inertia: float | None = None,
        endoscope: str | float | None = None,
        added_mass: float = 0.0,
    ) -> ArmSpec:
        """By name of the arm, or of an `Arm` of your own; refuses what that arm does not have."""
        if transmission not in ("rigid", "mirrored") and not isinstance(transmission, Cable):
            raise UnknownName("transmission", transmission, ("rigid", "mirrored", "Cable(stiffness=, damping=)"))
        arm, found = load_set(name, parameters, instrument, rotor_inertia, endoscope, added_mass)
        if found is None:
            raise TrocarError(f"{arm.name} has no dynamic parameters to simulate yet")
        if not counterweight and arm.counterweight is None:
            raise TrocarError(f"{arm.name} has no counterweight; leave counterweight out")
        if transmission != "rigid" and arm.counterweight is None:
            raise TrocarError(f"{arm.name} has no counterweight for transmission={transmission!r}")
        if port is not None and not arm.has_rcm:
            raise TrocarError(f"{arm.name} has no remote centre of motion for a port to be near")
        return cls(
            arm=arm,
            parameters=found,
            counterweight=counterweight,
            friction=friction,
            transmission=transmission,
            compliance=None if compliance is None else compliance.of(arm),
            port=port,
            limits=limits,
            motor_limits=motor_limits,
        )

    @property
    def motors(self) -> int:
        """Joints in the model beside those of the tree: the motors of elastic drives."""
        return 0 if self.compliance is None else len(self.compliance.deflections)

    def build(self, gravity: Array, timestep: float, accuracy: str) -> mujoco.MjSpec:
        """The model of the arm alone, its base being the world; gravity (3,) [m/s^2]."""
        spec = build(
            self.arm,
            self.parameters,
            gravity=gravity,
            timestep=timestep,
            accuracy=accuracy,
            friction=self.friction,
            limits=self.limits,
            counterweight=self.counterweight,
            transmission=self.transmission,
            compliance=self.compliance,
        )
        if self.port is not None:
            add_seal(spec, self.arm, self.port)
        return spec
