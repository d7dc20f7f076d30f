"""A 3Dconnexion SpaceMouse, read through pyspacemouse."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.teleoperation.devices.device import DEVICES, OPEN, DeviceKind, DeviceSample, deadband

SPEED, TURN = 0.10, 1.5  # of the hand at full deflection [m/s, rad/s]
DEADBAND = 0.05  # share of the full deflection
MAX_REPORTS = 16  # in one reading; the mouse sends 125 of each kind per second
# Axes of the mouse (x right, y away, z up) in the display (x left, y up, z away).
R_DISPLAY_MOUSE = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
INSTALL = "pip install 'trocar[teleop]'"


class SpaceMouse:
    """The SpaceMouse of an index among those connected; the cap is the hand.

    Button 1: close the gripper. Button 2: clutch. Both: camera.

    Args:
        mouse: an open device of pyspacemouse with the convention HID_Z_UP. Default: open the one of `index`.
    """

    begin = "press button 1 twice"
    help = "cap: the hand; button 1: gripper; button 2: clutch; both: camera"

    def __init__(self, index: int = 0, mouse: Any = None) -> None:
        self.name = f"SpaceMouse {index + 1}"
        self._mouse = _open(index) if mouse is None else mouse

    @property
    def connected(self) -> bool:
        return bool(self._mouse.connected)

    def read(self, t: float) -> DeviceSample:
        """Deflection of the cap as velocity of the hand."""
        state = self._mouse.state
        for _ in range(MAX_REPORTS):
            read = state.t
            state = self._mouse.read()
            if state.t == read:  # no new report
                break
        v = SPEED * R_DISPLAY_MOUSE @ [deadband(x, DEADBAND) for x in (state.x, state.y, state.z)]
        w = TURN * R_DISPLAY_MOUSE @ [deadband(x, DEADBAND) for x in (state.roll, state.pitch, state.yaw)]
        first, second = (len(state.buttons) > k and bool(state.buttons[k]) for k in (0, 1))
        held = "camera" if first and second else "clutch" if second else ""
        closed = first and not second
        buttons = frozenset({held} - {""})
        return DeviceSample(np.concatenate([v, w]), gripper=0.0 if closed else OPEN, buttons=buttons)

    def feel(self, wrench: Array) -> None:
        """Do nothing: a SpaceMouse has no actuators."""

    def close(self) -> None:
        self._mouse.close()


def _open(index: int) -> Any:
    try:
        import pyspacemouse
    except ModuleNotFoundError as error:
        raise TrocarError(f"a SpaceMouse needs {error.name}: {INSTALL}") from error
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            convention = pyspacemouse.AxisConvention.HID_Z_UP
            return pyspacemouse.open(device_index=index, axis_convention=convention)
    except Exception as error:  # of HID: missing device or permission
        raise TrocarError(
            f"no SpaceMouse can be used ({error}); plug it in, apt install libhidapi-hidraw0, check that your user may "
            "read /dev/hidraw*, or use the keyboard"
        ) from error


DEVICES["spacemouse"] = DeviceKind(SpaceMouse)
