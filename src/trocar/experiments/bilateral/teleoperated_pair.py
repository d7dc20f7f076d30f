"""A master and a slave under bilateral control over a channel, with an operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.experiments.bilateral.arms import Master, Slave
from trocar.experiments.bilateral.coupling_schemes import PositionForce, Scheme
from trocar.experiments.bilateral.force_sources import ContactTruth
from trocar.experiments.bilateral.lines import DelayLine, Engagement, Packet
from trocar.experiments.bilateral.operator import Operator
from trocar.experiments.bilateral.pair_log import PairLog
from trocar.experiments.bilateral.passivity import Passivity
from trocar.spatial import Array
from trocar.teleoperation.channel import Channel


@dataclass
class Pair:
    """One master and one slave, or N of each, with one step of teleoperation per step of the arms.

        p_s,d = p_s0 + s (p_m - p_m0),   F_m = kf f_e   (delays, schemes and passivity control in between)

    Attributes:
        master, slave: the two robots, of N cells each. operator: the hand on the master.
        forward, backward: channels to the slave and to the master: one for all cells, or N.
        scale: s, one number or (N,). kf: force gain. force: source of the slave's force. dt: period [s].
        watch: hold after an outage, see `Engagement`; channels with constant delay have no outages.
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
    watch: bool = True

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
        watched = self.watch and not (_constant(self.forward) and _constant(self.backward))
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
        mechanisms = master.arm.mechanism, slave.arm.mechanism
        return PairLog(t=dt * np.arange(steps), mechanisms=mechanisms, scale=s, **signals)


def _store(signals: dict[str, Array], values: dict[str, Any], k: int, steps: int) -> None:
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
