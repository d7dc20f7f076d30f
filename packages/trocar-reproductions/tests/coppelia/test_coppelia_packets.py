"""Bytes of CoppeliaSim's legacy remote API against messages written by hand from its tables."""

import numpy as np
import pytest

from trocar_reproductions.coppelia import packets
from trocar_reproductions.coppelia.packets import (
    Assembly,
    MessageHead,
    PacketReader,
    ProtocolError,
    RemoteCommand,
    ScriptCall,
)

# A message 5 with simxGetObjectHandle("J1_PSM1") in blocking mode, and the reply: handle 36 at 1.5 s, client time 7 ms
REQUEST = """
    0100 3400 0000
    0000 0b 05000000 07000000 00000000 0100 00
    22000000 22000000 0800 00000000 01300100 0000 00000000 00 00
    4a315f50534d3100
"""
REPLY = """
    0100 3800 0000
    0000 0b 05000000 07000000 09000000 0100 01
    26000000 26000000 0800 00000000 01300100 0000 dc050000 00 00
    4a315f50534d3100
    24000000
"""
# simxGetJointPosition(handle 36) as a stream; its reply is 0.5; an error has bit 0 of the status
STREAM = "1e000000 1e000000 0400 00000000 01100200 0000 00000000 00 00 24000000"
VALUE = "22000000 22000000 0400 00000000 01100200 0000 0a000000 00 00 24000000 0000003f"
FAILED = "1e000000 1e000000 0400 00000000 01100200 0000 00000000 01 00 24000000"
HEAD = "0000 0b ffffffff 00000000 00000000 0100 00"


def test_a_request_and_its_reply_have_the_bytes_of_the_tables():
    request = RemoteCommand(0x3001, packets.BLOCKING, b"J1_PSM1\0")
    assert packets.packets(packets.packed_message(MessageHead(5, 7), [request])) == bytes.fromhex(REQUEST)
    reply = request._replace(data=b"\x24\0\0\0", time=1500)
    assert packets.packets(packets.packed_message(MessageHead(5, 7, 9, True), [reply])) == bytes.fromhex(REPLY)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (STREAM, RemoteCommand(0x1001, packets.STREAMING, b"\x24\0\0\0")),
        (VALUE, RemoteCommand(0x1001, packets.STREAMING, b"\x24\0\0\0", b"\0\0\0\x3f", time=10)),
        (FAILED, RemoteCommand(0x1001, packets.STREAMING, b"\x24\0\0\0", failed=True)),
    ],
)
def test_streams_have_the_bytes_of_the_tables(text, command):
    message = packets.packed_message(MessageHead(packets.NO_MESSAGE), [command])
    assert message == bytes.fromhex(HEAD + text)
    head, (read,) = packets.unpacked_message(message)
    assert head.message == packets.NO_MESSAGE
    assert read._replace(full=None) == command


def test_messages_survive_any_division_of_their_bytes():
    rng = np.random.default_rng(3)
    texts = [bytes(rng.integers(0, 256, size, dtype=np.uint8)) for size in (18, 1294, 1295, 20_000)]
    data = b"".join(map(packets.packets, texts))
    for _ in range(20):
        cuts = np.sort(rng.integers(0, len(data), 30))
        reader, read = PacketReader(), []
        for part in np.split(np.frombuffer(data, np.uint8), cuts):
            read += reader.messages(part.tobytes())
        assert read == texts
        assert not reader.in_message


def test_a_split_command_is_assembled_in_order():
    data, assembly = bytes(range(250)), Assembly()
    pieces = [RemoteCommand(0x3013, packets.SPLIT, b"s\0", data[at : at + 100], 250, at) for at in (0, 100, 200)]
    message = packets.packed_message(MessageHead(0), pieces)
    read = packets.unpacked_message(message)[1]
    assert read == pieces
    assert [assembly.command(piece) for piece in read[:2]] == [None, None]
    assert assembly.command(read[2]).data == data
    with pytest.raises(ProtocolError, match="is at 100, expected 0"):
        assembly.command(read[1])


def test_script_calls_are_the_inverse_of_their_bytes():
    call = ScriptCall((1, -2), (0.5, 2.0, 3.0), ("a", ""), b"\0xyz")
    assert call.packed().hex() == "02000000030000000200000004000000" + "01000000feffffff0000003f0000004000004040" + (
        "610000" + "0078797a"
    )
    assert ScriptCall.unpacked(call.packed()) == call


@pytest.mark.parametrize("counts", [(1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (-1, 0, 0, 0), (2**31 - 1,) * 4])
def test_wrong_counts_of_a_script_call_are_refused(counts):
    with pytest.raises(ProtocolError, match="do not fit"):
        ScriptCall.unpacked(np.array(counts, "<i4").tobytes())


@pytest.mark.parametrize(
    ("position", "value", "reason"),
    [
        (0, b"\x01\x00", "big-endian"),
        (2, b"\xff\xff", "-1 bytes"),
        (4, b"\xff\xff", "-1 more"),
        (8, b"\x0a", "version 10"),
        (24, b"\xff\xff\xff\x7f", "does not fit"),
        (24, b"\x01\x00\x00\x00", "does not fit"),
        (28, b"\x01\x00\x00\x00", "does not fit"),
        (28, b"\xff\xff\xff\x7f", "does not fit"),
        (32, b"\xff\xff", "does not fit"),
        (34, b"\xff\xff\xff\xff", "does not fit"),
    ],
)
def test_wrong_sizes_are_named(position, value, reason):
    data = bytearray(bytes.fromhex(REQUEST))
    data[position : position + len(value)] = value[::-1] if position == 0 else value
    with pytest.raises(ProtocolError, match=reason):
        list(map(packets.unpacked_message, PacketReader().messages(bytes(data))))


def test_messages_are_bounded():
    many = b"".join(packets.PACKET.pack(1, 30_000, left) + bytes(30_000) for left in range(300, 0, -1))
    with pytest.raises(ProtocolError, match="more than 8388608 bytes"):
        list(PacketReader().messages(many))
    head = bytes.fromhex(HEAD)
    with pytest.raises(ProtocolError, match="more than 20000 commands"):
        packets.unpacked_message(head + bytes.fromhex(STREAM) * 20_001)


def test_the_number_of_incomplete_commands_is_bounded():
    assembly = packets.Assembly()
    for k in range(assembly.MAX_SPLIT):
        assert assembly.command(RemoteCommand(0x3401, 0, bytes([k]), b"x", 2, 0)) is None
    with pytest.raises(ProtocolError, match="more than 16 commands are incomplete"):
        assembly.command(RemoteCommand(0x3401, 0, b"another", b"x", 2, 0))
