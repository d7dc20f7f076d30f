"""Phones and headsets over TLS on the loopback: who may connect, what they may send, and the PSMs that they drive."""

from __future__ import annotations

import datetime
import json
import os
import socket
import stat
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("cryptography", reason="pip install 'trocar[vr]'")
pytest.importorskip("websockets", reason="pip install 'trocar[vr]'")

from scipy.spatial.transform import Rotation
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.raw_browser import until
from tests.support.waiting import TIMEOUT
from tests.support.webxr_client import RawDevice, hand, trusting
from trocar.commands.teleop_tracked import serve_tracked
from trocar.errors import TrocarError
from trocar.robot import Robot, Sensors
from trocar.spatial import Array
from trocar.teleoperation.devices import DeviceConsole, TrackedHand, training_scene
from trocar.teleoperation.devices.device import OPEN
from trocar.view.webxr import PoseServer, certificate_file
from trocar.view.webxr import certificate as certificates
from trocar.view.webxr.pose_server import BURST, MAX_CONNECTIONS, MAX_MESSAGE

INTERVAL = 0.015  # between two poses of a headset [s]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate_file("127.0.0.1", tmp_path_factory.mktemp("cache"))


class Rig:
    """A robot in stepped time, whose clock judges the stream: PSM1 with the right, PSM2 with the left controller."""

    def __init__(self, certificate: Path) -> None:
        self.robot = Robot(
            training_scene(("PSM1", "PSM2"), "none"), start="ready", speed="stepped", sensors=Sensors.ideal()
        )
        self.hands = {
            side: TrackedHand(f"{side} controller", "", clock=lambda: self.robot.time) for side in ("right", "left")
        }
        self.console = DeviceConsole(self.robot, {"PSM1": self.hands["right"], "PSM2": self.hands["left"]}, scale=0.5)
        self.server = PoseServer({"vr": self.hands}, port=0, certificate=certificate)
        self.certificate = certificate
        self.robot.every(5e-3, lambda t: self.console.poll())
        self.device = RawDevice(self.server, certificate, "vr")
        self.device.send({"right": hand(), "left": hand()})
        self.console.start()

    def follow(self) -> None:
        """Have both PSMs follow a connected device, with no errors so far."""
        if not self.server._current:
            self.device = RawDevice(self.server, self.certificate, "vr")
        for psm in self.console.pairs:
            self.console.set_scale(0.5, psm)
        self.pinch(right=hand(), left=hand())
        assert self.following("PSM1")
        assert self.following("PSM2")
        self.console.messages.clear()

    def stream(self, duration: float, **hands: dict[str, object] | None) -> None:
        """Send the same poses for a time of the robot's clock."""
        for _ in range(max(1, round(duration / INTERVAL))):
            self.device.send(hands)
            self.robot.run(INTERVAL)

    def pinch(self, **hands: dict[str, object]) -> None:
        self.stream(0.05, **{side: pose | {"closed": 1.0} for side, pose in hands.items()})
        self.stream(0.05, **hands)

    def setpoint(self, psm: str) -> Array:
        return self.robot.readings(psm).setpoint_pose().copy()

    def following(self, psm: str = "PSM1") -> bool:
        return self.console.pairs[psm].state.following

    def errors(self, psm: str = "PSM") -> list[str]:
        """Errors so far; of one PSM, as which of the two reports first depends on the phase of the polls."""
        errors = [message.text for message in self.console.messages if message.kind == "error"]
        return [text for text in errors if psm in text.partition(":")[0]]

    def close(self) -> None:
        self.device.close()
        self.server.close()


@pytest.fixture(scope="module")
def shared(certificate: Path) -> Iterator[Rig]:
    rig = Rig(certificate)
    yield rig
    rig.close()


@pytest.fixture
def rig(shared: Rig) -> Rig:
    shared.follow()
    return shared


def exhaust(device: RawDevice) -> None:
    while True:
        device.receive()


# -- driving -----------------------------------------------------------------------------------------------------------


def test_two_controllers_drive_two_psms_in_the_axes_of_the_display(rig: Rig) -> None:
    right, left = rig.setpoint("PSM1"), rig.setpoint("PSM2")
    turn = Rotation.from_rotvec([0.0, 0.0, -0.3])  # clockwise for the user, about the line of sight
    for s in np.linspace(0.0, 1.0, 12):  # right hand to the right and up, turning; left hand away
        turned = Rotation.from_rotvec(s * turn.as_rotvec()).as_quat()
        rig.stream(INTERVAL, right=hand([0.02 * s, 0.01 * s, 0.0], turned), left=hand([0.0, 0.0, -0.01 * s]))
    rig.stream(0.1, right=hand([0.02, 0.01, 0.0], turn.as_quat()), left=hand([0.0, 0.0, -0.01]))
    # the display has x to the left, y up and z away; the scale is 0.5
    np.testing.assert_allclose(rig.setpoint("PSM1")[:3, 3] - right[:3, 3], [-0.01, 0.005, 0.0], atol=1e-6)
    np.testing.assert_allclose(rig.setpoint("PSM2")[:3, 3] - left[:3, 3], [0.0, 0.0, 0.005], atol=1e-6)
    clockwise = Rotation.from_rotvec([0.0, 0.0, 0.3]).as_matrix()  # about z away
    np.testing.assert_allclose(rig.setpoint("PSM1")[:3, :3], clockwise @ right[:3, :3], atol=1e-6)
    assert rig.errors() == []


def test_gripper_and_buttons_of_a_controller_reach_the_console(rig: Rig) -> None:
    rig.stream(0.03, right=hand(), left=hand((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.25))
    assert rig.console.hands["PSM2"].grip.gripper == pytest.approx(0.75 * OPEN)
    rig.stream(0.1, right=hand((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, "clutch"), left=hand())
    assert not rig.following("PSM1")
    assert not rig.following("PSM2")
    rig.stream(0.1, right=hand((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, "faster"), left=hand())
    assert rig.following("PSM1")
    assert rig.console.scales == {"PSM1": 0.75, "PSM2": 0.5}


def test_a_device_gets_forces_status_and_pictures(rig: Rig) -> None:
    rig.server.status = lambda: ["PSM1: following"]
    rig.server.picture = lambda pair=(b"left", b"right"): pair
    rig.hands["left"].feel(np.array([0.0, 3.0, 4.0, 0.0, 0.0, 0.0]))
    texts, pictures = [], []
    while len(pictures) < 2 or texts[-1]["force"]["left"] < 4.9:
        content = rig.device.receive()
        (texts.append(json.loads(content)) if isinstance(content, str) else pictures.append(content))
    assert texts[-1] == {"force": {"right": 0.0, "left": 5.0}, "status": ["PSM1: following"]}
    assert pictures == [b"\x00left", b"\x01right"]


# -- faults: the PSM holds, an error says why, and following needs a new pinch -----------------------------------------


def test_a_stream_that_stops_makes_the_psm_hold(rig: Rig) -> None:
    held = rig.setpoint("PSM1")
    rig.robot.run(0.3)
    assert not rig.following()
    assert "right controller has sent no pose for 0.2 s" in rig.errors("PSM1")[0]
    rig.stream(0.2, right=hand([0.3, 0.0, 0.0]), left=hand())
    assert not rig.following()
    np.testing.assert_allclose(rig.setpoint("PSM1"), held, atol=1e-6)
    rig.pinch(right=hand([0.3, 0.0, 0.0]), left=hand())
    assert rig.following()
    np.testing.assert_allclose(rig.setpoint("PSM1"), held, atol=1e-6)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            '{"right": {"p": [NaN, 0, 0], "q": [0, 0, 0, 1], "closed": 0, "buttons": []}}',
            "sends a message that is refused",
        ),
        (
            '{"right": {"p": [null, 0, 0], "q": [0, 0, 0, 1], "closed": 0, "buttons": []}}',
            "sends a message that is refused",
        ),
        (
            '{"right": {"p": [1e999, 0, 0], "q": [0, 0, 0, 1], "closed": 0, "buttons": []}}',
            "sends a message that is refused",
        ),
        ({"right": hand([6.0, 0.0, 0.0])}, "sends a message that is refused"),
        (
            {"right": hand(q=[0.0, 0.0, 0.0, 0.5])},
            "sends a message that is refused (orientation is not a unit quaternion)",
        ),
        ({"right": hand((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 2.0)}, "sends a message that is refused"),
        ({"right": hand((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0, "fire")}, "sends a message that is refused"),
        ({"right": hand() | {"more": 1}}, "sends a message that is refused"),
        ({"right": None}, "is not tracked"),
        ({"right": hand([1.0, 0.0, 0.0])}, "has jumped"),
        ("[]", "sends a message that is refused"),
        (b"\xff\x00", "sends a message that is refused"),
    ],
)
def test_a_message_that_is_no_pose_makes_the_psm_hold(rig: Rig, message: object, reason: str) -> None:
    held = rig.setpoint("PSM1")
    rig.device.send(message)
    rig.robot.run(0.02)
    rig.stream(0.04, right=hand(), left=hand())
    assert not rig.following()
    assert f"right controller {reason}" in rig.errors("PSM1")[0]
    np.testing.assert_allclose(rig.setpoint("PSM1"), held, atol=1e-6)


@pytest.mark.parametrize("how", ["leaves", "is replaced"])
def test_a_device_that_vanishes_makes_the_psm_hold(rig: Rig, how: str) -> None:
    first = rig.device
    if how == "is replaced":
        rig.device = RawDevice(rig.server, rig.certificate, "vr")
        with pytest.raises(ConnectionClosed, match="another page took over"):
            exhaust(first)
        rig.device.send({"right": hand(), "left": hand()})
    else:
        first.close()
        until(lambda: not rig.server._current, "the connection to end")
    rig.robot.run(0.02)
    assert not rig.following()
    assert not rig.following("PSM2")
    assert ("was replaced" if how == "is replaced" else "has disconnected") in rig.errors("PSM1")[0]


def test_a_message_that_is_too_long_ends_the_connection(rig: Rig) -> None:
    rig.device.post(b" " * (MAX_MESSAGE + 1))
    until(lambda: not rig.server._current, "the connection to end")
    rig.robot.run(0.02)
    assert f"more than {MAX_MESSAGE} bytes" in rig.errors("PSM1")[0]
    assert not rig.following()


def test_a_flood_ends_the_connection(rig: Rig) -> None:
    message = json.dumps({"right": hand(), "left": hand()})
    with suppress(ConnectionClosed):
        rig.device.post(message, times=20 * int(BURST))
    with pytest.raises(ConnectionClosed):
        exhaust(rig.device)
    until(lambda: not rig.server._current, "the connection to end")
    rig.robot.run(0.02)
    assert "messages a second" in rig.errors("PSM1")[0]
    assert not rig.following()


def test_damaged_messages_are_refused_and_the_server_goes_on(rig: Rig) -> None:
    before = rig.server.received["refused"]
    for raw in ("", "null", "[" * 1000, '{"right": ' * 300):
        rig.device.send(raw)
    assert rig.server.received["refused"] == before + 4
    rig.pinch(right=hand(), left=hand())
    assert rig.following()


def test_many_tabs_and_packets_that_are_no_tls_leave_one_device_that_drives(rig: Rig) -> None:
    """Every tab takes over from the one before; the earlier ones are slow to go, as they do not read."""
    tabs, most = [], 0
    for _ in range(3 * MAX_CONNECTIONS):
        with suppress(InvalidStatus):  # too many at this moment
            tabs.append(RawDevice(rig.server, rig.certificate, "vr"))
        most = max(most, rig.server._open)
        with socket.create_connection(("127.0.0.1", rig.server.port)) as other:
            other.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(range(256)))
    assert 1 <= most <= MAX_CONNECTIONS
    assert len(rig.server._current) == 1
    for tab in tabs:
        tab.close()
    until(lambda: not rig.server._open, "the end of all connections")
    rig.follow()  # a new device


# -- who connects ------------------------------------------------------------------------------------------------------


def test_strangers_are_refused(rig: Rig) -> None:
    for case in (
        {"token": "wrong"},
        {"token": ""},
        {"headers": {"Origin": "https://evil.example"}},
        {"headers": {"Origin": f"https://127.0.0.1:{rig.server.port + 1}"}},
    ):
        with pytest.raises(InvalidStatus, match="403"):
            RawDevice(rig.server, rig.certificate, "vr", **case)
    with pytest.raises(InvalidStatus, match="404"):
        RawDevice(rig.server, rig.certificate, "toaster")
    url = rig.server.addresses()["vr"]
    context = trusting(rig.certificate)
    for path, headers, status in (
        (url, {"Host": "evil.example"}, 403),
        (url.partition("?")[0], {}, 403),
        (url.replace("/?", "/pose_server.py?"), {}, 404),
        (url.replace("/?", "/../certificate.py?"), {}, 404),
    ):
        with pytest.raises(urllib.error.HTTPError, match=str(status)):
            urllib.request.urlopen(urllib.request.Request(path, headers=headers), context=context, timeout=TIMEOUT)
    assert rig.server._current  # the device that was there still is
    same = {"Origin": f"https://127.0.0.1:{rig.server.port}"}
    RawDevice(rig.server, rig.certificate, "vr", headers=same).close()
    until(lambda: not rig.server._current, "the connection to end")


def test_the_page_is_served_with_strict_headers(rig: Rig) -> None:
    url = rig.server.addresses()["vr"]
    assert urlsplit(url).hostname == "127.0.0.1"
    with urllib.request.urlopen(url, context=trusting(rig.certificate), timeout=TIMEOUT) as answer:
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert {"Secure", "HttpOnly", "SameSite=Strict"} <= set(answer.headers["Set-Cookie"].split("; "))
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert b"page.js" in answer.read()


def test_a_port_that_is_taken_or_impossible_is_an_error(rig: Rig) -> None:
    with pytest.raises(TrocarError, match="in use"):
        PoseServer({}, port=rig.server.port, certificate=rig.certificate)
    with pytest.raises(TrocarError, match="port must be"):
        PoseServer({}, port=70000, certificate=rig.certificate)
    with pytest.raises(TrocarError, match=r"host no such host, port 0: .*choose another one"):
        PoseServer({}, "no such host", port=0, certificate=rig.certificate)


# -- certificate -------------------------------------------------------------------------------------------------------


def test_the_private_key_is_the_owners_and_a_good_certificate_is_used_again(tmp_path: Path) -> None:
    path = certificate_file("127.0.0.1", tmp_path / "cache")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = path.read_bytes()
    assert b"PRIVATE KEY" in first
    assert certificate_file("127.0.0.1", tmp_path / "cache").read_bytes() == first
    os.chmod(path, 0o644)  # others may have read it
    second = certificate_file("127.0.0.1", tmp_path / "cache").read_bytes()
    assert second != first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    third = certificate_file("10.1.2.3", tmp_path / "cache").read_bytes()  # an address that it does not name
    assert third != second
    path.write_text("damaged")
    assert b"PRIVATE KEY" in certificate_file("10.1.2.3", tmp_path / "cache").read_bytes()


def test_a_certificate_that_ends_soon_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "VALID", datetime.timedelta(days=3))
    short = certificate_file("127.0.0.1", tmp_path).read_bytes()
    monkeypatch.undo()
    assert certificate_file("127.0.0.1", tmp_path).read_bytes() != short


def test_a_server_on_all_addresses_names_this_machine() -> None:
    names = certificates.machine_names("0.0.0.0")
    assert certificates.network_address() in names
    assert "0.0.0.0" not in names
    assert {"127.0.0.1", "localhost"} <= set(names)


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("trocar.view.webxr")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    console: Any = None  # not reached
    with pytest.raises(TrocarError, match=r"require cryptography, which is not installed: pip install 'trocar\[vr\]'"):
        serve_tracked(ExitStack(), console, None, "127.0.0.1", None)
