"""Damaged bytes of ZeroMQ's protocol."""

from __future__ import annotations

import numpy as np

from tests.support.odd_values import INPUTS, SEED, rounds
from tests.support.ros_samples import damaged
from trocar.transports.zmtp import GREETING, Peer, PeerError

READY = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03REQ"


def test_damaged_bytes_are_messages_or_refused() -> None:
    random = np.random.default_rng(SEED)
    sound = GREETING + READY + b"\x01\x00\x00\x05hello" + b"\x04\x0a\x04PING\x00\x10abc" + b"\x01\x00\x00\x02hi"
    for _ in range(rounds(500)):
        INPUTS["ZeroMQ's protocol"] += 1
        peer, data = Peer("REP", ("REQ",), 1000), damaged(sound, random)
        try:
            read = peer.received(data)
        except PeerError:
            continue
        assert all(isinstance(part, bytes) for message in read for part in message)
        assert len(peer.outgoing) < 200
