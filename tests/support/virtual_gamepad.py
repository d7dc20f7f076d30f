"""A gamepad without hardware: SDL's virtual joystick, in the SDL library that pygame brings along."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

AXES, BUTTONS = 6, 15  # of SDL's own mapping: LEFTX, LEFTY, RIGHTX, RIGHTY, TRIGGERLEFT, TRIGGERRIGHT; A, B, X, Y, ...
GAMECONTROLLER = 1
SHOULDERS = 9, 10
RUMBLE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint16, ctypes.c_uint16)


class _Description(ctypes.Structure):
    """SDL_VirtualJoystickDesc, version 1."""

    _fields_ = (
        *((name, ctypes.c_uint16) for name in ("version", "type", "naxes", "nbuttons", "nhats", "vendor", "product")),
        ("padding", ctypes.c_uint16),
        ("button_mask", ctypes.c_uint32),
        ("axis_mask", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("userdata", ctypes.c_void_p),
        ("update", ctypes.c_void_p),
        ("set_player_index", ctypes.c_void_p),
        ("rumble", RUMBLE),
        ("rumble_triggers", ctypes.c_void_p),
        ("set_led", ctypes.c_void_p),
        ("send_effect", ctypes.c_void_p),
    )


class VirtualGamepad:
    """One virtual gamepad. Attributes: rumbles: strengths (low, high) of 0 to 65535 that it was sent."""

    def __init__(self, sdl: ctypes.CDLL) -> None:
        self._sdl, self.rumbles = sdl, []

        def rumble(_userdata: int, low: int, high: int) -> int:
            self.rumbles.append((low, high))
            return 0

        self._callback = RUMBLE(rumble)  # must live as long as SDL may call it
        description = _Description(version=1, type=GAMECONTROLLER, naxes=AXES, nbuttons=BUTTONS, rumble=self._callback)
        self._index = sdl.SDL_JoystickAttachVirtualEx(ctypes.byref(description))
        assert self._index >= 0
        sdl.SDL_JoystickOpen.restype = ctypes.c_void_p
        self._joystick = ctypes.c_void_p(sdl.SDL_JoystickOpen(self._index))

    def move(self, axis: int, value: float) -> None:
        """Deflect an axis, -1 to 1."""
        self._sdl.SDL_JoystickSetVirtualAxis(self._joystick, axis, ctypes.c_int16(round(32767 * value)))

    def press(self, button: int, down: bool = True) -> None:
        self._sdl.SDL_JoystickSetVirtualButton(self._joystick, button, ctypes.c_uint8(down))

    def unplug(self) -> None:
        self._sdl.SDL_JoystickDetachVirtual(self._index)


@contextmanager
def virtual_gamepad() -> Iterator[VirtualGamepad]:
    """A gamepad that is plugged in; SDL is initialised, and shut down at the end."""
    pygame = pytest.importorskip("pygame", reason="pip install 'trocar[teleop]'")
    (library,) = (Path(pygame.__file__).parent.parent / "pygame.libs").glob("libSDL2-2*")
    pygame.display.init()
    pygame.joystick.init()
    try:
        yield VirtualGamepad(ctypes.CDLL(str(library)))
    finally:
        pygame.quit()
