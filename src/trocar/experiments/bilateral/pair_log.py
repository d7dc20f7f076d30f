"""Log of a teleoperated pair: signals of both sides, figures from them, recordings of both arms."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.experiments.bilateral.teleoperated_pair import Pair

VECTORS = ("x_m", "v_m", "x_s", "v_s", "target", "hand", "F_m", "f_e", "felt")
SCALARS = ("W_m", "W_s", "E_in_m", "E_in_s", "E_out_m", "E_out_s", "asked", "following")
JOINTS = ("q_m", "dq_m", "tau_m", "q_s", "dq_s", "tau_s", "q_d")


class PairLog:
    """Signals of K steps of N pairs.

    Attributes:
        t: (K,) [s]. scale: (N,). x_m, v_m, x_s, v_s: (K, 3, N) displacement and velocity of the grip and of the slave's
            tip [m, m/s].
        target: (K, 3, N) set-point of the slave, in the slave's scale, as displacement [m].
        hand, F_m: (K, 3, N) force of the hand and of the motors on the grip [N].
        f_e, felt: (K, 3, N) force of the environment on the slave, true and from the force source [N].
        W_m, W_s: (K, N) energy margins [J]. E_in_m, E_out_m, E_in_s, E_out_s: (K, N) energies of the ports [J].
        asked: (K, N) commanded speed of the slave's fastest joint, in units of its move limit. following: (K, N) 1 or
            0.
        q_m, dq_m, tau_m, q_s, dq_s, tau_s, q_d: (K, n, N) joints of both arms and the slave's set-point.
    """

    def __init__(self, steps: int, dt: float, scale: Array, master: Mechanism, slave: Mechanism) -> None:
        N = len(scale)
        self.t, self.scale, self._mechanisms = dt * np.arange(steps), scale, (master, slave)
        for name in VECTORS:
            setattr(self, name, np.zeros((steps, 3, N)))
        for name in SCALARS:
            setattr(self, name, np.zeros((steps, N)))
        for name in JOINTS:
            setattr(self, name, np.zeros((steps, (master if name.endswith("_m") else slave).n, N)))

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

    def write(self, k: int, pair: Pair, hand: Array, F: Array, target: Array, felt: Array, following: Array) -> None:
        """Store the state of a pair at step k, before the arms move."""
        master, slave, passivity = pair.master, pair.slave, pair.passivity
        self.x_m[k], self.v_m[k] = master.x - master.x0, master.v
        self.x_s[k], self.v_s[k] = slave.x - slave.x0, slave.v
        self.target[k], self.hand[k], self.F_m[k] = self.scale * target, hand, F
        self.f_e[k], self.felt[k] = slave.arm.contact, felt
        self.W_m[k], self.W_s[k] = passivity.margins
        self.E_in_m[k], self.E_out_m[k] = passivity.master.E_in, passivity.master.E_out
        self.E_in_s[k], self.E_out_s[k] = passivity.slave.E_in, passivity.slave.E_out
        self.asked[k], self.following[k] = slave.asked, following
        self.q_m[k], self.dq_m[k], self.q_s[k], self.dq_s[k] = master.arm.q, master.arm.dq, slave.arm.q, slave.arm.dq
        self.q_d[k] = slave.q_d

    def cell(self, index: int) -> PairLog:
        """The log of one cell, N = 1."""
        found = copy(self)
        found.scale = self.scale[index : index + 1]
        for name in (*VECTORS, *SCALARS, *JOINTS):
            setattr(found, name, getattr(self, name)[..., index : index + 1].copy())
        return found

    def write_efforts(self, k: int, tau_m: Array, tau_s: Array) -> None:
        """Store the efforts of step k."""
        self.tau_m[k], self.tau_s[k] = tau_m, tau_s

    # -- figures ------------------------------------------------------------------------------------------------------

    def oscillation(self, last: float = 1.0) -> Array:
        """Peak-to-peak motion (N,) of the grip along z over the last seconds [m]."""
        return np.asarray(np.ptp(self.x_m[-round(last / self._dt) :, 2], axis=0))

    def following_error(self) -> Array:
        """RMS distance (N,) of the slave from s times the master [m]."""
        off = self.x_s - self.scale * self.x_m
        return np.asarray(np.sqrt(np.mean((off**2).sum(axis=1), axis=0)))

    def offset(self, at: float) -> Array:
        """Distance (N,) of the slave from s times the master, along z, at a time [m]; positive above it."""
        k = min(round(at / self._dt), len(self.t) - 1)
        return np.asarray(self.x_s[k, 2] - self.scale * self.x_m[k, 2])

    def force_error(self) -> Array:
        """RMS (N,) of the hand's force minus that of the slave on its environment [N], which masks the contact."""
        return np.asarray(np.sqrt(np.mean(((self.hand + self.f_e) ** 2).sum(axis=1), axis=0)))

    def least_margin(self) -> Array:
        """Smallest energy margin (N,) of both ports [J]."""
        return np.asarray(np.minimum(self.W_m.min(axis=0), self.W_s.min(axis=0)))

    def net_energy(self) -> Array:
        """Energy (K, N) that entered the channel at both ports minus the energy that left it [J]."""
        return self.E_in_m - self.E_out_m + self.E_in_s - self.E_out_s

    @property
    def _dt(self) -> float:
        return float(self.t[1] - self.t[0])

    # -- recordings ---------------------------------------------------------------------------------------------------

    def recordings(self, cell: int = 0) -> tuple[Recording, Recording]:
        """Motion of the master and of the slave of one cell, with forces, energies and set-points as channels."""
        found = []
        for side, mechanism, vectors in (
            ("m", self._mechanisms[0], {"tip": "x_m", "hand_force": "hand", "reflected_force": "F_m"}),
            (
                "s",
                self._mechanisms[1],
                {"tip": "x_s", "tip_target": "target", "contact_force": "f_e", "felt_force": "felt"},
            ),
        ):
            q, dq, tau = (getattr(self, f"{name}_{side}")[..., cell] for name in ("q", "dq", "tau"))
            ddq = np.gradient(dq, self._dt, axis=0)
            extra = {name: getattr(self, field)[..., cell] for name, field in vectors.items()}
            extra |= {"energy_margin": getattr(self, f"W_{side}")[:, cell], "following": self.following[:, cell]}
            units = {name: "m" if name.startswith("tip") else "N" for name in vectors} | {"energy_margin": "J"}
            arm = mechanism.arm
            found.append(
                Recording(
                    t=self.t,
                    q=q,
                    dq=dq,
                    ddq=ddq,
                    tau=tau + mechanism.effort_bias,
                    joints=arm.joint_names,
                    joint_units=arm.joint_units,
                    extra=extra | {"applied_tau": tau},
                    extra_units=units,
                    commands={"q": self.q_d[..., cell]} if side == "s" else {},
                    provenance={"arm": arm.name, "teleoperation": "master" if side == "m" else "slave"},
                )
            )
        return found[0], found[1]

    def save(self, folder: Path, name: str = "teleoperation", cell: int = 0) -> list[Path]:
        """Write NAME-master.npz and NAME-slave.npz; `tr.load_recording` reads them."""
        return [
            recording.save(folder / f"{name}-{side}.npz")
            for side, recording in zip(("master", "slave"), self.recordings(cell), strict=True)
        ]
