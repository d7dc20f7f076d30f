"""Arms in periodic motion under the dVRK's PID, with friction."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import trocar as tr
from tools.soak import resumable
from tools.soak.energy_meter import EnergyMeter
from tools.soak.process_memory import process_memory
from tools.soak.resumable import Resumable, mechanical_energy
from trocar.arms import ARMS
from trocar.control import JointPID, Setpoint, State, sinusoid
from trocar.simulation import Scene, SimulatedArm
from trocar.spatial import Array

TIMESTEP, LOOKS = 1e-3, 100  # [s], samples per period
AMPLITUDE, AMPLITUDE_ON_CART = 0.1, 0.03  # fraction of a joint's range; arms on a cart are close to each other
AGREEMENT = 1e-9  # allowed difference of two computations of friction [N m, N]


class PeriodicMotion(Resumable):
    """All arms of a scene, or one arm alone, on sinusoids that repeat after a period."""

    columns = ("period", "energy_error", "work", "loop", "rcm", "clock", "tracking", "memory_mb", "seconds")
    shown: ClassVar[Mapping[str, str]] = {
        "energy_error": "energy error / work",
        "loop": "loop gap [m]",
        "rcm": "distance from the RCM [m]",
        "memory_mb": "memory [MB]",
    }
    about = "periodic motion with friction"

    def __init__(self, subject: str, folder: Path) -> None:
        super().__init__(subject, folder / f"{subject}.soak")
        alone = subject in ARMS
        self.scene = (
            tr.Simulator(subject, timestep=TIMESTEP).scene if alone else tr.load_scene(subject, timestep=TIMESTEP)
        )
        self.law = PeriodicLaw(self.scene, alone)
        self.scene.reset(*self.law.start)
        self.steps = round(resumable.PERIOD / TIMESTEP)
        self.meter = EnergyMeter(self.scene, self.steps // LOOKS)
        self.resume()

    def period(self, k: int) -> tuple[float, ...]:
        scene, law, meter, arms = self.scene, self.law, self.meter, self.scene.arms.values()
        began, energy, loop, rcm, tracking = time.perf_counter(), self._energy(), 0.0, 0.0, 0.0
        every = self.steps // LOOKS
        meter.reset()
        for i in range(self.steps):
            scene.step(law.efforts(i))
            meter.add()
            if (i + 1) % every == 0:
                if (off := meter.disagreement()) > AGREEMENT:
                    raise SystemExit(f"{self.subject}: friction_effort is off by {off:.3g} N m")
                meter.read()
                loop = max(loop, *(arm.loop_error() for arm in arms))
                rcm = max(rcm, *(arm.rcm_error() if arm.arm.has_rcm else 0.0 for arm in arms))
                tracking = max(tracking, law.tracking_error((i + 1) % self.steps))
                if touching := scene.touching():
                    raise SystemExit(f"{self.subject}: {touching[0]}")
        error = (meter.work - meter.lost - (self._energy() - energy)) / meter.work
        clock = scene.time - (k + 1) * resumable.PERIOD
        seconds = time.perf_counter() - began
        return (float(k), error, meter.work, loop, rcm, clock, tracking, process_memory(), seconds)

    def _energy(self) -> float:
        """Kinetic and potential energy of all arms [J]."""
        return sum(mechanical_energy(arm) for arm in self.scene.arms.values())


class PeriodicLaw:
    """The PID of every arm about a periodic motion, as one linear law: tau = table(t) - kp D qpos - kd D qvel.

    Gains come from the controllers themselves, which are linear without an integral.

    Args:
        alone: there is only one arm, which may move with the larger amplitude.

    Attributes: start: joints and rates of every arm at time 0, by name.
    """

    def __init__(self, scene: Scene, alone: bool) -> None:
        self._arms = scene.arms
        motion = {name: _motion(arm, alone) for name, arm in scene.arms.items()}
        first = {name: at(0.0) for name, at in motion.items()}
        self.start = {name: s.q for name, s in first.items()}, {name: s.dq for name, s in first.items()}
        count, n, model = round(resumable.PERIOD / TIMESTEP), sum(arm.n for arm in scene.arms.values()), scene.model
        self._qpos, self._qvel = scene.data.qpos, scene.data.qvel
        self._kp, self._kd = np.zeros((n, model.nq)), np.zeros((n, model.nv))
        self._table, self._tau, self._q = np.empty((count, n)), np.empty(n), np.empty((count, n))
        self._efforts: dict[str, Array] = {}
        end = 0
        for name, stepped in scene.stepped.items():
            rows, end = slice(end, end + stepped.arm.n), end + stepped.arm.n
            kp, kd = _gains(stepped.arm)
            self._kp[rows, stepped.q], self._kd[rows, stepped.v] = kp @ stepped.D, kd @ stepped.D
            for i in range(count):
                setpoint = motion[name](i * TIMESTEP)
                self._table[i, rows], self._q[i, rows] = kp @ setpoint.q + kd @ setpoint.dq, setpoint.q
            self._efforts[name] = self._tau[rows]

    def efforts(self, i: int) -> dict[str, Array]:
        """Efforts (n,) by arm [N m, N] at step i of a period; the next call overwrites them."""
        tau = self._tau
        np.subtract(self._table[i], self._kp.dot(self._qpos), out=tau)
        tau -= self._kd.dot(self._qvel)
        return self._efforts

    def tracking_error(self, i: int) -> float:
        """Largest distance of a joint from its reference at step i [rad, m]."""
        return float(np.abs(np.concatenate([arm.q for arm in self._arms.values()]) - self._q[i]).max())


def _gains(arm: tr.Arm) -> tuple[Array, Array]:
    """Gains (n, n) of the arm's PID in the joints."""
    pid, zero = JointPID(arm), np.zeros(arm.n)
    if pid.ki.any():
        raise SystemExit(f"the PID of {arm.name} has an integral, which this law does not support")
    kp = [pid(State(0.0, zero, zero), Setpoint(unit)) for unit in np.eye(arm.n)]
    kd = [pid(State(0.0, zero, zero), Setpoint(zero, unit)) for unit in np.eye(arm.n)]
    return np.array(kp).T, np.array(kd).T


def _motion(simulated: SimulatedArm, alone: bool) -> Any:
    """Sinusoids of every joint about a centre, at integer multiples of the base frequency.

    The centre is half way between home and the middle of the range, or the arm's position in the scene.
    """
    arm = simulated.arm
    centre = 0.5 * np.array(arm.home) + 0.25 * (arm.lower + arm.upper) if alone else simulated.q
    if alone and "insertion" in arm.joint_names:
        centre[arm.joint_names.index("insertion")] = 0.13
    size = (AMPLITUDE if alone else AMPLITUDE_ON_CART) * (arm.upper - arm.lower)
    return sinusoid(centre, size, (1 + np.arange(arm.n) % 3) / resumable.PERIOD)
