"""CoppeliaSim's ZMQ remote API: the same scene by the functions of the module sim."""

import socket
import struct
import threading
import time
from contextlib import suppress

import cbor2
import numpy as np
import pytest
import zmq

from tests.support.remote_scene import CAMERA, FRAME, JOINT, OneJointScene
from tests.support.zmq_client import ZmqClient
from tools.coppelia.client import RemoteApiClient
from trocar.errors import TrocarError
from trocar_reproductions.coppelia import zmq_server
from trocar_reproductions.coppelia.server import RemoteApiServer
from trocar_reproductions.coppelia.zmq_server import MAX_REQUEST, ZmqApiServer
from trocar_reproductions.coppelia.zmq_sockets import MAX_CLIENTS


@pytest.fixture
def served():
    scene, lines = OneJointScene(), []
    with RemoteApiServer(scene, 0, lines.append) as legacy, ZmqApiServer(legacy.stepping, 0, lines.append) as server:
        client = ZmqClient(server.port)
        client.lines, client.legacy, client.port = lines, legacy, server.port
        client.count_port = server.count_port
        yield client, scene
        client.close()


def test_functions_are_those_that_the_info_lists(served):
    call, scene = served
    assert call("zmqRemoteApi.require", "sim") == []
    (info,) = call("zmqRemoteApi.info", "sim")
    assert info["handle_world"] == {"const": -1}
    assert {name for name, kind in info.items() if kind == {"func": {}}} >= {"getObject", "step", "setFloatSignal"}
    assert call("sim.getObject", "/PSM/joint") == [JOINT]
    call("sim.setJointPosition", JOINT, 1.5)
    call("sim.setJointTargetVelocity", JOINT, 0.25)
    call("sim.setJointMaxForce", JOINT, 8)
    assert (scene.q, scene.dq, scene.limit) == (1.5, 0.25, 8.0)
    assert call("sim.getJointPosition", JOINT) == [1.5]
    assert call("sim.getJointForce", JOINT) == [-0.5]
    assert call("sim.getJointVelocity", JOINT) == [0.25]
    for arguments in (([1, 2, 3],), ([1, 2, 3], -1), (-1, [1, 2, 3])):
        call("sim.setObjectPosition", FRAME, *arguments)
        assert call("sim.getObjectPosition", FRAME) == [[1, 2, 3]]
    call("sim.setObjectOrientation", FRAME, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(call("sim.getObjectOrientation", FRAME, -1), [[0.1, 0.2, 0.3]], atol=1e-12)
    call("sim.setObjectQuaternion", FRAME, [0, 0, 0, 1])
    assert call("sim.getObjectQuaternion", FRAME) == [[0, 0, 0, 1]]
    assert call("sim.getObjectVelocity", FRAME) == [[0, 1, 2], [3, 4, 5]]
    assert call("sim.getVisionSensorImg", CAMERA)[1] == [3, 2]
    call("sim.setFloatSignal", "x", 0.1)
    assert call("sim.getFloatSignal", "x") == [0.1]
    call("sim.clearFloatSignal", "x")
    assert call("sim.getFloatSignal", "x") == [None]
    call("sim.setInt32Signal", "n", 3)
    assert call("sim.getInt32Signal", "n") == [3]


def test_steps_are_shared_with_the_legacy_api(served):
    call, scene = served
    call("sim.setStepping", True)
    call("sim.startSimulation")
    scene.dq = 1.0
    for k in range(1, 4):
        call("sim.step")
        assert call("sim.getSimulationTime") == [pytest.approx(0.01 * k)]
        assert call("sim.getJointPosition", JOINT) == [pytest.approx(0.5 + 0.01 * k)]
    assert call("sim.getSimulationState") == [17]
    with RemoteApiClient(call.legacy.port) as other:
        assert other.joint_position(JOINT) == pytest.approx(0.53)
        other.synchronous()
        with pytest.raises(RuntimeError, match="legacy remote API steps"):
            call("sim.step")
        other.synchronous(False)
    call("sim.stopSimulation")
    assert call("sim.getSimulationState") == [0]
    with pytest.raises(RuntimeError, match="setStepping"):
        call("sim.step")
    call("sim.setStepping", True)
    with pytest.raises(RuntimeError, match="running simulation"):
        call("sim.step")


def eventually(condition):
    deadline = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(2e-3)


def test_stopping_ends_the_stepping_of_a_script_that_has_ended(served):
    call, scene = served
    call("sim.setStepping", True)
    call("sim.startSimulation")
    call("sim.step")
    call("sim.stopSimulation")
    other = ZmqClient(call.port)  # another script, which does not step
    other("sim.startSimulation")
    eventually(lambda: scene.time > 0.03)
    other.close()


def test_a_synchronous_legacy_client_does_not_wait_for_a_stepping_zmq_client(served):
    call, scene = served
    call("sim.setStepping", True)
    call("sim.startSimulation")
    with RemoteApiClient(call.legacy.port) as legacy:
        legacy.synchronous()
        for k in range(1, 4):
            waiting = threading.Thread(target=legacy.trigger, daemon=True)
            waiting.start()
            waiting.join(10.0)
            assert not waiting.is_alive()
            eventually(lambda k=k: scene.time == pytest.approx(0.01 * k))  # the step follows the answer
        with pytest.raises(RuntimeError, match="legacy remote API steps"):
            call("sim.step")
        legacy.synchronous(False)
    call("sim.step")  # the ZMQ client takes the steps again
    assert scene.time == pytest.approx(0.04)


def test_clients_of_version_4_3_step_and_read_their_errors(served):
    """Their replies have `success` and `error`, and the number of steps comes on a port of its own."""
    call, scene = served
    context = zmq.Context()
    counts = context.socket(zmq.SUB)
    counts.setsockopt(zmq.SUBSCRIBE, b"")
    counts.setsockopt(zmq.RCVTIMEO, 200)
    counts.connect(f"tcp://127.0.0.1:{call.count_port}")

    def old(func, *args):
        return call.raw(cbor2.dumps({"func": func, "args": list(args)}))

    assert old("setStepping", True, "uuid")["success"] is True
    assert old("sim.startSimulation") == {"ret": [None], "success": True}
    steps = []
    deadline = time.monotonic() + 10.0
    while not steps and time.monotonic() < deadline:  # the first counts come before the subscription
        assert old("step", "uuid")["success"]
        with suppress(zmq.Again):
            steps.append(struct.unpack("<i", counts.recv())[0])
    assert steps == [round(scene.time / 0.01)]
    context.destroy(linger=0)
    reply = old("sim.getJointPosition", 99)
    assert reply["success"] is False
    assert "99" in reply["error"]


def test_modules_that_are_not_there_cannot_be_required(served):
    call, _ = served
    with pytest.raises(RuntimeError, match="simIK"):
        call("zmqRemoteApi.require", "simIK")


def test_objects_are_found_by_name_tree_and_pose(served):
    call, scene = served
    assert call("sim.getObject", "/nowhere", {"noError": True}) == [-1]
    assert call("sim.getObject", "/joint", {"noError": True}) == [JOINT]
    assert call("sim.getObjectAlias", JOINT) == ["joint"]
    assert call("sim.getObjectParent", FRAME) == [JOINT]
    assert call("sim.getObjectParent", JOINT) == [-1]
    assert call("sim.getObjectsInTree", -12) == [[JOINT, FRAME, CAMERA]]
    assert call("sim.getObjectsInTree", JOINT, -2, 1) == [[FRAME, CAMERA]]
    assert call("sim.getObjectsInTree", JOINT, -2, 3) == [[FRAME]]
    assert call("sim.getObjectsInTree", -12, 9) == [[CAMERA]]
    call("sim.setObjectPosition", FRAME, [1, 2, 3])
    assert call("sim.getObjectPose", FRAME) == [[1, 2, 3, 0, 0, 0, 1]]
    assert call("sim.getObjectMatrix", FRAME) == [[1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3]]
    assert call("sim.getJointMode", JOINT) == [5, 0]
    assert call("sim.getJointInterval", JOINT) == [False, [-1.0, 3.0]]
    call("sim.setJointTargetForce", JOINT, -4.0)
    assert (scene.limit, scene.dq) == (4.0, -1000.0)
    assert call("sim.getJointTargetForce", JOINT) == [4.0]
    assert call("sim.getStringSignal", "s") == [None]
    call("sim.setStringSignal", "s", "text")
    assert call("sim.getStringSignal", "s") == ["text"]
    call("sim.stopSimulation")
    assert call("sim.getStringSignal", "s") == [None]


@pytest.mark.parametrize(
    ("func", "args", "words"),
    [
        ("sim.loadScene", ("/etc/passwd",), "not served"),
        ("os.system", ("ls",), "not served"),
        ("sim.__class__", (), "not served"),
        ("sim.getJointPosition", (), "wrong arguments"),
        ("sim.getJointPosition", (1.5,), "handle"),
        ("sim.getJointPosition", (99,), "99"),
        ("sim.getJointPosition", (2**80,), "handle"),
        ("sim.setJointPosition", (JOINT, float("nan")), "number"),
        ("sim.setJointPosition", (JOINT, "x"), "number"),
        ("sim.setObjectPosition", (FRAME, [1, 2]), "3 numbers"),
        ("sim.setObjectQuaternion", (FRAME, [0, 0, 0, 0]), "length"),
        ("sim.setFloatSignal", (5, 1.0), "a name must be a text"),
        ("sim.callScriptFunction", ("os.execute", "script"), "os.execute"),
    ],
)
def test_wrong_calls_are_one_line_and_the_next_one_works(served, func, args, words):
    call, _ = served
    with pytest.raises(RuntimeError, match=words) as error:
        call(func, *args)
    assert "\n" not in str(error.value)
    assert call("sim.getJointPosition", JOINT) == [0.5]


def test_a_request_that_is_too_long_disconnects_its_client_alone(served):
    call, _ = served
    long = ZmqClient(call.port)
    long.socket.setsockopt(zmq.RCVTIMEO, 200)
    with pytest.raises(zmq.Again):
        long.raw(bytes(MAX_REQUEST + 1))
    long.close()
    assert call("sim.getObject", "joint") == [JOINT]


def test_the_limit_of_a_request_holds_for_all_its_parts(served):
    """ZeroMQ keeps all parts until the last one has come: with it, 1500 parts of 1 MiB took 4.8 GB."""
    call, _ = served
    many = ZmqClient(call.port)
    many.socket.setsockopt(zmq.RCVTIMEO, 200)
    many.socket.send_multipart([bytes(MAX_REQUEST // 16)] * 17)
    with pytest.raises(zmq.Again):
        many.socket.recv()
    many.close()
    eventually(lambda: any("its message exceeds 1048576 bytes" in line for line in call.lines))
    assert call("sim.getObject", "joint") == [JOINT]


def test_subscribers_who_send_too_much_are_disconnected(served):
    call, _ = served
    context = zmq.Context()
    subscriber = context.socket(zmq.XSUB)
    subscriber.connect(f"tcp://127.0.0.1:{call.count_port}")
    subscriber.send_multipart([b"x" * 600] * 2)
    eventually(lambda: any("its message exceeds 1024 bytes" in line for line in call.lines))
    context.destroy(linger=0)
    assert call("sim.getObject", "joint") == [JOINT]


def test_clients_are_bounded_and_one_that_leaves_makes_room(served):
    call, _ = served
    assert call("sim.getObject", "joint") == [JOINT]
    links = [socket.create_connection(("127.0.0.1", call.port)) for _ in range(MAX_CLIENTS)]
    eventually(lambda: any("refused: 16 are connected" in line for line in call.lines))
    assert call("sim.getObject", "joint") == [JOINT]
    for link in links:
        link.close()
    other = ZmqClient(call.port)
    assert other("sim.getObject", "joint") == [JOINT]
    other.close()


def test_connections_that_are_reset_at_once_take_no_place(served):
    call, _ = served
    for _ in range(3 * MAX_CLIENTS):
        with socket.create_connection(("127.0.0.1", call.port)) as link:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing sends a reset
    other = ZmqClient(call.port)
    assert other("sim.getObject", "joint") == [JOINT]
    other.close()
    assert not any("refused" in line for line in call.lines)


def test_requests_of_one_client_wait_for_those_of_the_others(served):
    """A client that sends a thousand requests at once gets an answer per turn."""
    call, _ = served
    context = zmq.Context()
    greedy = context.socket(zmq.DEALER)
    greedy.connect(f"tcp://127.0.0.1:{call.port}")
    request = cbor2.dumps({"func": "sim.getSimulationState", "args": []})
    for k in range(1000):
        greedy.send_multipart([b"%d" % k, b"", request])
    answers = []
    while len(answers) < 1000:
        answers.append(greedy.recv_multipart())
        if len(answers) == 10:
            assert call("sim.getObject", "joint") == [JOINT]
    assert [int(parts[0]) for parts in answers] == list(range(1000))
    assert {cbor2.loads(parts[2])["success"] for parts in answers} == {True}
    context.destroy(linger=0)


def test_a_simulation_whose_stepping_client_is_silent_goes_on(monkeypatch, served):
    call, scene = served
    monkeypatch.setattr(zmq_server, "TIMEOUT", 0.1)
    call("sim.setStepping", True)
    call("sim.startSimulation")
    eventually(lambda: scene.time > 0.03)


def test_the_simulation_of_a_client_alone_advances_while_nobody_asks(served):
    call, scene = served
    call("sim.startSimulation")
    eventually(lambda: scene.time > 0.03)


def test_a_used_port_is_an_error(served):
    call, _ = served
    with RemoteApiServer(OneJointScene(), 0, print) as legacy, pytest.raises(TrocarError, match="another port"):
        ZmqApiServer(legacy.stepping, call.legacy.port)


@pytest.mark.parametrize("levels", [30, 3])
def test_shared_references_of_cbor_are_refused(served, levels):
    """A few bytes in which every list holds the one before it twice: 2^30 values in an error message."""
    call, _ = served
    value = b"\xd8\x1c\x81\x00"  # tag 28: a value that others refer to, the list [0]
    for k in range(levels):  # tag 29: reference to the list number k + 1 from the inside
        value = b"\xd8\x1c\x82" + value + b"\xd8\x1d" + cbor2.dumps(levels - k)
    request = (
        b"\xa2" + cbor2.dumps("func") + cbor2.dumps("zmqRemoteApi.require") + cbor2.dumps("args") + b"\x81" + value
    )
    assert len(request) < 400
    reply = call.raw(request)
    assert reply["success"] is False
    assert len(reply["err"]) < 400
    assert call("zmqRemoteApi.require", "sim") == []


@pytest.mark.parametrize("value", ["1.5", b"12", True, None])
def test_only_numbers_are_numbers(served, value):
    call, scene = served
    with pytest.raises(RuntimeError, match="expected a number"):
        call("sim.setJointPosition", JOINT, value)
    assert scene.q == OneJointScene().q
