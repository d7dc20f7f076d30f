"""The server of CoppeliaSim's legacy remote API on a scene of one joint: commands, streams, steps, bad clients."""

import signal
import socket
import struct
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from tests.support.remote_scene import CAMERA, FRAME, JOINT, PICTURE, OneJointScene
from tests.support.waiting import until
from tools.coppelia.client import RemoteApiClient, RemoteError
from trocar.errors import TrocarError
from trocar.spatial import pose
from trocar_reproductions.coppelia import commands, packets, server
from trocar_reproductions.coppelia.commands import COMMANDS, REFUSED
from trocar_reproductions.coppelia.packets import BLOCKING, MessageHead, RemoteCommand, ScriptCall
from trocar_reproductions.coppelia.server import RemoteApiServer

KEY = struct.pack("<i", JOINT)


@pytest.fixture
def served():
    """Scene, server and the lines that it has reported."""
    lines = []
    scene = OneJointScene()
    with RemoteApiServer(scene, 0, lines.append) as running:
        running.lines = lines
        yield scene, running


def client_of(running):
    return RemoteApiClient(running.port)


def eventually(condition):
    until(condition, "the simulation", 2e-3)


def floats(client, number, *key):
    data = client.call(number, struct.pack(f"<{len(key)}i", *key))
    return np.frombuffer(data, "<f4")


def test_commands_read_and_write_the_scene(served):
    scene, running = served
    with client_of(running) as client:
        assert client.handle("joint") == JOINT
        for number, value in ((0x1002, 1.5), (0x1008, 0.25), (0x100E, 8.0)):
            client.call(number, KEY, struct.pack("<f", value))
        assert (scene.q, scene.dq, scene.limit) == (1.5, 0.25, 8.0)
        client.call(0x100C, KEY, struct.pack("<f", 2.0))
        assert scene.dq == pytest.approx(50.0)
        scene.dq = 0.5
        assert floats(client, 0x1001, JOINT) == 1.5
        assert floats(client, 0x100D, JOINT) == -1.0
        assert floats(client, 0x1038, JOINT) == 8.0
        assert floats(client, 0x2007, JOINT, 2012) == 0.5
        assert list(floats(client, 0x1036, FRAME)) == [0, 1, 2, 3, 4, 5]
        client.call(0x3014, b"n\0", struct.pack("<i", -7))
        assert struct.unpack("<i", client.call(0x3011, b"n\0")) == (-7,)
        client.call(0x300E, b"n\0")
        client.set_float_signal("x", 0.5, BLOCKING)
        assert client.float_signal("x") == 0.5
        client.call(0x300D, b"x\0")
        assert (scene.integers, scene.floats) == ({}, {})
        result = client.call_script("object", "double", ScriptCall((3,), (1.0, 2.5), (), b"b"))
        assert result == ScriptCall((3,), (2.0, 5.0), ("object",), b"b")
        assert struct.unpack("<i", client.call(0x1021, struct.pack("<i", 1))) == (40200,)
        assert client.call(0x3008, b"Hello CoppeliaSim!\0") == b""


def test_poses_are_relative_to_any_frame(served):
    scene, running = served
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    with client_of(running) as client:
        client.set_position(FRAME, (1.0, 2.0, 3.0), mode=BLOCKING)
        client.set_quaternion(FRAME, (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)), mode=BLOCKING)
        np.testing.assert_allclose(scene.T, pose(R, [1, 2, 3]), atol=1e-7)
        assert client.position(FRAME) == (1.0, 2.0, 3.0)
        np.testing.assert_allclose(client.orientation(FRAME), [0, 0, np.pi / 2], atol=1e-6)
        np.testing.assert_allclose(floats(client, 0x2801, FRAME, -1), [0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-7)
        np.testing.assert_allclose(client.position(FRAME, FRAME), 0.0, atol=1e-7)
        client.set_position(FRAME, (1.0, 0.0, 0.0), FRAME, BLOCKING)  # along its own x axis
        np.testing.assert_allclose(client.position(FRAME), [1, 3, 3], atol=1e-6)
        angles = (0.3, -0.4, 0.5)
        client.call(0x101A, struct.pack("<i", FRAME), struct.pack("<i3f", -1, *angles))
        np.testing.assert_allclose(client.orientation(FRAME), angles, atol=1e-6)


def test_an_image_has_its_bottom_row_first(served):
    _, running = served
    with client_of(running) as client:
        data = client.call(0x1004, struct.pack("<i", CAMERA))
        assert struct.unpack("<2i", data[:8]) == (3, 2)
        assert list(data[8:]) == [*range(9, 18), *range(9)]
        assert len(client.call(0x1003, struct.pack("<i", CAMERA))) == 8 + 6


def test_the_simulation_goes_on_while_a_picture_is_rendered(served):
    scene, running = served
    scene.slow = True
    with client_of(running) as client, client_of(running) as other:
        request = RemoteCommand(0x1004, BLOCKING, struct.pack("<i", CAMERA))
        client.link.sendall(packets.packets(packets.packed_message(MessageHead(4), [request])))
        eventually(lambda: scene.pictures)
        other.synchronous()
        other.start()
        for _ in range(3):
            other.trigger()
        other.ping()
        assert running.stepping.steps == 3
        scene.pictures[0].set_result(PICTURE)
        head, (reply,) = packets.unpacked_message(client.receive())
        assert (head.message, reply.time, len(reply.data)) == (4, 0, 8 + 18)


def test_a_picture_that_cannot_be_rendered_is_an_error_and_one_line(served):
    scene, running = served
    scene.slow = True
    with client_of(running) as client:
        for _ in range(2):
            request = RemoteCommand(0x1004, BLOCKING, struct.pack("<i", CAMERA))
            client.link.sendall(packets.packets(packets.packed_message(MessageHead(4), [request])))
            eventually(lambda: scene.pictures)
            scene.pictures.pop().set_exception(RuntimeError("no OpenGL"))
            (reply,) = packets.unpacked_message(client.receive())[1]
            assert (reply.failed, reply.data) == (True, b"")
        assert len([line for line in running.lines if "no OpenGL" in line]) == 1


@pytest.mark.parametrize(
    ("number", "key", "data"),
    [
        (0x1001, struct.pack("<i", 99), b""),
        (0x1001, b"", b""),
        (0x1002, KEY, struct.pack("<f", np.nan)),
        (0x1002, KEY, b"\0"),
        (0x1007, struct.pack("<i", 3), b""),
        (0x1021, struct.pack("<i", 2), b""),
        (0x1801, struct.pack("<i", FRAME), struct.pack("<i4f", -1, 0, 0, 0, 0)),
        (0x2007, struct.pack("<2i", JOINT, 1), b""),
        (0x3001, b"nothing\0", b""),
        (0x3010, b"not set\0", b""),
        (0x3013, b"x\0", b"\0"),
        (0x3401, KEY + b"object\0", ScriptCall().packed()),
        (0x3401, KEY + b"object\0delete\0", ScriptCall().packed()),
        (0x0003, b"", b""),
        (0x1234, KEY, b""),
    ],
)
def test_a_command_that_cannot_be_executed_is_an_error_and_the_next_one_works(served, number, key, data):
    _, running = served
    with client_of(running) as client:
        with pytest.raises(RemoteError):
            client.call(number, key, data)
        assert client.joint_position(JOINT) == 0.5


def test_files_and_scripts_are_refused_by_name_once(served):
    _, running = served
    with client_of(running) as client:
        for number in (*REFUSED, *REFUSED):
            with pytest.raises(RemoteError):
                client.call(number, b"f\0", b"content")
        lines = [line for line in running.lines if "refused" in line]
        assert len(lines) == len(REFUSED)
        assert any("simxTransferFile is refused" in line for line in lines)
    assert not REFUSED.keys() & COMMANDS.keys()


def test_streams_come_with_every_message_until_they_are_discontinued(served):
    scene, running = served
    with client_of(running) as client:
        client.stream_joint(JOINT)
        assert client.exchange()[0].data == struct.pack("<f", 0.5)
        scene.q = 0.75
        assert {reply.number for reply in client.exchange()} == {0x1001, 0x100D}
        assert client.joint(JOINT) == (0.75, 0.0)
        client.stream_joint(JOINT, on=False)
        assert all(reply.data == b"" for reply in client.exchange())
        assert client.exchange() == []
        assert client.head.message == packets.NO_MESSAGE


def test_a_trigger_takes_one_step_and_its_reply_has_the_state_before_it(served):
    scene, running = served
    with client_of(running) as client:
        client.synchronous()
        client.start()
        client.call(0x1008, KEY, struct.pack("<f", 1.0))
        client.stream_joint(JOINT)
        client.exchange()
        assert client.joint(JOINT)[0] == 0.5
        for k in range(1, 4):
            client.trigger()
            assert client.joint(JOINT)[0] == pytest.approx(0.5 + 0.01 * (k - 1))
            client.ping()
            assert client.joint(JOINT)[0] == pytest.approx(0.5 + 0.01 * k)
        assert client.head.running
        client.stop()
        assert not client.head.running
        with pytest.raises(RemoteError):
            client.trigger()
        client.ping()
        assert scene.time == 0.0


def test_two_synchronous_clients_share_each_step(served):
    _, running = served
    with client_of(running) as one, client_of(running) as two:
        for client in (one, two):
            client.synchronous()
        one.start()
        command = RemoteCommand(0x1021, BLOCKING, struct.pack("<i", 1))
        ping = packets.packets(packets.packed_message(MessageHead(9), [command]))
        for k in range(1, 6):
            one.trigger()
            one.link.sendall(ping)  # answered after the step
            two.ping()
            assert running.stepping.steps == k - 1
            two.trigger()
            one.receive()
            assert running.stepping.steps == k
        # one that leaves does not hold up the other
        one.trigger()
        two.link.close()
        one.ping()
        assert running.stepping.steps == 6


def test_a_simulation_without_synchronous_clients_runs_by_itself(served):
    scene, running = served
    with client_of(running) as client:
        client.start()
        eventually(lambda: scene.time > 0.05)
        client.call(0x1007, struct.pack("<i", 1))
        paused = scene.time
        time.sleep(0.05)
        assert scene.time == paused
        assert client.head.running
        client.start()
        eventually(lambda: scene.time > paused)
        client.stop()


def test_stopping_ends_the_synchronous_mode(served):
    scene, running = served
    with client_of(running) as client:
        client.synchronous()
        client.stop()  # nothing runs: the mode stays
        client.start()
        client.trigger()
        client.ping()
        assert running.stepping.steps == 1
        client.stop()
        client.start()
        eventually(lambda: scene.time > 0.03)  # in real time
        with pytest.raises(RemoteError):
            client.trigger()
        client.synchronous()  # from here on by triggers again
        before = running.stepping.steps
        client.trigger()
        client.ping()
        assert running.stepping.steps == before + 1


def test_a_start_after_all_clients_have_left_is_one_from_the_beginning(served):
    scene, running = served
    with client_of(running) as client:
        client.synchronous()
        client.start()
        client.set_float_signal("x", 1.0, BLOCKING)
        client.trigger()
    eventually(lambda: running.stepping.steps > 3)  # interrupted: the simulation goes on
    with client_of(running) as other:
        assert other.float_signal("x") == 1.0
        other.synchronous()
        other.start()
        assert (scene.running, scene.time) == (True, 0.0)
        with pytest.raises(RemoteError):
            other.float_signal("x")
        other.trigger()
        other.ping()
        other.start()  # it runs already
        assert scene.time == 0.01
        with client_of(running) as third:
            third.start()
        other.start()
        assert scene.time == 0.01


def test_synchronous_mode_can_begin_and_end_while_the_simulation_runs(served):
    scene, running = served
    with client_of(running) as client:
        client.stream_joint(JOINT)  # before the start
        assert client.exchange()[0].time == 0
        client.start()
        eventually(lambda: scene.time > 0.02)
        client.synchronous()
        held = scene.time
        time.sleep(0.03)
        assert scene.time == held
        client.trigger()
        client.ping()
        assert scene.time == pytest.approx(held + 0.01)
        assert client.exchange()[0].time == round(1e3 * scene.time)
        client.call(0x1007, struct.pack("<i", 1))
        with pytest.raises(RemoteError):  # paused
            client.trigger()
        assert client.head.paused
        client.start()
        client.trigger()
        client.ping()
        assert scene.time == pytest.approx(held + 0.02)
        client.synchronous(False)
        eventually(lambda: scene.time > held + 0.04)


def test_a_failed_step_stops_the_simulation_and_not_the_server(served):
    scene, running = served
    with client_of(running) as client:
        client.synchronous()
        client.start()
        scene.fail = True
        client.trigger()
        client.ping()
        assert not scene.running
        assert running.lines[-1] == "the simulation was stopped: it diverged"
        assert client.joint_position(JOINT) == 0.5


def test_a_large_call_in_pieces_is_executed_once(served):
    _, running = served
    call = ScriptCall((), tuple(range(3000)))
    key, data = KEY + b"object\0double\0", call.packed()
    with client_of(running) as client:
        pieces = [
            RemoteCommand(0x3401, packets.SPLIT, key, data[at : at + 500], len(data), at)
            for at in range(0, len(data), 500)
        ]
        for piece in pieces[:-1]:
            client.link.sendall(packets.packets(packets.packed_message(MessageHead(1), [piece])))
            assert packets.unpacked_message(client.receive())[1] == []
        client.link.sendall(packets.packets(packets.packed_message(MessageHead(1), pieces[-1:])))
        (reply,) = packets.unpacked_message(client.receive())[1]
        assert ScriptCall.unpacked(reply.data).floats == tuple(2.0 * x for x in range(3000))


def test_a_client_that_finishes_gets_its_reply_first(served):
    _, running = served
    client = client_of(running)
    client.finish()
    eventually(lambda: running.lines[-1].endswith(": finished"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "begins with"),
        (packets.PACKET.pack(1, 3, 0) + b"abc", "shorter than its header"),
        (packets.packets(b"\0" * 40), "version 0"),
        (packets.PACKET.pack(1, 3, 5) + b"abc" + packets.PACKET.pack(1, 3, 3) + b"abc", "announces 3 more"),
    ],
)
def test_a_client_that_speaks_another_protocol_is_disconnected_with_one_line(served, data, reason):
    _, running = served
    with client_of(running) as other, client_of(running) as bad:
        bad.link.sendall(data)
        assert bad.link.recv(10) == b""
        (line,) = [line for line in running.lines if "disconnected" in line]
        assert reason in line
        assert other.joint_position(JOINT) == 0.5


def test_a_client_that_stops_reading_is_disconnected(served, monkeypatch):
    _, running = served
    monkeypatch.setattr(server, "MAX_UNSENT", 200_000)
    with client_of(running) as other, client_of(running) as bad:
        call = RemoteCommand(0x3401, BLOCKING, KEY + b"object\0double\0", ScriptCall((), (0.0,) * 50_000).packed())
        message = packets.packets(packets.packed_message(MessageHead(0), [call] * 20))
        with pytest.raises((ConnectionError, TimeoutError)):
            bad.link.sendall(20 * message)
        eventually(lambda: any("does not read" in line for line in running.lines))
        assert other.joint_position(JOINT) == 0.5


def test_a_client_that_leaves_in_a_message_or_a_step_is_reported(served):
    _, running = served
    with client_of(running) as other:
        bad = client_of(running)
        bad.link.sendall(packets.PACKET.pack(1, 100, 0) + b"abc")
        bad.link.close()
        eventually(lambda: any("left within a message" in line for line in running.lines))
        bad = client_of(running)
        bad.synchronous()
        bad.start()
        bad.link.sendall(packets.packets(packets.packed_message(MessageHead(5), [RemoteCommand(3, BLOCKING)])))
        bad.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        bad.link.close()
        eventually(lambda: running.stepping.steps > 5)  # it goes on without the client
        assert other.joint_position(JOINT) == 0.5


def test_a_message_that_asks_for_too_many_pictures_is_refused(served, monkeypatch):
    _, running = served
    monkeypatch.setattr(server, "MAX_ANSWER", 10_000)
    with client_of(running) as bad, client_of(running) as other:
        request = RemoteCommand(0x1004, BLOCKING, struct.pack("<i", CAMERA))
        bad.link.sendall(packets.packets(packets.packed_message(MessageHead(0), [request] * 1000)))
        assert bad.link.recv(10) == b""
        assert any("asks for more than 10000 bytes" in line for line in running.lines)
        assert other.joint_position(JOINT) == 0.5


def test_clients_and_streams_are_bounded(served, monkeypatch):
    _, running = served
    monkeypatch.setattr(server, "MAX_STREAMS", 10)
    with client_of(running) as client:
        for handle in range(20):
            client.stream_joint(handle)
        with pytest.raises(ConnectionError):
            client.exchange()
    monkeypatch.setattr(server, "MAX_CLIENTS", 1)
    eventually(lambda: any("more than 10 streams" in line for line in running.lines))
    with client_of(running) as one:
        one.ping()
        with client_of(running) as two, pytest.raises(ConnectionError):
            two.ping()
        one.ping()


def test_a_client_that_sends_many_messages_at_once_gets_one_answer_per_turn(served, monkeypatch):
    """900 streams in every answer would hold up the simulation and the other clients until the last answer."""
    _, running = served
    reads, execute = [], commands.execute

    def counting(scene, command):
        reads.append(command.number)
        return execute(scene, command)

    monkeypatch.setattr(commands, "execute", counting)
    message = packets.packets(packets.packed_message(MessageHead(0), []))
    with client_of(running) as greedy, client_of(running) as other:
        for _ in range(20):
            greedy.stream_joint(JOINT)
        greedy.exchange()
        other.ping()
        reads.clear()
        with running.stepping.lock:  # the server finds both at once
            greedy.link.sendall(100 * message)
            command = RemoteCommand(0x1002, BLOCKING, KEY, struct.pack("<f", 0.5))
            other.link.sendall(packets.packets(packets.packed_message(MessageHead(1), [command])))
        eventually(lambda: len(reads) == 201)  # two streams in a hundred answers
        assert reads.index(0x1002) < 20


def test_what_a_client_has_sent_before_it_leaves_is_executed(served):
    scene, running = served
    with client_of(running) as client:
        client.ping()
        with running.stepping.lock:
            for value in range(5):
                command = RemoteCommand(0x1002, BLOCKING, KEY, struct.pack("<f", value))
                client.link.sendall(packets.packets(packets.packed_message(MessageHead(value), [command])))
            client.link.shutdown(socket.SHUT_WR)
        eventually(lambda: scene.q == 4.0)


def test_messages_that_wait_and_signals_are_bounded(served, monkeypatch):
    scene, running = served
    monkeypatch.setattr(server, "MAX_MESSAGES", 10)
    message = packets.packets(packets.packed_message(MessageHead(0), []))
    with client_of(running) as bad, suppress(ConnectionError):
        bad.link.sendall(11 * message)
        while bad.link.recv(1000):
            pass
    eventually(lambda: any("11 messages without waiting" in line for line in running.lines))
    monkeypatch.setattr(commands, "MAX_SIGNALS", 2)
    with client_of(running) as client:
        for name in "abb":
            client.set_float_signal(name, 1.0, BLOCKING)
        with pytest.raises(RemoteError):
            client.set_float_signal("c", 1.0, BLOCKING)
    assert set(scene.floats) == {"a", "b"}


def test_a_closed_output_does_not_end_the_server():
    def broken(line):
        raise BrokenPipeError

    with RemoteApiServer(OneJointScene(), 0, broken) as running, client_of(running) as client:
        assert client.joint_position(JOINT) == 0.5


def test_a_server_that_is_waited_for_still_runs_after_ctrl_c(served):
    _, running = served
    main = threading.main_thread()
    if threading.current_thread() is not main:
        pytest.skip("signals arrive in the main thread")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, signal.pthread_kill, (main.ident, signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            running.wait(10.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert running.serving
    with client_of(running) as client:
        assert client.joint_position(JOINT) == 0.5


def test_a_used_port_is_an_error(served):
    _, running = served
    with pytest.raises(TrocarError, match="choose another port"):
        RemoteApiServer(OneJointScene(), running.port)
