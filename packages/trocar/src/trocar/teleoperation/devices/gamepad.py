"""A gamepad, read through pygame (SDL), which names sticks, triggers and buttons alike for all makes.

The names are in `pygame._sdl2.controller` only: pygame's public joysticks have numbered axes that differ between makes.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.teleoperation.devices.device import DEVICES, OPEN, DeviceKind, DeviceSample, deadband

SPEED, TURN = 0.10, 1.5  # of the hand at full deflection [m/s, rad/s]
FULL = 32768.0  # full deflection
MAX_FORCE = 4.0  # force at full rumble [N]
RUMBLE = 100  # duration [ms]; renewed while the force lasts
INSTALL = "pip install 'trocar[teleop]'"


class Gamepad:
    """The gamepad of an index among those connected.

    Left stick: left, right, up, down in the picture. Right stick: away, towards; turn about the line of sight.
    Cross: pitch and yaw. Right trigger: close the gripper. Shoulders: clutch (left), camera (right).
    A and Y: smaller and larger scale.
    """

    begin = "squeeze and release the right trigger"
    help = (
        "left stick: in the picture; right stick: away, towards, turn; cross: pitch, yaw; right trigger: gripper; "
        "left shoulder: clutch; right shoulder: camera; A, Y: scale"
    )

    def __init__(self, index: int = 0) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        os.environ.setdefault("SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", "1")  # no window could have the focus
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # events need a video driver, but no window
        try:
            import pygame
            from pygame._sdl2 import controller
        except ModuleNotFoundError as error:
            raise TrocarError(f"a gamepad needs {error.name}: {INSTALL}") from error
        self._pygame: Any = pygame
        try:
            pygame.display.init()
            controller.init()
            pygame.event.pump()
            known = [k for k in range(controller.get_count()) if controller.is_controller(k)]
            if index >= len(known):
                raise TrocarError(
                    f"gamepad {index + 1} was not found, {len(known)} connected; plug it in, check that your user may "
                    "read /dev/input, or use the keyboard"
                )
            self._pad: Any = controller.Controller(known[index])
        except pygame.error as error:
            raise TrocarError(f"no gamepad can be used: {error}") from error
        self.name = f"gamepad {index + 1}"
        self._rumbles = False

    @property
    def connected(self) -> bool:
        self._pygame.event.pump()
        return bool(self._pad.attached())

    def read(self, t: float) -> DeviceSample:
        """Sticks and buttons as velocities of the hand."""
        game, pad = self._pygame, self._pad
        game.event.clear()  # also pumps events; nothing else reads the queue
        stick = {
            name: deadband(pad.get_axis(getattr(game, f"CONTROLLER_AXIS_{name}")) / FULL)
            for name in ("LEFTX", "LEFTY", "RIGHTX", "RIGHTY")
        }

        def held(name: str) -> bool:
            return bool(pad.get_button(getattr(game, f"CONTROLLER_BUTTON_{name}")))

        def cross(more: str, less: str) -> int:
            return held(f"DPAD_{more}") - held(f"DPAD_{less}")

        # sticks have x to the right and y towards the user
        v = SPEED * np.array([-stick["LEFTX"], -stick["LEFTY"], -stick["RIGHTY"]])
        w = TURN * np.array([cross("DOWN", "UP"), cross("LEFT", "RIGHT"), stick["RIGHTX"]])
        squeezed = min(1.0, max(0.0, pad.get_axis(game.CONTROLLER_AXIS_TRIGGERRIGHT) / FULL))
        names = {"clutch": "LEFTSHOULDER", "camera": "RIGHTSHOULDER", "slower": "A", "faster": "Y"}
        buttons = frozenset(name for name, key in names.items() if held(key))
        return DeviceSample(np.concatenate([v, w]), gripper=OPEN * (1.0 - squeezed), buttons=buttons)

    def feel(self, wrench: Array) -> None:
        """Rumble as strongly as the force, whatever its direction."""
        strength = min(1.0, float(np.linalg.norm(wrench[:3])) / MAX_FORCE)
        if math.isfinite(strength) and (strength > 0.02 or self._rumbles):
            self._rumbles = strength > 0.02
            with suppress(self._pygame.error):  # disconnected; `connected` reports it
                self._pad.rumble(strength, strength, RUMBLE)

    def close(self) -> None:
        with suppress(self._pygame.error):
            self._pad.quit()


DEVICES["gamepad"] = DeviceKind(Gamepad)
