"""A keyboard as a device. The page reports key presses; releases are not needed."""

from __future__ import annotations

import threading

import numpy as np

from trocar.errors import check_known
from trocar.spatial import Array
from trocar.teleoperation.devices.device import DEVICES, OPEN, DeviceKind, DeviceSample, PassiveDevice

SPEED, TURN = 0.05, 0.8  # velocity of the hand while a key is down [m/s, rad/s]
# Duration of the motion after a press [s]. A held key repeats 25 to 30 times a second.
PUSH = 0.08
FIRST = 0.25  # duration after the first press, before a keyboard starts to repeat [s]
X, Y, Z, ROLL, PITCH, YAW = np.diag([SPEED] * 3 + [TURN] * 3)[[0, 1, 2, 5, 3, 4]]
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


class Keyboard(PassiveDevice):
    """Keys of a keyboard; `press` may be called by any thread."""

    name = "keyboard"
    help = (
        "A D W S: left, right, up, down; R F: away, towards; Q E: turn; I K J L: pitch, yaw; G: gripper; C: clutch; "
        "V: camera; Z X: scale"
    )

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pressed: list[str] = []
        self._until: dict[str, float] = {}
        self._on: set[str] = set()

    def press(self, key: str) -> None:
        """Report a key press or repetition; key: a letter of `KEYS`."""
        check_known("key", KEYS, key)
        with self._lock:
            self._pressed = [*self._pressed, key][-100:]

    def read(self, t: float) -> DeviceSample:
        """Sample at time t [s]: keys pressed since the last reading move the hand for a short time."""
        with self._lock:
            pressed, self._pressed = self._pressed, []
        for key in pressed:
            if key in SWITCHES:
                self._on ^= {SWITCHES[key]}
            else:
                self._until[key] = t + (PUSH if t < self._until.get(key, t) else FIRST if key in MOTIONS else PUSH)
        down = [key for key, until in self._until.items() if t < until]
        twist = sum((MOTIONS[key][1] for key in down if key in MOTIONS), np.zeros(6))
        buttons = {TAPS[key] for key in down if key in TAPS} | (self._on - {"gripper"})
        gripper = 0.0 if "gripper" in self._on else OPEN
        return DeviceSample(np.asarray(twist), gripper=gripper, buttons=frozenset(buttons))


DEVICES["keyboard"] = DeviceKind(lambda index: Keyboard(), max_count=1, in_page=True)
