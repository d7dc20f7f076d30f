"""Messages between master and slave, and their history for delayed lines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trocar.spatial import Array


class Message(NamedTuple):
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


ROWS = 13


class Line:
    """One direction of the channel: the messages sent, and the packet in use at each step.

    Args:
        packets: (K, N) index of the packet in use at each step, -1 before the first arrives.
    """

    def __init__(self, packets: Array) -> None:
        self._packets = packets
        self._sent = np.zeros((*packets.shape[:1], ROWS, *packets.shape[1:]))
        self._cells = np.arange(packets.shape[1])
        same = packets == packets[:, :1]
        self._shared = same.all(axis=1)

    def send(self, k: int, message: Message) -> None:
        row = self._sent[k]
        row[0:3], row[3:6], row[6:9], row[9:12], row[12] = message

    def receive(self, k: int) -> tuple[Message, Array]:
        """The message in use at step k, zeros before the first one, and a flag (N,) for a new packet."""
        index = self._packets[k]
        fresh = index > (self._packets[k - 1] if k else -1)
        if self._shared[k]:
            rows = self._sent[index[0]] if index[0] >= 0 else np.zeros_like(self._sent[0])
        else:
            rows = self._sent[np.maximum(index, 0), :, self._cells].T
            rows = np.where(index >= 0, rows, 0.0)
        return Message(rows[0:3], rows[3:6], rows[6:9], rows[9:12], rows[12]), fresh
