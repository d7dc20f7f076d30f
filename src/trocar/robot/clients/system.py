"""Client of the whole system: power, homing and sounds."""

from __future__ import annotations

import numpy as np

from trocar.robot.clients.device import Clock, Device
from trocar.robot.messages import Empty, Float, Floats, String


class System(Device):
    """All arms together."""

    def __init__(self, robot: Clock, name: str = "system") -> None:
        super().__init__(robot, name)

    def power_on(self) -> None:
        """Enable every arm."""
        self.send("power_on", Empty())

    def power_off(self) -> None:
        """Disable every arm."""
        self.send("power_off", Empty())

    def home(self) -> None:
        """Enable and home every arm."""
        self.send("home", Empty())

    def set_volume(self, volume: float) -> None:
        """Set the volume of beeps and speech, 0 to 1."""
        self.send("set_volume", Float(value=float(volume)))

    def beep(self, duration: float, frequency: float, volume: float = 1.0) -> None:
        """Beep for a duration [s] at a frequency [Hz]."""
        self.send("beep", Floats(values=np.array([duration, frequency, volume], dtype=float)))

    def string_to_speech(self, text: str) -> None:
        """Speak a text; the simulated robot publishes it as a message."""
        self.send("string_to_speech", String(value=text))
