"""Log of a teleoperated pair: signals of both sides, figures from them, recordings of both arms."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class PairLog:
    """Signals of K steps of N pairs.

    Attributes:
        t: (K,) [s]. mechanisms: of master and slave. scale: (N,).
        x_m, v_m, x_s, v_s: (K, 3, N) displacement and velocity of the grip and of the slave's tip [m, m/s].
        target: (K, 3, N) set-point of the slave, in the slave's scale, as displacement [m].
        hand, F_m: (K, 3, N) force of the hand and of the motors on the grip [N].
        f_e, felt: (K, 3, N) force of the environment on the slave, true and from the force source [N].
        W_m, W_s: (K, N) energy margins [J]. E_in_m, E_out_m, E_in_s, E_out_s: (K, N) energies of the ports [J].
        asked: (K, N) commanded speed of the slave's fastest joint, in units of its move limit. following: (K, N) 1 or
            0.
        q_m, dq_m, tau_m, q_s, dq_s, tau_s, q_d: (K, n, N) joints of both arms and the slave's set-point.
    """

    t: Array
    mechanisms: tuple[Mechanism, Mechanism]
    scale: Array
    x_m: Array
    v_m: Array
    x_s: Array
    v_s: Array
    target: Array
    hand: Array
    F_m: Array
    f_e: Array
    felt: Array
    W_m: Array
    W_s: Array
    E_in_m: Array
    E_in_s: Array
    E_out_m: Array
    E_out_s: Array
    asked: Array
    following: Array
    q_m: Array
    dq_m: Array
    tau_m: Array
    q_s: Array
    dq_s: Array
    tau_s: Array
    q_d: Array

    def cell(self, index: int) -> PairLog:
        """The log of one cell, N = 1."""
        names = [field.name for field in fields(self)[2:]]  # all but t and mechanisms
        return replace(self, **{name: getattr(self, name)[..., index : index + 1].copy() for name in names})

    # -- figures ------------------------------------------------------------------------------------------------------

    def oscillation(self, last: float = 1.0) -> Array:
        """Peak-to-peak motion (N,) of the grip along z over the last seconds [m]."""
        return np.asarray(np.ptp(self.x_m[-round(last / self._dt) :, 2], axis=0))

    def following_error(self) -> Array:
        """RMS distance (N,) of the slave from s times the master [m]."""
        return _rms(self.x_s - self.scale * self.x_m)

    def force_error(self) -> Array:
        """RMS (N,) of the hand's force minus that of the slave on its environment [N], which masks the contact."""
        return _rms(self.hand + self.f_e)

    def offset(self, at: float) -> Array:
        """Distance (N,) of the slave from s times the master, along z, at a time [m]; positive above it."""
        k = min(round(at / self._dt), len(self.t) - 1)
        return np.asarray(self.x_s[k, 2] - self.scale * self.x_m[k, 2])

    def least_margin(self) -> Array:
        """Smallest energy margin (N,) of both ports [J]."""
        return np.asarray(np.minimum(self.W_m.min(axis=0), self.W_s.min(axis=0)))

    @property
    def _dt(self) -> float:
        return float(self.t[1] - self.t[0])

    # -- recordings ---------------------------------------------------------------------------------------------------

    def recordings(self, cell: int = 0) -> tuple[Recording, Recording]:
        """Motion of the master and of the slave of one cell, with forces, energies and set-points as channels."""
        log = self.cell(cell)
        master = {"tip": log.x_m, "hand_force": log.hand, "reflected_force": log.F_m}
        slave = {"tip": log.x_s, "tip_target": log.target, "contact_force": log.f_e, "felt_force": log.felt}
        return (
            log._recording("master", self.mechanisms[0], (log.q_m, log.dq_m, log.tau_m), master, log.W_m),
            log._recording("slave", self.mechanisms[1], (log.q_s, log.dq_s, log.tau_s), slave, log.W_s, log.q_d),
        )

    def _recording(
        self,
        side: str,
        mechanism: Mechanism,
        motion: tuple[Array, Array, Array],
        vectors: dict[str, Array],
        W: Array,
        q_d: Array | None = None,
    ) -> Recording:
        q, dq, tau = (signal[..., 0] for signal in motion)
        arm = mechanism.arm
        scalars = {"energy_margin": W[:, 0], "following": self.following[:, 0], "applied_tau": tau}
        return Recording(
            t=self.t,
            q=q,
            dq=dq,
            ddq=np.gradient(dq, self._dt, axis=0),
            tau=tau + mechanism.effort_bias,
            joints=arm.joint_names,
            joint_units=arm.joint_units,
            extra={name: signal[..., 0] for name, signal in vectors.items()} | scalars,
            extra_units={name: "m" if name.startswith("tip") else "N" for name in vectors} | {"energy_margin": "J"},
            commands={} if q_d is None else {"q": q_d[..., 0]},
            provenance={"arm": arm.name, "teleoperation": side},
        )

    def save(self, folder: Path, name: str = "teleoperation", cell: int = 0) -> list[Path]:
        """Write NAME-master.npz and NAME-slave.npz; `tr.load_recording` reads them."""
        return [
            recording.save(folder / f"{name}-{side}.npz")
            for side, recording in zip(("master", "slave"), self.recordings(cell), strict=True)
        ]


def _rms(x: Array) -> Array:
    """RMS (N,) of vectors (K, 3, N)."""
    return np.asarray(np.sqrt(np.mean((x**2).sum(axis=1), axis=0)))
