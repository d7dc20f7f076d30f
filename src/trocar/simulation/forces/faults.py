"""Faults to inject into a simulation: a motor that gives no effort, an encoder that is off, a cable that breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError, UnknownName
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong at a time.

    Attributes:
        at: [s], in simulated time.
    """

    at: float = 0.0


@dataclass(frozen=True, kw_only=True)
class MotorLoss(Fault):
    """The motor gives only the fraction `remaining` of its effort; nobody is told."""

    motor: str
    remaining: float = 0.0


@dataclass(frozen=True, kw_only=True)
class EncoderBias(Fault):
    """The encoder of a motor is off by `bias` [rad, m of the actuator]: counts lost, or a wrong preload.

    Measured speeds are right: the dVRK takes them from the time between counts.
    """

    motor: str
    bias: float


@dataclass(frozen=True, kw_only=True)
class CableBreak(Fault):
    """A cable breaks: that of the counterweight, or between a motor and what it moves.

    Then the motor turns freely, encoder and all, and the joint goes where its load takes it.

    Attributes:
        cable: "counterweight" or the name of a motor. rotor: inertia at the actuator [kg m^2, kg]; None for the one of
            the parameter set, which knows those of an instrument's discs only.
    """

    cable: str
    rotor: float | None = None


class FaultySimulator(Simulator):
    """A `Simulator` in which faults happen; it takes the same arguments, and `faults`.

    `measured_q`, `measured_dq` and `tau` are what encoders and amplifiers report, `q`, `dq` and `delivered` the truth.
    """

    def __init__(self, name: str, *args: Any, faults: tuple[Fault, ...] = (), **options: Any) -> None:
        self.faults: tuple[Fault, ...] = ()
        self._reported: Array | None = None
        self._guides: dict[int, int] = {}  # joints that a fault limited, and whether they were
        super().__init__(name, *args, **options)
        self.inject(*faults)

    def inject(self, *faults: Fault) -> None:
        """These faults, instead of any others."""
        for fault in faults:
            self._check(fault)
        self.faults = faults
        self._rotors = {fault: _Rotor(self, fault) for fault in faults if self._frees_motor(fault)}

    def reset(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        super().reset(q, dq)
        self._reported = None
        for j, limited in self._guides.items():
            self.model.jnt_limited[j] = limited
        if self.faults:
            self.inject(*self.faults)

    @property
    def tau(self) -> Array:
        """Joint efforts (n,) of the step just taken, as the amplifiers report them [N m, N]."""
        return super().tau if self._reported is None else self._joint_from_motor.dot(self._reported)

    @property
    def delivered(self) -> Array:
        """Joint efforts (n,) that acted in the step just taken [N m, N]."""
        return super().tau

    @property
    def measured_q(self) -> Array:
        return self._measured(super().measured_q, velocity=False)

    @property
    def measured_dq(self) -> Array:
        return self._measured(super().measured_dq, velocity=True)

    def step(self, tau: ArrayLike) -> None:
        wanted = self._motor_from_joint @ np.asarray(tau, dtype=float)
        if self.motor_limits is not None:
            wanted = np.clip(wanted, -self.motor_limits, self.motor_limits)
        delivered = wanted.copy()
        for fault in self._active():
            if isinstance(fault, MotorLoss):
                delivered[self._motor(fault.motor)] *= fault.remaining
            elif isinstance(fault, CableBreak) and fault in self._rotors:
                i = self._motor(fault.cable)
                self._rotors[fault].step(wanted[i], super().measured_q, super().measured_dq)
                delivered[i] = 0.0
            elif isinstance(fault, CableBreak):
                self._drop_counterweight()
        super().step(self._joint_from_motor @ delivered)
        self._reported = wanted

    def _drop_counterweight(self) -> None:
        """Cut its cable; it falls to the end of its guide, which is as long as the way it makes with the tool."""
        name = self.arm.counterweight
        (joint, ratio), *_ = self.arm.body(str(name)).coupling.items()
        limits = self.arm.joints[self.arm.joint_names.index(joint)]
        self.data.eq_active[self.model.equality(name).id] = 0
        j = self.model.joint(name).id
        self._guides.setdefault(j, int(self.model.jnt_limited[j]))
        self.model.jnt_limited[j], self.model.jnt_range[j] = 1, sorted((ratio * limits.lower, ratio * limits.upper))

    def _measured(self, values: Array, velocity: bool) -> Array:
        active = self._active()
        if not active:
            return values
        motor = np.linalg.solve(self.arm.motors.coupling, values)
        for fault in active:
            if isinstance(fault, EncoderBias) and not velocity:
                motor[self._motor(fault.motor)] += fault.bias
            elif isinstance(fault, CableBreak) and fault in self._rotors and self._rotors[fault].free:
                rotor = self._rotors[fault]
                motor[self._motor(fault.cable)] = rotor.ds if velocity else rotor.s
        return self.arm.motors.coupling @ motor

    def _active(self) -> list[Fault]:
        return [fault for fault in self.faults if self.time >= fault.at - 1e-9]

    def _motor(self, name: str) -> int:
        return self.arm.motors.names.index(name)

    def _frees_motor(self, fault: Fault) -> bool:
        return isinstance(fault, CableBreak) and fault.cable != "counterweight"

    def _check(self, fault: Fault) -> None:
        if not isinstance(fault, MotorLoss | EncoderBias | CableBreak):
            raise TrocarError(f"a fault is a MotorLoss, an EncoderBias or a CableBreak, got {fault!r}")
        if not np.isfinite(fault.at):
            raise TrocarError(f"a fault happens at a finite time [s], got {fault.at!r}")
        if isinstance(fault, CableBreak) and fault.cable == "counterweight":
            names = [self.model.equality(i).name for i in range(self.model.neq)]
            if self.arm.counterweight is None or self.arm.counterweight not in names:
                raise TrocarError(f"no counterweight hangs on a rigid cable in this simulation of {self.arm.name}")
            return
        name = fault.cable if isinstance(fault, CableBreak) else fault.motor
        if name not in self.arm.motors.names:
            raise UnknownName(f"motor of {self.arm.name}", name, self.arm.motors.names)
        if isinstance(fault, MotorLoss) and not 0.0 <= fault.remaining < 1.0:
            raise TrocarError(f"the effort that remains of a lost motor is in [0, 1), got {fault.remaining!r}")
        if isinstance(fault, EncoderBias) and not (np.isfinite(fault.bias) and fault.bias != 0.0):
            raise TrocarError(f"the bias of an encoder is a finite number other than 0, got {fault.bias!r}")


class _Rotor:
    """A motor that has lost its load: Im s'' = tau - Fv s' - Fc sign(s')."""

    def __init__(self, sim: FaultySimulator, fault: Fault) -> None:
        assert isinstance(fault, CableBreak)
        drives = [d for d in sim.parameters.drives if dict(d.motors) == {fault.cable: 1.0}]
        known = next((d.Im for d in drives if d.Im > 0), None)
        Im = known if fault.rotor is None else fault.rotor
        if Im is None or not Im > 0:
            raise TrocarError(
                f"the rotor inertia of motor {fault.cable} is not known apart from its link's: give rotor= [kg m^2, kg]"
            )
        self.Im, self.dt = float(Im), sim.timestep
        self.Fv, self.Fc = (sum(getattr(d, term) for d in drives) if sim.friction else 0.0 for term in ("Fv", "Fc"))
        self.row = np.linalg.inv(sim.arm.motors.coupling)[sim.arm.motors.names.index(fault.cable)]
        self.free = False
        self.s = self.ds = 0.0

    def step(self, tau: float, q: Array, dq: Array) -> None:
        """One timestep under an effort; it comes loose at the joints' state of its first."""
        if not self.free:
            self.s, self.ds, self.free = float(self.row @ q), float(self.row @ dq), True
        speed = self.ds + self.dt * tau / self.Im
        # friction, implicitly: it slows, and does not turn round
        slowed = np.sign(speed) * max(abs(speed) - self.dt * self.Fc / self.Im, 0.0)
        self.ds = float(slowed / (1.0 + self.dt * self.Fv / self.Im))
        self.s += self.dt * self.ds
