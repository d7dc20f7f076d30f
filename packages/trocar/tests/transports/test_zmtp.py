"""ZeroMQ's protocol: messages of its own library, limits, and bytes of something else."""

from __future__ import annotations

import pytest
import zmq

from trocar.transports.zmtp import GREETING, MAX_COMMAND, MAX_PARTS, Peer, PeerError, Requester

READY = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03REQ"
LIMIT = 1000


def opened() -> Peer:
    """A REP whose client has shaken hands."""
    peer = Peer("REP", ("REQ", "DEALER"), LIMIT)
    assert peer.received(GREETING + READY) == []
    assert peer.ready
    return peer


def messages(size: int) -> list[list[bytes]]:
    return [[b"", b"a" * size], [b"", b"", b"b"], [b"c"]]


@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_messages_come_as_they_were_sent_in_pieces_of_any_size(step: int) -> None:
    sender, reader = Peer("REQ", ("REP",), LIMIT), Peer("REP", ("REQ",), LIMIT)
    for message in messages(600):
        sender.send(message)
    read: list[list[bytes]] = []
    for _ in range(2):
        for one, other in ((sender, reader), (reader, sender)):
            data = bytes(one.outgoing)
            one.outgoing.clear()
            for k in range(0, len(data), step):
                read += other.received(data[k : k + step])
    read += reader.received(bytes(sender.outgoing))
    assert read == messages(600)


def test_a_heartbeat_is_answered() -> None:
    peer = opened()
    peer.outgoing.clear()
    assert peer.received(b"\x04\x0a\x04PING\x00\x10abc") == []
    assert peer.outgoing == b"\x04\x08\x04PONGabc"


PARTS = b"\x01\x01x" * MAX_PARTS
BROKEN = {
    "HTTP": (b"GET / HTTP/1.1\r\n\r\n", "does not speak"),
    "another version": (GREETING[:10] + b"\x01" + GREETING[11:], "version 1"),
    "encryption": (GREETING.replace(b"NULL", b"CURV"), "encryption"),
    "no handshake": (GREETING + b"\x00\x01x", "before the handshake"),
    "another handshake": (GREETING + b"\x04\x06\x05HELLO", "began with"),
    "another kind": (GREETING + READY.replace(b"REQ", b"PUB"), "of the kind 'PUB'"),
    "half a handshake": (GREETING + READY.replace(b"\x03REQ", b"\xffREQ"), "handshake is incomplete"),
    "flags": (GREETING + READY + b"\x08\x00", "flags 8"),
    "a long command": (GREETING + READY + b"\x06" + (MAX_COMMAND + 1).to_bytes(8), "a command of 1025 bytes"),
    "a long part": (GREETING + READY + b"\x02" + (LIMIT + 1).to_bytes(8), "exceeds 1000 bytes"),
    "an endless part": (GREETING + READY + b"\x03" + b"\xff" * 8, "exceeds 1000 bytes"),
    "two long parts": (GREETING + READY + (b"\x03" + (501).to_bytes(8) + bytes(501)) * 2, "exceeds 1000 bytes"),
    "many parts": (GREETING + READY + PARTS + b"\x01\x01", "or 64 parts"),
    "many empty parts": (GREETING + READY + b"\x01\x00" * (MAX_PARTS + 1), "or 64 parts"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_not_of_the_protocol_or_too_long_is_refused(kind: str) -> None:
    data, words = BROKEN[kind]
    with pytest.raises(PeerError, match=words):
        Peer("REP", ("REQ", "DEALER"), LIMIT).received(data)


def test_the_last_part_and_the_last_byte_within_the_limits_are_read() -> None:
    assert opened().received(PARTS[:-3] + b"\x00\x01x") == [[b"x"] * MAX_PARTS]
    assert opened().received(b"\x02" + LIMIT.to_bytes(8) + bytes(LIMIT)) == [[bytes(LIMIT)]]


def test_a_late_answer_is_not_that_of_the_next_request() -> None:
    context = zmq.Context()
    server = context.socket(zmq.REP)
    port = server.bind_to_random_port("tcp://127.0.0.1")
    requester = Requester("127.0.0.1", port, LIMIT)
    try:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                requester.ask(b"question", 0.1)
            assert server.recv() == b"question"
            server.send(b"late")
        server.close(linger=0)
        with pytest.raises(TimeoutError):
            requester.ask(b"question", 0.1)
    finally:
        requester.close()
        context.destroy(linger=0)
