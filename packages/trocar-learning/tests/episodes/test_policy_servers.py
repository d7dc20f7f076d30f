"""Policies at an address: a stub of GR00T's inference service, and servers that fail."""

from __future__ import annotations

import io
import json
import math
import threading
from contextlib import contextmanager

import msgpack
import numpy as np
import pytest
import zmq
from typer.testing import CliRunner

from tests.support.odd_values import SEED, rounds
from tests.support.small_episodes import shorten
from tests.support.waiting import TIMEOUT
from trocar.cli import app
from trocar.errors import TrocarError
from trocar_learning.envs.registration import make_task
from trocar_learning.envs.tasks.reach import ReachTask
from trocar_learning.episodes import Driving, PolicyFailure, PolicyServer, evaluate
from trocar_learning.episodes.policy_messages import MAX_MESSAGE, packed, unpacked
from trocar_learning.episodes.policy_server import goals


def config(**keys):
    """A modality configuration as GR00T sends it."""
    return {"__ModalityConfig_class__": True, "as_json": keys}


CONFIG = {
    "video": config(modality_keys=["endoscope_left"], delta_indices=[-2, 0]),
    "state": config(modality_keys=["psm1_pose", "psm1_gripper"]),
    "language": config(modality_keys=["task"]),
}


def array(values):
    """An array as GR00T's own serialiser sends it."""
    stream = io.BytesIO()
    np.save(stream, np.asarray(values, dtype=np.float32), allow_pickle=False)
    return {"__ndarray_class__": True, "as_npy": stream.getvalue()}


@contextmanager
def serving(answer):
    """A server whose thread answers every request by answer(request), as bytes; None: no answer."""
    context = zmq.Context()
    socket = context.socket(zmq.REP)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    ended, requests = threading.Event(), []

    def run():
        while not ended.is_set():
            if socket.poll(20):
                requests.append(msgpack.unpackb(socket.recv()))
                content = answer(requests[-1])
                if content is None:
                    return
                socket.send_multipart(content if isinstance(content, list) else [content])

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{port}", requests
    finally:
        ended.set()
        thread.join()
        context.destroy(linger=0)


def towards(goal, needs=None):
    """Answers of a policy that sends the tip to a goal (3,) with the orientation and jaw that it has."""

    def answer(request):
        if request["endpoint"] == "get_modality_config":
            return msgpack.packb(needs or {})
        if request["endpoint"] == "reset":
            return msgpack.packb({})
        state = {name: np.load(io.BytesIO(v["as_npy"])) for name, v in request["data"]["observation"]["state"].items()}
        pose = np.repeat(state["psm1_pose"], 4, axis=1)
        pose[..., :3] = goal
        return msgpack.packb([{"psm1_pose": array(pose), "psm1_gripper": array(np.full((1, 4, 1), 0.3))}, {}])

    return answer


@pytest.fixture(scope="module")
def goal():
    env = make_task("Reach", mode="tip_increment")
    env.reset(seed=3)
    assert isinstance(env.task, ReachTask)
    return env.world.value("goal")


def test_a_policy_at_an_address_solves_reach(goal):
    with serving(towards(goal, CONFIG)) as (address, requests), PolicyServer(address) as server:
        (episode,) = evaluate("Reach", server, 1, seed=3, driving=Driving(steps=4, size=(32, 32)))
    assert episode.held
    asked = [request for request in requests if request["endpoint"] == "get_action"]
    assert len(asked) == -(-episode.steps // 4)
    observed = asked[-1]["data"]["observation"]
    assert observed["language"] == {
        "task": [["Move the tip to a point by joint efforts, against gravity and friction"]]
    }
    assert np.load(io.BytesIO(observed["video"]["endoscope_left"]["as_npy"])).shape == (1, 2, 32, 32, 3)
    assert set(observed["state"]) == {"psm1_pose", "psm1_gripper"}


def action(pose, jaw=0.0):
    """An answer with the action psm1_pose."""
    return msgpack.packb([{"psm1_pose": array(pose), "psm1_gripper": array([[[jaw]]])}, {}])


GARBAGE = {
    "no message": b"\xc1garbage",
    "no actions": msgpack.packb([{}, {}]),
    "a number": msgpack.packb(5),
    "an error": msgpack.packb({"error": "out of memory"}),
    "not finite": action(np.full((1, 1, 7), np.nan)),
    "no rotation": action(np.zeros((1, 1, 7))),
    "far away": action(np.full((1, 1, 7), 50.0)),
    "other sizes": action(np.ones((1, 2, 7))),
    "two parts": [msgpack.packb([{}, {}]), b"more"],
    "many parts": [b"part"] * 100,
    "too long": [bytes(MAX_MESSAGE // 8)] * 9,
    "nothing": None,
    "late": b"",
}
SHORT = 0.2  # timeout of servers that do not answer in time [s]


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_server_that_fails_is_stopped_with_the_reason_and_the_arm_holds(kind, goal):
    good = towards(goal)

    def answer(request):
        count[0] += request["endpoint"] == "get_action"
        if kind in ("nothing", "late") and count[0] == 2:
            server.timeout = SHORT  # from the next request on
        if kind == "late" and count[0] > 2:
            failed.wait(TIMEOUT)
            return good(request)
        return GARBAGE[kind] if count[0] > 2 else good(request)

    count, failed = [0], threading.Event()
    reason = r"seed 3, step 8\); the arms held, moving [\d.e-]+ mm"
    with serving(answer) as (address, _), PolicyServer(address, timeout=TIMEOUT) as server:
        with pytest.raises(PolicyFailure, match=reason) as raised:
            evaluate("Reach", server, 1, seed=3, driving=Driving(steps=4))
        failed.set()
    assert "\n" not in str(raised.value)
    assert ("answered in 2 parts" in str(raised.value)) == (kind == "two parts")
    assert ("its message exceeds 67108864 bytes or 64 parts" in str(raised.value)) == (
        kind in ("many parts", "too long")
    )
    moved = float(str(raised.value).rpartition("moving ")[2].removesuffix(" mm"))
    assert moved < 2.0  # 50 mm/s until the failure: the arm comes to rest


def test_the_command_writes_the_episodes_before_a_failure(goal, tmp_path, monkeypatch):
    shorten(monkeypatch)
    good, begun = towards(goal), [0]

    def answer(request):
        begun[0] += request["endpoint"] == "reset"
        return GARBAGE["a number"] if begun[0] > 1 and request["endpoint"] == "get_action" else good(request)

    file = tmp_path / "scores.json"
    file.write_text("of an earlier run")
    with serving(answer) as (address, _):
        command = ["score", "Reach", "--policy", address, "-n", "3", "--seed", "3", "--set", "pictures=32x32"]
        result = CliRunner().invoke(app, [*command, "--json", str(file)])
    assert result.exit_code == 2
    assert "seed 4: the policy server answered 5, not actions by name (seed 4, step 0); the arms held" in result.output
    scores = json.loads(file.read_text())
    assert scores["policy"] == address
    (trial,) = scores["trials"]
    assert trial["seed"] == 3
    assert trial["time"] > 0


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (
            np.zeros((1, 4, 7), int),
            r"psm1_pose as floats of shape \(1, T, k\) or \(T, k\), got int64 of shape \(1, 4, 7\)",
        ),
        (np.zeros(7), r"got float64 of shape \(7,\)"),
        ("text", "got 'text'"),
        (np.zeros((1, 4, 5)), r"must have 7 or 9 and 1 numbers per action, got \(4, 5\)"),
    ],
)
def test_answers_of_another_form_are_described(pose, message):
    with pytest.raises(PolicyFailure, match=message):
        goals({"psm1_pose": pose, "psm1_gripper": np.zeros((1, 4, 1))}, ["psm1"])


@pytest.mark.parametrize(
    ("x", "jaw", "message"), [(2.1, 0.0, "psm1_pose .* beyond 2"), (0.0, 3.3, "gripper .* beyond 3.2")]
)
def test_tips_and_jaws_that_are_far_away_are_refused(x, jaw, message):
    pose, jaws = np.array([[x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]), np.array([[jaw]])
    with pytest.raises(PolicyFailure, match=message):
        goals({"psm1_pose": pose, "psm1_gripper": jaws}, ["psm1"])
    (near,) = goals({"psm1_pose": pose * [0.9, *[1.0] * 6], "psm1_gripper": 0.9 * jaws}, ["psm1"])
    assert (near["psm1"].T[0, 3], near["psm1"].jaw) == pytest.approx((0.9 * x, 0.9 * jaw))


def test_no_server_and_wrong_addresses():
    with (
        PolicyServer("127.0.0.1:1", timeout=0.1) as server,
        pytest.raises(PolicyFailure, match="did not answer within"),
    ):
        server.needs()
    for address in ("5555", "host", "host:0", "host:99999", "http://host:80", "ipc://socket", "a b:1"):
        with pytest.raises(TrocarError, match="HOST:PORT"):
            PolicyServer(address)
    for timeout in (-1.0, 0.0, math.nan, math.inf):
        with pytest.raises(TrocarError, match="timeout must be a number"):
            PolicyServer("127.0.0.1:1", timeout)
    for size in ((0, 480), (640,), (640, 5000), "640x480"):
        with pytest.raises(TrocarError, match=r"size must be \(width, height\)"):
            Driving(size=size)


def test_pictures_that_no_camera_gives_are_refused(goal):
    needs = {"video": {"modality_keys": ["wrist_left"], "delta_indices": [0]}}
    with (
        serving(towards(goal, needs)) as (address, _),
        PolicyServer(address) as server,
        pytest.raises(TrocarError, match="wrist_left; there are endoscope_left, endoscope_right"),
    ):
        evaluate("Reach", server, 1)


def test_rotations_of_six_numbers():
    row = np.array([[[0.1, 0.0, -0.1, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0]]], dtype=np.float32)
    (goal,) = goals({"psm1_pose": row, "psm1_gripper": np.zeros((1, 1, 1), dtype=np.float32)}, ["psm1"])
    np.testing.assert_allclose(goal["psm1"].T[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_damaged_answers_give_a_clear_error():
    random = np.random.default_rng(SEED)
    sound = packed([{"psm1_pose": np.ones((1, 3, 7), np.float32), "psm1_gripper": np.zeros((1, 3, 1), np.float32)}, {}])
    for _ in range(rounds(200)):
        content = bytearray(sound)
        for place in random.integers(len(content), size=random.integers(1, 6)):
            content[place] = random.integers(256)
        try:
            answer = unpacked(bytes(content[: random.integers(1, len(content) + 1)]))
            goals(answer[0] if isinstance(answer, list) and isinstance(answer[0], dict) else {}, ["psm1"])
        except PolicyFailure:
            continue
