"""Messages of commands and events on the bus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trocar.robot import messages as m

TEXTS = ("current_state", "desired_state", "error", "warning", "status")


def command_message(command: str, value: Any) -> tuple[str, m.Message]:
    """Topic of a command, relative to its arm, and its message."""
    if command == "servo_cp":
        T, twist = value
        return ("servo_cp", m.Pose(T=T)) if twist is None else ("servo_cs", m.CartesianState(T=T, twist=twist))
    return command, _MESSAGES[command](value)


_MESSAGES: dict[str, Callable[[Any], m.Message]] = {
    "jaw/servo_jp": lambda jaw: m.JointState(position=np.array([jaw])),
    "servo_jp": lambda q: m.JointState(position=q),
    "move_cp": lambda T: m.Pose(T=T),
    "hold": lambda _: m.Empty(),
    "body/servo_cf": lambda w: m.Wrench(vector=w),
    "lock_orientation": lambda R: m.Rotation(R=R),
    "unlock_orientation": lambda _: m.Empty(),
    "use_gravity_compensation": lambda on: m.Bool(value=on),
    "body/set_cf_orientation_absolute": lambda on: m.Bool(value=on),
    "state_command": lambda command: m.String(value=command),
}


def event_message(topic: str, value: Any) -> m.Message:
    """Message of an event, by its topic."""
    if topic in TEXTS:
        return m.String(value=value)
    if topic == "scale":
        return m.Float(value=value)
    if topic in ("rotation_locked", "translation_locked"):
        return m.Joy(buttons=(int(value),))
    return m.Bool(value=value)
