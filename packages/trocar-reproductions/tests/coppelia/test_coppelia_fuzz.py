"""Damaged messages to the server of CoppeliaSim's legacy remote API: an answer or one line, and the scene goes on.

TROCAR_FUZZ sets the number of messages. A failure prints the message; the seed makes it repeatable.
"""

import socket
import struct
from contextlib import closing

import cbor2
import numpy as np

from tests.support.odd_values import INPUTS, SEED, rounds
from tests.support.remote_scene import CAMERA, FRAME, JOINT, OneJointScene
from tests.support.ros_samples import damaged
from tests.support.waiting import TIMEOUT
from tests.support.zmq_client import ZmqClient
from tools.coppelia.client import RemoteApiClient
from trocar_reproductions.coppelia import packets
from trocar_reproductions.coppelia.commands import COMMANDS, REFUSED
from trocar_reproductions.coppelia.packets import MessageHead, RemoteCommand, ScriptCall
from trocar_reproductions.coppelia.server import RemoteApiServer
from trocar_reproductions.coppelia.zmq_server import ZmqApiServer

COUNT = rounds(400)
NUMBERS = (*COMMANDS, *REFUSED, 0x0001, 0x0002, 0x0003, 0x000A, 0x4321)
KEYS = tuple(struct.pack("<i", handle) for handle in (JOINT, FRAME, CAMERA, -1, 0))
KEYS += (b"", b"joint\0", b"x\0", KEYS[0] + KEYS[1], KEYS[0] + b"object\0double\0")
DATA = (b"", struct.pack("<f", 0.5), struct.pack("<f", np.inf), struct.pack("<i3f", -1, 1, 2, 3))
DATA += (struct.pack("<i4f", -1, 0, 0, 0, 1), ScriptCall((1,), (2.0,), ("a",), b"b").packed())


def random_message(rng):
    commands = []
    for _ in range(rng.integers(0, 6)):
        data = DATA[rng.integers(len(DATA))]
        split = (len(data) + int(rng.integers(0, 3)), int(rng.integers(0, 2))) if rng.random() < 0.2 else (None, 0)
        commands.append(
            RemoteCommand(
                int(rng.choice(NUMBERS)), int(rng.integers(0, 8)), KEYS[rng.integers(len(KEYS))], data, *split
            )
        )
    return packets.packed_message(MessageHead(int(rng.integers(100))), commands)


def damaged_packets(rng):
    """A message with damage in its content, in its packets, or cut off."""
    message = random_message(rng)
    if rng.random() < 0.5:
        message = damaged(message, rng)
    data = packets.packets(message) or packets.PACKET.pack(1, 0, 0)
    return damaged(data, rng) if rng.random() < 0.3 else data


def test_damaged_messages_give_an_answer_or_one_line_and_the_simulation_goes_on():
    rng, lines = np.random.default_rng(SEED), []
    scene = OneJointScene()
    with RemoteApiServer(scene, 0, lines.append) as server, RemoteApiClient(server.port) as other:
        answered = ended = 0
        for _ in range(COUNT):
            INPUTS["messages of CoppeliaSim"] += 1
            data = damaged_packets(rng)
            with socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT) as link:
                link.sendall(data)
                link.shutdown(socket.SHUT_WR)
                received = b""
                while more := link.recv(1 << 16):
                    received += more
            answered += bool(received)
            ended += not received
            assert server.serving, data.hex()
            other.call(0x1008, struct.pack("<i", JOINT), struct.pack("<f", 0.0))
            other.call(0x1002, struct.pack("<i", JOINT), struct.pack("<f", 0.5))
            assert other.joint_position(JOINT) == 0.5, data.hex()
        assert answered > COUNT // 4
        assert ended > COUNT // 20
        assert all("\n" not in line and len(line) < 300 for line in lines)
        other.synchronous()
        other.start()
        before = server.stepping.steps
        other.trigger()
        other.joint_position(JOINT)  # answered after the step, which the reply to a trigger is not
        assert server.stepping.steps == before + 1


def test_random_requests_by_zmq_are_answered():
    rng, lines = np.random.default_rng(SEED), []
    with (
        RemoteApiServer(OneJointScene(), 0, lines.append) as legacy,
        ZmqApiServer(legacy.stepping, 0, lines.append) as server,
        closing(ZmqClient(server.port)) as call,
    ):
        names = [f"sim.{name}" for name in call("zmqRemoteApi.info", "sim")[0]] + ["zmqRemoteApi.info", "_*end*_", ""]
        values = (JOINT, FRAME, -1, 0.5, float("inf"), "x", "", None, True, [1, 2, 3], [], {}, b"b", 2**70)
        for _ in range(COUNT):
            INPUTS["requests of CoppeliaSim by ZMQ"] += 1
            args = [values[k] for k in rng.integers(len(values), size=rng.integers(0, 4))]
            data = damaged(cbor2.dumps({"func": names[rng.integers(len(names))], "args": args}), rng)
            assert call.raw(data).keys() in ({"ret", "success"}, {"err", "error", "success"}), data.hex()
        assert call("sim.getObject", "joint") == [JOINT]
