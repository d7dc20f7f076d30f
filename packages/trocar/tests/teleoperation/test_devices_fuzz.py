"""Random samples of a device: the console continues, the PSM only gets finite goals and holds after an invalid sample.

TROCAR_FUZZ=N tries N samples instead of a few hundred; TROCAR_FUZZ_SEED=N selects other samples.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.odd_values import INPUTS, SEED, nonsense, number, numbers, python_nonsense, rounds
from trocar.robot import Robot
from trocar.teleoperation.devices import DeviceConsole, DeviceLost, DeviceSample, Scripted, TrackedHand, training_scene
from trocar.teleoperation.devices.device import BUTTONS, problem

BATCH = 100  # messages to a socket before the server is looked at


def odd_sample(rng: np.random.Generator) -> Any:
    kind = rng.integers(8)
    if kind == 0:
        return python_nonsense(rng)
    buttons = frozenset(name for name in BUTTONS if rng.integers(12) == 0)
    gripper = number(rng) if rng.integers(4) == 0 else float(rng.uniform(0.0, 1.0))
    if kind == 1:
        return DeviceSample(python_nonsense(rng), python_nonsense(rng), python_nonsense(rng), python_nonsense(rng))
    if kind == 2:
        return DeviceSample(np.array(numbers(rng, 6)), gripper=gripper, buttons=buttons)
    if kind == 3:
        T = np.eye(4)
        T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        T[:3, 3] = rng.normal(size=3) * rng.choice([0.01, 1.0, 1e200])
        return DeviceSample(pose=T, gripper=gripper, buttons=buttons)
    return DeviceSample(0.1 * rng.normal(size=6), gripper=gripper, buttons=buttons)


def test_random_samples_never_move_a_psm_to_nowhere() -> None:
    rng = np.random.default_rng(SEED)
    robot = Robot(training_scene(task="none"), start="ready", speed="stepped")
    device = Scripted(lambda t: odd_sample(rng))
    console = DeviceConsole(robot, {"PSM1": device})
    goals: list[np.ndarray] = []
    robot.bus.subscribe("PSM1/servo_cs", lambda message: goals.append(message.T))
    console.start()
    pair, held = console.pairs["PSM1"].state, 0
    for k in range(rounds(300)):
        if k % 20 < 15:
            console.poll()
        else:  # now and then a usual pinch, so that there is something to break
            device.read, read = (lambda t, k=k: DeviceSample(np.zeros(6), gripper=float(k % 2))), device.read
            console.poll()
            device.read = read
        robot.step(4)
        faulty = bool(console.hands["PSM1"].grip.fault)
        assert not (faulty and pair.following)
        held += faulty
        INPUTS["device samples"] += 1
    assert all(np.isfinite(T).all() for T in goals)
    assert held
    assert goals
    assert np.isfinite(robot.scene.data.qpos).all()


def test_every_sample_is_accepted_or_refused_with_a_short_reason() -> None:
    rng = np.random.default_rng(SEED + 1)
    before = DeviceSample(pose=np.eye(4))
    reasons = set()
    for _ in range(rounds(300)):
        reasons.add(problem(odd_sample(rng), before, abs(number(rng))))
        INPUTS["checks of device samples"] += 1
    assert all(len(reason) < 120 for reason in reasons)
    assert "" in reasons
    assert any(reasons)


def phone_message(rng: np.random.Generator) -> bytes:
    """A pose, nearly one, or nonsense."""
    content = nonsense(rng)
    if rng.integers(3):
        hand = {"p": [0, 0, 0], "q": [0, 0, 0, 1], "closed": 0.5, "buttons": []}
        if rng.integers(2):
            hand[("p", "q", "closed", "buttons", "more")[rng.integers(5)]] = content
        content = {"right": hand}
    raw = json.dumps(content, default=repr).encode()
    if rng.integers(4) == 0:
        k = int(rng.integers(len(raw)))
        raw = raw[:k] + raw[k + 1 :]
    return raw


def test_random_messages_of_a_phone_are_a_pose_or_make_it_lost() -> None:
    pytest.importorskip("websockets", reason="pip install 'trocar[vr]'")
    from trocar.view.webxr.pose_server import refusal

    rng = np.random.default_rng(SEED + 2)
    phone = TrackedHand("phone", "", clock=lambda: 0.0)
    outcomes = {True: 0, False: 0}
    for _ in range(rounds(400)):
        refused = bool(refusal(phone_message(rng), {"right": phone}))
        INPUTS["messages of phones"] += 1
        reason, sample = "", None
        try:
            sample = phone.read(0.0)
        except DeviceLost as lost:
            reason = str(lost)
        assert reason or not refused
        assert len(reason) < 120
        assert sample is None or problem(sample) == ""
        outcomes[bool(reason)] += 1
    assert min(outcomes.values()) > 0


def test_random_messages_to_the_socket_of_a_phone_are_counted_or_end_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The rate limit, which has its own test, is off; a message that is too long disconnects the sender."""
    pytest.importorskip("websockets", reason="pip install 'trocar[vr]'")
    from tests.support.raw_browser import until
    from tests.support.webxr_client import RawDevice
    from trocar.view.webxr import PoseServer, pose_server
    from trocar.view.webxr.certificate import certificate_file

    for name in ("RATE", "BURST"):
        monkeypatch.setattr(pose_server, name, 1e9)
    rng, phone = np.random.default_rng(SEED + 3), TrackedHand("phone", "", clock=lambda: 0.0)
    certificate = certificate_file("127.0.0.1", tmp_path)
    server = PoseServer({"phone": {"right": phone}}, port=0, certificate=certificate)
    device, left = RawDevice(server, certificate), rounds(200)
    while left:
        messages = [phone_message(rng) for _ in range(min(left, BATCH))]
        long = [message for message in messages if len(message) > pose_server.MAX_MESSAGE]
        good = [message for message in messages if len(message) <= pose_server.MAX_MESSAGE]
        before = server.received.total()
        device.post_all(message if rng.integers(2) else message.decode(errors="replace") for message in good)
        expected = before + len(good)
        until(lambda expected=expected: server.received.total() == expected, "all messages")
        if long:
            device.post(long[0])
            until(lambda: not server._open, "the end of the connection")
            with pytest.raises(DeviceLost, match="bytes"):
                phone.read(0.0)
            device = RawDevice(server, certificate)
        INPUTS["messages to the socket of a phone"] += len(good) + bool(long)
        left -= len(messages)
    assert min(server.received[fate] for fate in ("accepted", "refused")) > 0
    device.close()
    server.close()
    assert capfd.readouterr().err == ""
