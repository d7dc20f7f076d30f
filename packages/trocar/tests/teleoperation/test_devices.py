"""Input devices: samples of each, without hardware."""

from __future__ import annotations

import sys
from functools import partial
from importlib.metadata import version

import numpy as np
import pytest

from tests.support.virtual_gamepad import SHOULDERS, virtual_gamepad
from trocar.errors import TrocarError
from trocar.spatial import pose, rotation
from trocar.teleoperation.devices import (
    DEVICES,
    DeviceSample,
    Gamepad,
    Hand,
    Keyboard,
    Mouse,
    Scripted,
    SpaceMouse,
    TrackedHand,
)
from trocar.teleoperation.devices.device import OPEN, STALE, TIMEOUT, deadband, problem
from trocar.teleoperation.devices.gamepad import SPEED, TURN
from trocar.teleoperation.devices.page_devices import FIRST, KEYS

STILL = DeviceSample(np.zeros(6))


@pytest.fixture(autouse=True)
def _no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", "1")
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")


# -- samples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (STILL, ""),
        (DeviceSample(pose=pose(rotation("x", 1.0), (0.1, 0.2, 0.3))), ""),
        (DeviceSample(), "without twist and pose"),
        (DeviceSample(np.zeros(6), np.eye(4)), "both"),
        (DeviceSample(np.full(6, np.nan)), "not finite"),
        (DeviceSample(np.zeros(5)), "shape"),
        (DeviceSample(np.array([6.0, 0, 0, 0, 0, 0])), "impossible twist"),
        (DeviceSample(pose=np.full((4, 4), np.nan)), "not finite"),
        (DeviceSample(pose=np.diag([1.0, 1.0, -1.0, 1.0])), "not a rigid transform"),
        (DeviceSample(pose=1.01 * np.eye(4)), "not a rigid transform"),
        (DeviceSample(pose=pose(p=(0.0, 0.0, 6.0))), "more than 5 m away"),
        (DeviceSample(np.zeros(6), gripper=np.inf), "gripper angle that is not finite"),
        (DeviceSample(np.zeros(6), gripper=4.0), "impossible gripper"),
        (DeviceSample(np.zeros(6), buttons=frozenset({"fire"})), "unknown button"),
        ("nonsense", "invalid sample"),
    ],
)
def test_impossible_samples_are_named(sample: DeviceSample, reason: str) -> None:
    rejection = problem(sample)
    assert reason in rejection
    assert bool(rejection) == bool(reason)


def test_a_carried_device_that_jumps_is_refused() -> None:
    here, there = DeviceSample(pose=np.eye(4)), DeviceSample(pose=pose(p=(0.1, 0.0, 0.0)))
    assert problem(there, here, 0.05) == ""
    assert "jumped" in problem(there, here, 0.01)


def test_the_deadband_has_no_step() -> None:
    stick = partial(deadband, width=0.1)
    assert stick(0.1) == stick(-0.05) == 0.0
    assert stick(0.1 + 1e-9) < 1e-8
    assert stick(1.0) == 1.0
    assert stick(-2.0) == -1.0


# -- hands -----------------------------------------------------------------------------------------------------------


def test_a_deflected_device_moves_the_grip_and_a_carried_one_places_it() -> None:
    hand = Hand(Scripted(lambda t: DeviceSample(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 1.0]))))
    for k in range(1000):
        if k % 5 == 0:
            hand.poll(1e-3 * k)
        grip = hand.step(1e-3 * k, 1e-3)
    assert np.allclose(grip.pose, pose(rotation("z", 1.0), (0.1, 0.0, 0.0)), atol=1e-9)
    carried = Hand(Scripted(lambda t: DeviceSample(pose=pose(p=(0.1 * t, 0.0, 0.0)))))
    for k in range(1000):
        carried.poll(1e-3 * k)
        grip = carried.step(1e-3 * k, 1e-3)
    assert np.allclose(grip.pose[:3, 3], [0.0999, 0.0, 0.0])
    assert np.allclose(grip.twist, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-6)


def test_a_grip_stops_when_samples_age_and_fails_when_they_cease() -> None:
    hand = Hand(Scripted(lambda t: DeviceSample(np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]))))
    assert "nothing yet" in hand.step(0.0, 1e-3).fault
    hand.poll(0.0)
    assert hand.step(STALE, 1e-3).twist[0] == 0.1
    assert not hand.step(STALE + 1e-3, 1e-3).twist.any()
    assert not hand.step(TIMEOUT, 1e-3).fault
    assert "sent nothing for" in hand.step(TIMEOUT + 1e-3, 1e-3).fault


# -- gamepad ---------------------------------------------------------------------------------------------------------


def test_a_gamepad_is_read_rumbles_and_can_be_unplugged() -> None:
    with virtual_gamepad() as virtual:
        pad = Gamepad()
        assert pad.connected
        assert not pad.read(0.0).twist.any()
        assert pad.read(0.0).gripper == OPEN
        for axis, value in ((0, 1.0), (1, -1.0), (2, 1.0), (3, -1.0), (5, 1.0)):
            virtual.move(axis, value)
        for button in (SHOULDERS[0], 3, 13):  # left shoulder, Y, cross to the left
            virtual.press(button)
        sample = pad.read(0.01)
        # right, up, away; yaw to the left, clockwise about the line of sight
        assert np.allclose(sample.twist, [-SPEED, SPEED, SPEED, 0.0, TURN, TURN], atol=1e-3)
        assert sample.gripper == pytest.approx(0.0, abs=1e-3)
        assert sample.buttons == {"clutch", "faster"}
        assert problem(sample) == ""
        pad.feel(np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0]))
        pad.feel(np.zeros(6))
        pad.feel(np.zeros(6))
        assert [low for low, _ in virtual.rumbles] == [pytest.approx(32768, abs=2), 0]
        virtual.unplug()
        assert not pad.connected
        pad.close()


def test_the_private_controllers_of_pygame_are_those_of_version_2() -> None:
    """`pygame._sdl2.controller` names the sticks alike for all makes; pygame has no public interface for that."""
    pytest.importorskip("pygame", reason="pip install 'trocar[teleop]'")
    assert version("pygame").startswith("2.")
    from pygame._sdl2 import controller

    assert {"init", "get_count", "is_controller", "Controller"} <= set(dir(controller))
    assert {"attached", "get_axis", "get_button", "rumble", "quit"} <= set(dir(controller.Controller))


def test_a_gamepad_that_is_not_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame")
    with pytest.raises(TrocarError, match="gamepad 5 was not found"):
        Gamepad(4)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(TrocarError, match=r"pip install 'trocar\[teleop\]'"):
        Gamepad()


# -- SpaceMouse ------------------------------------------------------------------------------------------------------


class Reports:
    """A HID device that has some reports to read."""

    def __init__(self, *reports: bytes) -> None:
        self.reports = list(reports)

    def read(self, size: int) -> bytes:
        return self.reports.pop(0) if self.reports else b""

    def close(self) -> None:
        pass


def test_bytes_of_a_spacemouse_become_a_twist() -> None:
    pyspacemouse = pytest.importorskip("pyspacemouse", reason="pip install 'trocar[teleop]'")
    from pyspacemouse.config_helpers import apply_axis_convention
    from pyspacemouse.device import SpaceMouseDevice
    from pyspacemouse.loader import get_device_specs

    def report(channel: int, *values: int) -> bytes:
        return bytes([channel]) + b"".join(value.to_bytes(2, "little", signed=True) for value in values)

    info = apply_axis_convention(get_device_specs()["SpaceMouseCompact"], pyspacemouse.AxisConvention.HID_Z_UP)
    # HID: x right, y towards the user, z down; full deflection is 350
    hid = Reports(report(1, 350, 0, 0), report(2, 0, 0, 350), bytes([3, 1, 0]))
    mouse = SpaceMouse(mouse=SpaceMouseDevice(info, hid))
    sample = mouse.read(0.0)
    assert np.allclose(sample.twist, [-SPEED, 0, 0, 0, -TURN, 0])  # to the right; clockwise from above
    assert sample.gripper == 0.0
    assert not sample.buttons
    hid.reports += [report(1, 0, -350, -350), report(2, 0, 0, 0), bytes([3, 3, 0])]
    sample = mouse.read(0.01)
    assert np.allclose(sample.twist, [0, SPEED, SPEED, 0, 0, 0])  # up and away
    assert sample.gripper == OPEN
    assert sample.buttons == {"camera"}
    hid.reports += [bytes([3, 2, 0])]
    assert mouse.read(0.02).buttons == {"clutch"}
    assert mouse.connected
    mouse.close()
    assert not mouse.connected


def test_a_spacemouse_that_is_not_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspacemouse")
    with pytest.raises(TrocarError, match="no SpaceMouse can be used"):
        SpaceMouse()
    monkeypatch.setitem(sys.modules, "pyspacemouse", None)
    with pytest.raises(TrocarError, match=r"pip install 'trocar\[teleop\]'"):
        SpaceMouse()


# -- registry --------------------------------------------------------------------------------------------------------


def test_every_module_of_a_device_registers_it() -> None:
    assert set(DEVICES) == {"gamepad", "spacemouse", "keyboard", "mouse", "phone", "vr", "scripted"}
    for kind in (DEVICES[name] for name in ("keyboard", "mouse", "phone", "vr", "scripted")):
        devices = [kind.open(index) for index in range(kind.max_count or 3)]
        if kind is not DEVICES["keyboard"]:  # the keys of the page are one device, for two hands
            assert len({device.name for device in devices}) == len(devices)
        assert all(device.connected and device.help for device in devices)
    right, left = (DEVICES["vr"].open(index) for index in range(2))
    assert (right.name, left.name) == ("right controller", "left controller")


# -- keyboard --------------------------------------------------------------------------------------------------------


def test_a_key_moves_the_hand_for_a_moment_and_switches_stay() -> None:
    keys = Keyboard()
    assert not keys.read(0.0).twist.any()
    for key in ("D", "W", "C"):
        keys.press(key)
    sample = keys.read(1.0)
    assert sample.twist[0] < 0 < sample.twist[1]
    assert sample.buttons == {"clutch"}
    assert keys.read(1.0 + 0.9 * FIRST).twist.any()
    after = keys.read(1.0 + 1.1 * FIRST)
    assert not after.twist.any()
    assert after.buttons == {"clutch"}
    keys.press("C")
    keys.press("G")
    assert keys.read(2.0).buttons == frozenset()
    assert keys.read(2.0).gripper == 0.0


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_key_does_something_possible(key: str) -> None:
    keys = Keyboard()
    keys.press(key)
    sample = keys.read(0.0)
    assert problem(sample) == ""
    assert sample.twist.any() or sample.buttons or sample.gripper == 0.0


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(TrocarError, match="key"):
        Keyboard().press("1")


# -- mouse -----------------------------------------------------------------------------------------------------------


def test_the_hand_goes_to_a_dragged_handle_at_a_limited_speed() -> None:
    mouse, goal = Mouse(), pose(rotation("y", 0.3), (0.03, 0.0, 0.0))
    mouse.read(0.0)
    mouse.carry(goal)
    before = mouse.read(0.005)
    for k in range(2, 60):
        sample = mouse.read(0.005 * k)
        assert problem(sample, before, 0.005) == ""
        assert np.linalg.norm(sample.pose[:3, 3] - before.pose[:3, 3]) < 0.151 * 0.005
        before = sample
    assert np.allclose(before.pose, goal, atol=1e-9)
    assert before.gripper == OPEN
    mouse.place(np.eye(4))  # the handle goes back, the hand stays
    assert np.allclose(mouse.read(1.0).pose, goal, atol=1e-9)
    mouse.squeeze(True)
    assert mouse.read(1.1).gripper == 0.0
    with pytest.raises(TrocarError):
        mouse.carry(np.full((4, 4), np.nan))


# -- tracked hands -----------------------------------------------------------------------------------------------------


def test_a_tracked_hand_glides_from_pose_to_pose() -> None:
    now = [0.0]
    phone = TrackedHand("phone", "", clock=lambda: now[0])
    still, none = np.array([0.0, 0.0, 0.0, 1.0]), frozenset[str]()
    phone.put(np.zeros(3), still, 0.0, none)
    now[0] = 0.02
    half = np.array([0.0, 0.0, np.sin(0.1), np.cos(0.1)])  # 0.2 rad about z towards the user
    phone.put(np.array([0.01, 0.02, 0.03]), half, 0.25, frozenset({"clutch"}))
    now[0] = 0.03  # half of the time between the two poses
    sample = phone.read(0.0)
    assert sample.pose is not None
    np.testing.assert_allclose(sample.pose, pose(rotation("z", -0.1), (-0.005, 0.01, -0.015)), atol=1e-12)
    assert sample.gripper == 0.75 * OPEN
    assert sample.buttons == {"clutch"}
    now[0] = 0.05
    np.testing.assert_allclose(phone.read(0.0).pose, pose(rotation("z", -0.2), (-0.01, 0.02, -0.03)), atol=1e-12)


def test_a_tracked_hand_that_was_lost_begins_anew_and_says_so() -> None:
    now = [0.0]
    phone = TrackedHand("phone", "", clock=lambda: now[0])
    hand = Hand(phone)

    def fault() -> str:
        hand.poll(now[0])
        return hand.step(now[0], 1e-3).fault

    assert fault() == "phone is not connected yet"
    phone.put(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), 0.0, frozenset())
    assert fault() == ""
    now[0] = 0.21
    assert fault() == "phone has sent no pose for 0.2 s"
    phone.lose("has disconnected")
    phone.put(np.ones(3), np.array([0.0, 0.0, 0.0, 1.0]), 0.0, frozenset())  # elsewhere, before anybody has looked
    assert fault() == "phone has disconnected"
    assert fault() == ""
    np.testing.assert_allclose(hand.grip.pose[:3, 3], [-1.0, 1.0, -1.0])
    phone.close()
    assert fault() == "phone has gone"
