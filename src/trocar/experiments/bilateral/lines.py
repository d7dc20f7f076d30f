"""Packets between master and slave, their history for delayed lines, and holding after an outage."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trocar.spatial import Array

ROWS = 13  # numbers of a packet


class Packet(NamedTuple):
    """One packet of one side, in the scale of the master.

    Lengths of the slave are divided by the scale s and its forces multiplied by the force gain kf, so that both sides
    use the same units and energy is that of the master.

    Attributes:
        x: (3, N) displacement from the origin [m]. v: (3, N) [m/s].
        f: (3, N) force [N]: of the hand on the master's grip, or of the environment on the slave's tip.
        wave: (3, N) outgoing wave [sqrt(W)]. E: (N,) energy that has entered the channel here [J].
    """

    x: Array
    v: Array
    f: Array
    wave: Array
    E: Array


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
