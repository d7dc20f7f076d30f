"""Faults to inject into a simulated arm: loss of motor effort, encoder bias, broken cable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.simulation.stepped_arm import SteppedArm


AT_REST = (0.0, 0.0, False)  # memory of a motor on its cable


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault that begins at a time `at` [s] of the simulation."""

    at: float = 0.0


@dataclass(frozen=True, kw_only=True)
class MotorLoss(Fault):
    """The motor delivers only the fraction `remaining` of its effort; the amplifier reports the full effort."""

    motor: str
    remaining: float = 0.0


@dataclass(frozen=True, kw_only=True)
class EncoderBias(Fault):
    """The encoder of a motor has a `bias` [rad, m of the actuator]: lost counts or a wrong preload.

    Measured speeds stay correct: the dVRK derives them from the time between counts.
    """

    motor: str
    bias: float


@dataclass(frozen=True, kw_only=True)
class CableBreak(Fault):
    """A cable breaks: that of the counterweight, or the one between a motor and its joint.

    The motor then turns freely with its encoder, and the joint moves under its load.

    Attributes:
        cable: "counterweight" or the name of a motor.
        rotor: inertia at the actuator [kg m^2, kg]. Default: that of the parameter set, which is known for an
            instrument's discs only.
    """

    cable: str
    rotor: float | None = None


class FaultInjection:
    """Faults of one arm.

    Attributes:
        reported: motor efforts (n,) of the step just taken as the amplifiers report them [N m, N]; `ctrl` of the arm
            holds the efforts that the motors delivered.
    """

    def __init__(self, stepped: SteppedArm, faults: tuple[Fault, ...]) -> None:
        self._stepped, self._arm, self._faults = stepped, stepped.arm, faults
        self._guides: dict[int, int] = {}  # joints that a fault limited, and their previous setting
        self.reported = np.zeros(self._arm.n)
        for fault in faults:
            self._check(fault)
        breaks = [fault for fault in faults if isinstance(fault, CableBreak) and fault.cable != "counterweight"]
        self._rotors = {fault: _Rotor(stepped, fault) for fault in breaks}

    def reset(self) -> None:
        """Undo the changes of the faults to the model, so that they can occur again."""
        model = self._stepped.engine.model
        for joint, limited in self._guides.items():
            model.jnt_limited[joint] = limited
        self._guides.clear()
        self.reported[:] = 0.0
        for rotor in self._rotors.values():
            rotor.memory = AT_REST

    def deliver(self, ctrl: Array) -> None:
        """Replace the commanded motor efforts by the delivered ones, in place."""
        self.reported[:] = ctrl
        stepped = self._stepped
        for fault in self._active():
            if isinstance(fault, MotorLoss):
                ctrl[self._motor(fault.motor)] *= fault.remaining
            elif isinstance(fault, CableBreak) and fault in self._rotors:
                i = self._motor(fault.cable)
                self._rotors[fault].step(
                    self.reported[i], stepped.D_measured @ stepped.qpos, stepped.D_measured @ stepped.qvel
                )
                ctrl[i] = 0.0
            elif isinstance(fault, CableBreak):
                self._drop_counterweight()

    def measured(self, values: Array, *, velocity: bool) -> Array:
        """Joint positions or velocities (n,) as the encoders report them, from those at the motors [rad, m; /s]."""
        active = self._active()
        if not active:
            return values
        motor = np.linalg.solve(self._arm.motors.coupling, values)
        for fault in active:
            if isinstance(fault, EncoderBias) and not velocity:
                motor[self._motor(fault.motor)] += fault.bias
            elif isinstance(fault, CableBreak) and fault in self._rotors:
                s, ds, free = self._rotors[fault].memory
                if free:
                    motor[self._motor(fault.cable)] = ds if velocity else s
        return self._arm.motors.coupling @ motor

    @property
    def memory(self) -> list[tuple[float, float, bool]]:
        """State of the motors that broke loose, for a snapshot. Assign it to restore the snapshot."""
        return [rotor.memory for rotor in self._rotors.values()]

    @memory.setter
    def memory(self, memory: list[tuple[float, float, bool]]) -> None:
        self.reset()
        for rotor, state in zip(self._rotors.values(), memory, strict=True):
            rotor.memory = state

    def _drop_counterweight(self) -> None:
        """Cut its cable; the counterweight falls to the end of its guide, which spans its normal travel."""
        model, name = self._stepped.engine.model, str(self._arm.counterweight)
        (joint, ratio), *_ = self._arm.body(name).coupling.items()
        limits = self._arm.joints[self._arm.joint_names.index(joint)]
        self._stepped.engine.data.eq_active[self._stepped.equality(name)] = 0
        j = self._stepped.joint(name)
        self._guides.setdefault(j, int(model.jnt_limited[j]))
        model.jnt_limited[j], model.jnt_range[j] = 1, sorted((ratio * limits.lower, ratio * limits.upper))

    def _active(self) -> list[Fault]:
        time = self._stepped.engine.time
        return [fault for fault in self._faults if time >= fault.at - 1e-9]

    def _motor(self, name: str) -> int:
        return self._arm.motors.names.index(name)

    def _check(self, fault: Fault) -> None:
        if not isinstance(fault, MotorLoss | EncoderBias | CableBreak):
            raise TrocarError(f"a fault must be a MotorLoss, an EncoderBias or a CableBreak, got {fault!r}")
        if not np.isfinite(fault.at):
            raise TrocarError(f"the time of a fault must be finite [s], got {fault.at!r}")
        if isinstance(fault, CableBreak) and fault.cable == "counterweight":
            options = self._stepped.options
            if self._arm.counterweight is None or options.transmission != "rigid":
                raise TrocarError(f"this simulation of {self._arm.name} has no counterweight on a rigid cable")
            return
        name = fault.cable if isinstance(fault, CableBreak) else fault.motor
        check_known(f"motor of {self._arm.name}", self._arm.motors.names, name)
        if isinstance(fault, MotorLoss) and not 0.0 <= fault.remaining < 1.0:
            raise TrocarError(f"the remaining effort of a lost motor must be in [0, 1), got {fault.remaining!r}")
        if isinstance(fault, EncoderBias) and not (np.isfinite(fault.bias) and fault.bias != 0.0):
            raise TrocarError(f"the bias of an encoder must be finite and not 0, got {fault.bias!r}")


class _Rotor:
    """A motor that has lost its load: Im s'' = tau - Fv s' - Fc sign(s'). `memory`: s, s', True once it is loose."""

    def __init__(self, stepped: SteppedArm, fault: CableBreak) -> None:
        drives = [d for d in stepped.parameters.drives if dict(d.motors) == {fault.cable: 1.0}]
        known = next((d.Im for d in drives if d.Im > 0), None)
        Im = known if fault.rotor is None else fault.rotor
        if Im is None or not Im > 0:
            raise TrocarError(
                f"the rotor inertia of motor {fault.cable} is not known apart from its link; give rotor= [kg m^2, kg]"
            )
        self.Im, self.dt = float(Im), float(stepped.engine.model.opt.timestep)
        self.Fv, self.Fc = (
            sum(getattr(d, term) for d in drives) if stepped.options.friction else 0.0 for term in ("Fv", "Fc")
        )
        self.row = np.linalg.inv(stepped.arm.motors.coupling)[stepped.arm.motors.names.index(fault.cable)]
        self.memory = AT_REST

    def step(self, tau: float, q: Array, dq: Array) -> None:
        """Advance one timestep under an effort; the first step starts from the state of the joints."""
        s, ds, free = self.memory
        if not free:
            s, ds = float(self.row @ q), float(self.row @ dq)
        speed = ds + self.dt * tau / self.Im
        # implicit friction: it slows the motor down but does not reverse it
        slowed = np.sign(speed) * max(abs(speed) - self.dt * self.Fc / self.Im, 0.0)
        ds = float(slowed / (1.0 + self.dt * self.Fv / self.Im))
        self.memory = (s + self.dt * ds, ds, True)
