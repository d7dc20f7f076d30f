"""Sources of the force reported by the slave: ground truth, a sensor, an observer, raw efforts."""

from __future__ import annotations

import numpy as np

from trocar.control.observers import MomentumObserver
from trocar.experiments.bilateral.arms import Slave
from trocar.spatial import Array


class ContactTruth:
    """True force of the environment on the tip, from the simulation."""

    name = "contact"

    def start(self, slave: Slave, dt: float) -> None:
        """Start a run with this slave."""
        self._slave, self._dt = slave, dt

    def __call__(self) -> Array:
        """Force (3, N) of the environment on the tip, base axes [N]."""
        return self._slave.arm.contact


class TipSensor(ContactTruth):
    """A sensor at the tip: first-order low-pass and white noise.

    Args:
        cutoff: [Hz]. noise: deviation of a sample [N]. seed: of the noise.
    """

    name = "sensor"

    def __init__(self, cutoff: float = 50.0, noise: float = 0.0, seed: int = 0) -> None:
        self.cutoff, self.noise, self.seed = cutoff, noise, seed

    def start(self, slave: Slave, dt: float) -> None:
        super().start(slave, dt)
        self._rng, self._f = np.random.default_rng(self.seed), np.zeros_like(slave.x)
        self._share = 1.0 - np.exp(-2.0 * np.pi * self.cutoff * dt)

    def __call__(self) -> Array:
        self._f = self._f + self._share * (self._slave.arm.contact - self._f)
        return self._f + self.noise * self._rng.normal(size=self._f.shape) if self.noise else self._f


class MeasuredEffort(ContactTruth):
    """The dVRK's measured_cf with opposite sign: f = -pinv(J') tau, including gravity, friction and inertia."""

    name = "measured_cf"

    def __call__(self) -> Array:
        slave = self._slave
        if slave.tau is None:  # before the first step
            return np.zeros_like(slave.x)
        return self._force(slave.tau + slave.arm.mechanism.effort_bias[:, None])

    def _force(self, tau: Array) -> Array:
        """Force (3, N) from the measured efforts (n, N)."""
        J = self._slave.J
        return -np.einsum("Nij,jN->iN", np.linalg.pinv(J.transpose(2, 1, 0)), tau[: J.shape[1]])[:3]


class Observed(MeasuredEffort):
    """Residual r of a momentum observer on the first three joints: f = J3^-T r.

    The observer has the friction model of the arm. At rest, Coulomb friction hides part of the force.

    Args:
        bandwidth: [rad/s].
    """

    name = "observer"

    def __init__(self, bandwidth: float = 60.0) -> None:
        self.bandwidth = bandwidth

    def start(self, slave: Slave, dt: float) -> None:
        super().start(slave, dt)
        arm = slave.arm
        self._observers = [MomentumObserver(arm.mechanism, self.bandwidth) for _ in range(arm.N)]
        for i, observer in enumerate(self._observers):
            observer.reset(arm.q[:, i], arm.dq[:, i])

    def _force(self, tau: Array) -> Array:
        slave, arm = self._slave, self._slave.arm
        r = np.stack([o.update(arm.q[:, i], arm.dq[:, i], tau[:, i], self._dt) for i, o in enumerate(self._observers)])
        return np.linalg.solve(slave.J[:3, :3].transpose(2, 1, 0), r[:, :3, None])[..., 0].T


FORCE_SOURCES = {source.name: source for source in (ContactTruth, TipSensor, Observed, MeasuredEffort)}
