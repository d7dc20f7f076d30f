"""A master and a slave under bilateral control over a channel, with an operator; the log of their signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array
from trocar.teleoperation.channel import Channel
from trocar.teleoperation.coupling import Packet, Passivity, PositionForce, Scheme
from trocar_reproductions.bilateral.arms import ContactTruth, Master, Slave
from trocar_reproductions.bilateral.operator import Operator

ROWS = 13  # numbers of a packet
# Channels of the recordings of both arms, and the signals they hold.
CHANNELS = {
    "master": {"tip": "x_m", "hand_force": "hand", "reflected_force": "F_m"},
    "slave": {"tip": "x_s", "tip_target": "target", "contact_force": "f_e", "felt_force": "felt"},
}


class DelayLine:
    """One direction of the channel: the packets sent, and the packet in use at each step.

    Args:
        packets: (K, N) index of the packet in use at each step, -1 before the first arrives.
    """

    def __init__(self, packets: Array) -> None:
        self._packets = packets
        self._sent = np.zeros((*packets.shape[:1], ROWS, *packets.shape[1:]))
        self._cells = np.arange(packets.shape[1])
        same = packets == packets[:, :1]
        self._shared = same.all(axis=1)

    def send(self, k: int, packet: Packet) -> None:
        row = self._sent[k]
        row[0:3], row[3:6], row[6:9], row[9:12], row[12] = packet

    def receive(self, k: int) -> tuple[Packet, Array]:
        """The packet in use at step k, zeros before the first one, and a flag (N,) for a new packet.

        A used wave carries no more energy; positions, forces and energies are held.
        """
        index = self._packets[k]
        fresh = index > (self._packets[k - 1] if k else -1)
        if self._shared[k]:
            rows = self._sent[index[0]] if index[0] >= 0 else np.zeros_like(self._sent[0])
        else:
            rows = self._sent[np.maximum(index, 0), :, self._cells].T
            rows = np.where(index >= 0, rows, 0.0)
        return Packet(rows[0:3], rows[3:6], rows[6:9], rows[9:12] * fresh, rows[12]), fresh


class Engagement:
    """Monitor of one end of a line (N of them): `following` is False from an outage until the end of re-alignment.

    Without a new packet for longer than `timeout` the end disengages: the slave holds its set-point, the master's force
    is set to zero. After packets have arrived for `steady` without such a gap, new origins are set, as after clutching:
    displacements count from there, and nothing jumps.

    Args:
        timeout, steady: [s].

    Attributes:
        following: (N,) bool. outages: (N,) number of outages.
    """

    def __init__(self, N: int, dt: float, timeout: float = 0.03, steady: float = 0.1) -> None:
        self.dt, self.timeout, self.steady = dt, timeout, steady
        self.following, self.outages = np.ones(N, dtype=bool), np.zeros(N, dtype=int)
        self._silent, self._good, self._begun = np.zeros(N), np.zeros(N), np.zeros(N, dtype=bool)
        self._held, self._origin = np.zeros((3, N)), np.zeros((3, N))

    def update(self, fresh: Array, x: Array) -> Array:
        """Displacement (3, N) to follow, from the received x and the flag (N,) for a new packet."""
        self._begun |= fresh
        self._silent = np.where(fresh | ~self._begun, 0.0, self._silent + self.dt)
        gap = self._silent > self.timeout
        self.outages += gap & self.following
        self._good = np.where(gap | ~self._begun, 0.0, self._good + self.dt)
        back = ~self.following & (self._good >= self.steady)
        if back.any():
            self._origin = np.where(back, self._held - x, self._origin)
        self.following = (self.following | back) & ~gap
        self._held = np.where(self.following, x + self._origin, self._held)
        return self._held


@dataclass(frozen=True, eq=False)
class PairLog:
    """Signals of K steps of N pairs. Each of `signals` is an attribute, such as `log.x_m`.

    Attributes:
        t: (K,) [s]. mechanisms: of master and slave. scale: (N,).
        x_m, v_m, x_s, v_s: (K, 3, N) displacement and velocity of the grip and of the slave's tip [m, m/s].
        target: (K, 3, N) set-point of the slave, in the slave's scale, as displacement [m].
        hand, F_m: (K, 3, N) force of the hand and of the motors on the grip [N].
        f_e, felt: (K, 3, N) force of the environment on the slave, true and from the force source [N].
        W_m, W_s: (K, N) energy margins [J]. E_in_m, E_out_m, E_in_s, E_out_s: (K, N) energies of the ports [J].
        asked: (K, N) commanded speed of the slave's fastest joint, in units of its move limit.
        following: (K, N) 1 or 0. q_m, dq_m, tau_m, q_s, dq_s, tau_s: (K, n, N) joints. q_d: the slave's set-point.
    """

    t: Array
    mechanisms: tuple[Mechanism, Mechanism]
    scale: Array
    signals: Mapping[str, Array]

    def __getattr__(self, name: str) -> Array:
        try:
            return self.__dict__["signals"][name]
        except KeyError:
            raise AttributeError(f"a PairLog has no signal '{name}'") from None

    def cell(self, index: int) -> PairLog:
        """The log of one cell, N = 1."""
        only = slice(index, index + 1)
        signals = {name: signal[..., only].copy() for name, signal in self.signals.items()}
        return replace(self, scale=self.scale[only], signals=signals)

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

    def recordings(self, cell: int = 0) -> tuple[Recording, Recording]:
        """Motion of the master and of the slave of one cell, with forces, energies and set-points as channels."""
        signals = {name: signal[..., cell] for name, signal in self.signals.items()}
        master, slave = (self._recording(i, side, signals) for i, side in enumerate(CHANNELS))
        return master, replace(slave, commands={"q": signals["q_d"]})

    def _recording(self, i: int, side: str, signals: Mapping[str, Array]) -> Recording:
        mechanism, channels, arm = self.mechanisms[i], CHANNELS[side], self.mechanisms[i].arm
        q, dq, tau, W = (signals[f"{name}_{side[0]}"] for name in ("q", "dq", "tau", "W"))
        scalars = {"energy_margin": W, "following": signals["following"], "applied_tau": tau}
        return Recording(
            t=self.t,
            q=q,
            dq=dq,
            ddq=np.gradient(dq, self._dt, axis=0),
            tau=tau + mechanism.effort_bias,
            joints=arm.joint_names,
            joint_units=arm.joint_units,
            extra={name: signals[signal] for name, signal in channels.items()} | scalars,
            extra_units={name: "m" if name.startswith("tip") else "N" for name in channels} | {"energy_margin": "J"},
            provenance={"arm": arm.name, "teleoperation": side},
        )

    def save(self, folder: Path, name: str = "teleoperation", cell: int = 0) -> list[Path]:
        """Write NAME-master.npz and NAME-slave.npz; `tr.load_recording` reads them."""
        recordings = zip(CHANNELS, self.recordings(cell), strict=True)
        return [recording.save(folder / f"{name}-{side}.npz") for side, recording in recordings]


def _rms(x: Array) -> Array:
    """RMS (N,) of vectors (K, 3, N)."""
    return np.asarray(np.sqrt(np.mean((x**2).sum(axis=1), axis=0)))


@dataclass
class Pair:
    """One master and one slave, or N of each, with one step of teleoperation per step of the arms.

        p_s,d = p_s0 + s (p_m - p_m0),   F_m = kf f_e   (delays, schemes and passivity control in between)

    Attributes:
        master, slave: the two robots, of N cells each. operator: the hand on the master.
        forward, backward: channels to the slave and to the master: one for all cells, or N.
        scale: s, one number or (N,). kf: force gain. force: source of the slave's force. dt: period [s].
    """

    master: Master
    slave: Slave
    operator: Operator
    scheme: Scheme = field(default_factory=PositionForce)
    passivity: Passivity = field(default_factory=Passivity)
    force: ContactTruth = field(default_factory=ContactTruth)
    forward: Channel | Sequence[Channel] = field(default_factory=Channel)
    backward: Channel | Sequence[Channel] = field(default_factory=Channel)
    scale: ArrayLike = 1.0
    kf: float = 1.0
    dt: float = 1e-3

    def __post_init__(self) -> None:
        scale = np.asarray(self.scale, dtype=float)
        if not ((scale > 0.0) & (scale <= 1.0)).all():
            raise TrocarError(f"scale must be above 0 and at most 1, as on the dVRK, got {self.scale!r}")
        if self.master.arm.N != self.slave.arm.N:
            raise TrocarError(f"{self.master.arm.N} masters for {self.slave.arm.N} slaves; the numbers must be equal")

    def run(self, duration: float, push: Array | None = None) -> PairLog:
        """Teleoperate for `duration` [s].

        push: (K, 3, N) force on the slave's tip in addition to that of the wall [N], for measurements.
        """
        master, slave, passivity, dt = self.master, self.slave, self.passivity, self.dt
        N, kf = master.arm.N, self.kf
        steps = round(checks.positive("duration", duration) / dt)
        if steps < 2:
            raise TrocarError(f"duration must be two steps of {dt:g} s or more, got {duration:g} s")
        forward, backward = (DelayLine(_packets(c, steps, dt, N)) for c in (self.forward, self.backward))
        self.operator.start(steps, dt, N)
        passivity.start(N, dt)
        self.force.start(slave, dt)
        at_slave, at_master = Engagement(N, dt), Engagement(N, dt)
        watched = not (_constant(self.forward) and _constant(self.backward))  # a constant delay has no outages
        s = np.broadcast_to(np.asarray(self.scale, dtype=float), (N,))
        target, load = np.zeros((3, N)), None
        signals: dict[str, Array] = {}
        for k in range(steps):
            x_m, x_s = master.x - master.x0, slave.x - slave.x0
            hand = self.operator.force(k, x_m, master.v)
            felt = self.force()
            if push is not None:
                load = push[k]
                felt = felt + load
            m = Packet(x_m, master.v, hand, passivity.waves[0], passivity.master.E_in)
            e = Packet(x_s / s, slave.v / s, kf * felt, passivity.waves[1], passivity.slave.E_in)
            forward.send(k, m)
            backward.send(k, e)
            to_master, fresh_m = backward.receive(k)
            to_slave, fresh_s = forward.receive(k)
            F = self.scheme.master_force(m, to_master)
            x = to_slave.x
            extra = self.scheme.feed_forward(to_slave)
            if watched:
                at_master.update(fresh_m, to_master.x)
                F = np.where(at_master.following, F, 0.0)
                x = at_slave.update(fresh_s, x)
                extra = np.where(at_slave.following, extra, 0.0)
            F = passivity.at_master(F, m, to_master)
            port = self.scheme.slave_force(e, target, to_slave.v)
            target, rate = passivity.at_slave(x, port, to_slave, at_slave.following)
            state = {"x_m": x_m, "v_m": master.v, "x_s": x_s, "v_s": slave.v, "target": s * target}
            state |= {"hand": hand, "F_m": F, "f_e": slave.arm.contact, "felt": felt}
            state |= {"asked": slave.asked, "following": at_slave.following.astype(float), "q_d": slave.q_d}
            for side, arm, port_energy, W in (
                ("m", master.arm, passivity.master, passivity.margins[0]),
                ("s", slave.arm, passivity.slave, passivity.margins[1]),
            ):
                state |= {f"q_{side}": arm.q, f"dq_{side}": arm.dq, f"W_{side}": W}
                state |= {f"E_in_{side}": port_energy.E_in, f"E_out_{side}": port_energy.E_out}
            _store(signals, state, k, steps)
            master.step(F, hand)
            slave.step(slave.x0 + s * target, s * rate, extra / kf, load)
            _store(signals, {"tau_m": master.tau, "tau_s": slave.tau}, k, steps)
        return PairLog(dt * np.arange(steps), (master.arm.mechanism, slave.arm.mechanism), s, signals)


def _store(signals: dict[str, Array], values: Mapping[str, Any], k: int, steps: int) -> None:
    """Store the values of step k, which may be changed in place afterwards."""
    for name, value in values.items():
        if name not in signals:
            signals[name] = np.zeros((steps, *value.shape))
        signals[name][k] = value


def _constant(channels: Channel | Sequence[Channel]) -> bool:
    return all(channel.constant for channel in ([channels] if isinstance(channels, Channel) else channels))


def _packets(channels: Channel | Sequence[Channel], steps: int, dt: float, N: int) -> Array:
    if isinstance(channels, Channel):
        return np.broadcast_to(channels.packets(steps, dt)[:, None], (steps, N))
    if len(channels) != N:
        raise TrocarError(f"{len(channels)} channels for {N} cells; pass one for all or one per cell")
    return np.stack([channel.packets(steps, dt) for channel in channels], axis=1)
