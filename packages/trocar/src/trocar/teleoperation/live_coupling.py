"""Bilateral control of a hand and a PSM while they move: a scheme and passivity control over a delayed channel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.spatial import Array
from trocar.teleoperation.channel import Channel
from trocar.teleoperation.coupling import Packet, Passivity, Scheme

MAX_FORCE = 8.0  # largest force on the hand [N]: masters and desktop devices reach about this


class LiveCoupling:
    """One direction in space times three: displacements of hand and tip since following began, forces on both.

    Lengths of the PSM are divided by the scale, so that energy is that of the hand; see `Packet`. A device does not
    measure the force of the hand, so C3 of the four-channel scheme has no effect.

    Args:
        scheme, passivity: as on the bench. delay: one-way delay of the channel [s]. dt: period of `step` [s].
        force_gain: force on the hand per force on the instrument.

    Attributes:
        margins: smallest energy margins since following began, at the hand and at the PSM [J].
    """

    def __init__(
        self, scheme: Scheme, passivity: Passivity, *, delay: float, dt: float, force_gain: float = 1.0
    ) -> None:
        self._scheme, self._passivity = replace(scheme, C3=0.0), passivity
        self._delay, self._dt, self._kf = delay, dt, force_gain
        self._following = False
        self.margins = (0.0, 0.0)
        self._start(np.zeros(3), np.zeros(3), 1.0)

    def _start(self, hand: Array, tip: Array, scale: float) -> None:
        self._hand0, self._tip0, self._scale = hand.copy(), tip.copy(), scale
        self._forward, self._backward = Channel(self._delay), Channel(self._delay)
        self._used: tuple[Packet | None, Packet | None] = (None, None)
        self._passivity.start(1, self._dt)
        self._target = np.zeros((3, 1))
        self.margins = (0.0, 0.0)

    def step(
        self,
        t: float,
        hand: tuple[Array, Array],
        received: Array,
        tip: tuple[Array, Array],
        force: Array,
        scale: float,
        following: bool,
    ) -> tuple[Array, Array]:
        """One cycle at time t [s].

        Args:
            hand, tip: positions and velocities (3,) [m, m/s], in the axes of the display.
            received: (3,) position of the hand as it has reached the robot; the origin when following begins.
            force: (3,) on the instrument [N]. scale: motion of the tip per motion of the hand.

        Returns:
            force (3,) on the hand [N], at most `MAX_FORCE`, and the position (3,) of the hand that the PSM follows.
        """
        if not following:
            self._following = False
            return np.zeros(3), received
        if not self._following or scale != self._scale:
            self._start(received, tip[0], scale)
            self._following = True
        passivity, s = self._passivity, self._scale
        x_m, v_m = (hand[0] - self._hand0)[:, None], hand[1][:, None]
        x_s, v_s = ((tip[0] - self._tip0) / s)[:, None], (tip[1] / s)[:, None]
        m = Packet(x_m, v_m, np.zeros((3, 1)), passivity.waves[0], passivity.master.E_in)
        e = Packet(x_s, v_s, self._kf * force[:, None], passivity.waves[1], passivity.slave.E_in)
        self._forward.send(t, m)
        self._backward.send(t, e)
        to_slave, to_master = self._arrived(0, self._forward.receive(t)), self._arrived(1, self._backward.receive(t))
        F = passivity.at_master(self._scheme.master_force(m, to_master), m, to_master)
        port = self._scheme.slave_force(e, self._target, to_slave.v)
        self._target, _ = passivity.at_slave(to_slave.x, port, to_slave)
        low = (min(old, float(new[0])) for old, new in zip(self.margins, passivity.margins, strict=True))
        self.margins = (next(low), next(low))
        force_on_hand, size = F[:, 0], float(np.linalg.norm(F))
        return force_on_hand * min(1.0, MAX_FORCE / max(size, 1e-12)), self._hand0 + self._target[:, 0]

    def _arrived(self, side: int, packet: Packet | None) -> Packet:
        """The packet in use, zeros before the first; a wave that was used already carries no more energy."""
        if packet is None:
            zero = np.zeros((3, 1))
            return Packet(zero, zero, zero, zero, np.zeros(1))
        fresh = packet is not self._used[side]
        self._used = (packet, self._used[1]) if side == 0 else (self._used[0], packet)
        return packet if fresh else packet._replace(wave=0.0 * packet.wave)
