"""Devices of the page: keys that its browser reports, and a handle in the scene that a mouse drags."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import check_known
from trocar.spatial import Array, checked_pose, rotation_vector
from trocar.teleoperation.devices.device import DEVICES, OPEN, DeviceKind, DeviceSample, PassiveDevice

PUSH = 0.08  # duration of the motion after a press [s]; a held key repeats 25 to 30 times a second
FIRST = 0.25  # duration after the first press, before a keyboard starts to repeat [s]
X, Y, Z, PITCH, YAW, ROLL = np.diag([0.05, 0.05, 0.05, 0.8, 0.8, 0.8])  # velocities while a key is down [m/s, rad/s]
MOTIONS: dict[str, tuple[str, Array]] = {
    "A": ("left", X),
    "D": ("right", -X),
    "W": ("up", Y),
    "S": ("down", -Y),
    "R": ("away", Z),
    "F": ("towards you", -Z),
    "Q": ("turn left", -ROLL),
    "E": ("turn right", ROLL),
    "I": ("pitch up", -PITCH),
    "K": ("pitch down", PITCH),
    "J": ("yaw left", YAW),
    "L": ("yaw right", -YAW),
}
SWITCHES = {"G": "gripper", "C": "clutch", "V": "camera"}  # one press switches on, the next off
TAPS = {"Z": "slower", "X": "faster"}
KEYS = {key: name for key, (name, _) in MOTIONS.items()} | SWITCHES | TAPS
CHOICES = "123"  # keys that choose which of several keyboards the others drive, one for each PSM
SPEED, TURN = 0.15, 2.0  # velocity of the hand towards the handle [m/s, rad/s]
HEARTBEAT, LOST = 0.2, 0.5  # time between reports of held keys, and after which they count as released [s]
MAX_INTERVAL = 0.05  # between readings that moves the hand [s]


class Keyboard(PassiveDevice):
    """Keys of a keyboard, several at a time. Any thread may call `hold`, or `press` where releases are not known."""

    name = "keyboard"
    begin = "press G twice"
    help = (
        "A D W S: left, right, up, down; R F: away, towards; Q E: turn; I K J L: pitch, yaw; G: gripper; C: clutch; "
        "V: camera; Z X: scale"
    )

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pressed: list[str] = []
        self._until: dict[str, float] = {}
        self._on: set[str] = set()
        self._down: frozenset[str] = frozenset()
        self._reported, self._seen = False, -np.inf  # a report since the last reading, and its time

    def press(self, key: str) -> None:
        """Report a key press or repetition; key: a letter of `KEYS`."""
        check_known("key", KEYS, key)
        with self._lock:
            self._pressed = [*self._pressed, key][-100:]

    def hold(self, keys: Collection[str]) -> None:
        """Report the keys that are down: at every change, and every `HEARTBEAT` s or more often while one is down."""
        for key in keys:
            check_known("key", KEYS, key)
        with self._lock:
            new = frozenset(keys) - self._down
            self._pressed = [*self._pressed, *(key for key in sorted(new) if key not in MOTIONS)][-100:]
            self._down, self._reported = frozenset(keys), True

    def read(self, t: float) -> DeviceSample:
        """Sample at time t [s]: held keys move the hand; keys reported by `press` move it for a short time."""
        with self._lock:
            pressed, self._pressed = self._pressed, []
            held, reported, self._reported = self._down, self._reported, False
        if reported:
            self._seen = t
        if t - self._seen > LOST:  # the page has gone: a key cannot stay down for ever
            held = frozenset()
        for key in pressed:
            if key in SWITCHES:
                self._on ^= {SWITCHES[key]}
            else:
                self._until[key] = t + (PUSH if t < self._until.get(key, t) else FIRST if key in MOTIONS else PUSH)
        down = held | {key for key, until in self._until.items() if t < until}
        twist = sum((MOTIONS[key][1] for key in down if key in MOTIONS), np.zeros(6))
        buttons = {TAPS[key] for key in down if key in TAPS} | (self._on - {"gripper"})
        gripper = 0.0 if "gripper" in self._on else OPEN
        return DeviceSample(np.asarray(twist), gripper=gripper, buttons=frozenset(buttons))


class Keys:
    """The keys of a page for its keyboards, one at a time: those of `CHOICES` choose which. The others hold still.

    Args:
        keyboards: returns those in use, one for each hand; a hand may exchange its device.

    Attributes: chosen: index of the one that the keys drive.
    """

    def __init__(self, keyboards: Callable[[], Sequence[Keyboard]]) -> None:
        self._keyboards, self.chosen = keyboards, 0

    def hold(self, keys: Collection[str]) -> None:
        """Report the keys that are down, those of `KEYS` and `CHOICES`; as often as `Keyboard.hold`."""
        keyboards = self._keyboards()
        for key in set(keys) & set(CHOICES[: len(keyboards)]):
            self.chosen = CHOICES.index(key)
        self.chosen = min(self.chosen, max(len(keyboards) - 1, 0))
        for index, keyboard in enumerate(keyboards):
            keyboard.hold(set(keys) - set(CHOICES) if index == self.chosen else ())


class Mouse(PassiveDevice):
    """Moves the hand along with the dragged handle, at a limited speed because a browser sends large steps.

    `place`, `carry` and `squeeze` may be called by any thread.
    """

    name = "mouse"
    begin = "tick and untick the box that closes the gripper"
    help = "drag the handle at the instrument's tip; gripper, clutch and camera are boxes to tick"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pose, self._target, self._closed = np.eye(4), np.eye(4), False
        self._placed = np.eye(4), np.eye(4)  # handle and hand when the handle was placed
        self._read = -np.inf

    def place(self, T: Array) -> None:
        """Put the handle at a pose (4, 4) in the display frame; the hand stays in place."""
        T = checked_pose(T)
        with self._lock:
            self._placed, self._target = (T, self._pose), self._pose

    def carry(self, T: Array) -> None:
        """Drag the handle to a pose (4, 4) in the display frame."""
        T = checked_pose(T)
        with self._lock:
            handle, hand = self._placed
            self._target = hand.copy()
            self._target[:3, 3] += T[:3, 3] - handle[:3, 3]
            self._target[:3, :3] = T[:3, :3] @ handle[:3, :3].T @ hand[:3, :3]

    def squeeze(self, closed: bool) -> None:
        """Close or open the gripper."""
        self._closed = closed

    def read(self, t: float) -> DeviceSample:
        """Pose of the hand at time t [s], on its way to the handle."""
        with self._lock:
            target, here = self._target, self._pose
            dt, self._read = min(t - self._read, MAX_INTERVAL), t
            way, turn = target[:3, 3] - here[:3, 3], rotation_vector(target[:3, :3] @ here[:3, :3].T)
            far, angle = (max(float(np.linalg.norm(x)), 1e-12) for x in (way, turn))
            share = min(1.0, SPEED * dt / far, TURN * dt / angle)
            self._pose = moved = here.copy()
            moved[:3, 3] += share * way
            moved[:3, :3] = Rotation.from_rotvec(share * turn).as_matrix() @ here[:3, :3]
            return DeviceSample(pose=moved, gripper=0.0 if self._closed else OPEN)


DEVICES["keyboard"] = DeviceKind(lambda index: Keyboard(), max_count=2, in_page=True)
# a dragged handle moves the tip one to one
DEVICES["mouse"] = DeviceKind(lambda index: Mouse(), max_count=1, in_page=True, scale=1.0)
