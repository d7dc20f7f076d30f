"""A master and a slave under bilateral control over a channel, with an operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError
from trocar.experiments.bilateral.engagement import Engagement
from trocar.experiments.bilateral.force_sources import ContactTruth
from trocar.experiments.bilateral.messages import Line, Message
from trocar.experiments.bilateral.operator import Operator
from trocar.experiments.bilateral.pair_log import PairLog
from trocar.experiments.bilateral.passivity import Passivity
from trocar.experiments.bilateral.schemes import PositionForce, Scheme
from trocar.experiments.bilateral.sides import Master, Slave
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
        master, slave, N, dt = self.master, self.slave, self.master.arm.N, self.dt
        steps = round(checks.positive("duration", duration) / dt)
        if steps < 2:
            raise TrocarError(f"duration must be two steps of {dt:g} s or more, got {duration:g} s")
        forward, backward = (Line(_packets(c, steps, dt, N)) for c in (self.forward, self.backward))
        self.operator.start(steps, dt, N)
        self.passivity.start(N, dt)
        self.force.start(slave, dt)
        at_slave, at_master = Engagement(N, dt), Engagement(N, dt)
        watched = self.watch and not (_constant(self.forward) and _constant(self.backward))
        s = np.broadcast_to(np.asarray(self.scale, dtype=float), (N,))
        log = PairLog(steps, dt, s, master.arm.mechanism, slave.arm.mechanism)
        kf, target, load = self.kf, np.zeros((3, N)), None
        for k in range(steps):
            x_m, x_s = master.x - master.x0, slave.x - slave.x0
            hand = self.operator.force(k, x_m, master.v)
            felt = self.force()
            if push is not None:
                load = push[k]
                felt = felt + load
            passivity = self.passivity
            m = Message(x_m, master.v, hand, passivity.waves[0], passivity.master.E_in)
            e = Message(x_s / s, slave.v / s, kf * felt, passivity.waves[1], passivity.slave.E_in)
            forward.send(k, m)
            backward.send(k, e)
            to_master, fresh_m = backward.receive(k)
            to_slave, fresh_s = forward.receive(k)
            # A used wave carries no more energy; positions, forces and energies are held.
            to_master = to_master._replace(wave=to_master.wave * fresh_m)
            to_slave = to_slave._replace(wave=to_slave.wave * fresh_s)
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
            log.write(k, self, hand, F, target, felt, at_slave.following)
            master.step(F, hand)
            slave.step(slave.x0 + s * target, s * rate, extra / kf, load)
            log.write_efforts(k, master.tau, slave.tau)
        return log


def _constant(channels: Channel | Sequence[Channel]) -> bool:
    return all(channel.constant for channel in ([channels] if isinstance(channels, Channel) else channels))


def _packets(channels: Channel | Sequence[Channel], steps: int, dt: float, N: int) -> Array:
    if isinstance(channels, Channel):
        return np.broadcast_to(channels.packets(steps, dt)[:, None], (steps, N))
    if len(channels) != N:
        raise TrocarError(f"{len(channels)} channels for {N} cells; pass one for all or one per cell")
    return np.stack([channel.packets(steps, dt) for channel in channels], axis=1)
