"""Recorder of one run: every message of its robots by topic, and the notes of the run."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from trocar.robot import INTERFACES, Robot
from trocar.robot.interface import PEDALS, Direction
from trocar.robot.messages import Message
from trocar.spatial import Array

# Commands that are not recorded; their effects are. Nor are period_statistics, which depend on the machine.
_TELEOP_COMMANDS = {"state_command", "set_scale"}
_OMITTED: Mapping[str, set[str]] = {
    "SUJ": {"state_command"},
    "SYSTEM": {"set_volume", "beep", "string_to_speech"},
    "CONSOLE": {f"emulate_{pedal}" for pedal in PEDALS},
    "TELEOP_PSM": _TELEOP_COMMANDS
    | {"set_align_MTM", "lock_rotation", "lock_translation", "following/mtm/body/servo_cf"},
    "TELEOP_ECM": _TELEOP_COMMANDS,
}
# Topics that follow the others of their direction. The order is part of a recording: older folders stay comparable.
_GRAVITY = "gravity_compensation/setpoint_js"
_LAST: Mapping[str, tuple[str, ...]] = {
    "ARM": (_GRAVITY,),
    "PSM": (_GRAVITY, "jaw/measured_js", "jaw/setpoint_js"),
    "ECM": (_GRAVITY,),
    "MTM": (_GRAVITY, "gripper/measured_js", "orientation_locked"),
    "SUJ_ARM": ("state_command",),
}


@cache
def recorded_topics(kind: str, direction: Direction) -> tuple[str, ...]:
    """Names of the recorded topics of a kind of device, in the order of subscription."""
    omitted, last = {"period_statistics"} | _OMITTED.get(kind, set()), ("", *_LAST.get(kind, ()))
    topics = (topic.name for topic in INTERFACES[kind].topics if topic.direction is direction)
    recorded = [name for name in topics if name not in omitted]
    return tuple(sorted(recorded, key=lambda name: last.index(name) if name in last else 0))


def plain(value: object) -> Any:
    """A value as JSON, floats in full precision."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return f"{type(value).__name__}: {value}"


class RunRecorder:
    """Every message of the robots of one run, and its notes.

    Attributes:
        topics: (topic, direction) of every subscription, in order. events: [topic, stamp [ns], content], in order.
        notes: [label, value], in order. columns: by topic and field, one entry per message.
        texts: by topic.field, [index of the message, text] where the text changes.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.topics: list[tuple[str, str]] = []
        self.events: list[list[Any]] = []
        self.notes: list[list[Any]] = []
        self.columns: dict[str, dict[str, list[Any]]] = {}
        self.texts: dict[str, list[list[Any]]] = {}
        self._robots: list[Robot] = []

    def watch(self, robot: Robot) -> Robot:
        """Record every topic of a robot from now on; returns the robot. Topics of further robots get a prefix."""
        self._robots.append(robot)
        self.watch_new_devices()
        return robot

    def watch_new_devices(self) -> None:
        """Record the devices that the last robot got since `watch`, such as those of teleoperation."""
        robot, number = self._robots[-1], len(self._robots)
        prefix = "" if number == 1 else f"robot{number}:"
        known = [topic for topic, _ in self.topics]
        for device, kind in sorted(robot.devices.items()):
            if any(topic.startswith(f"{prefix}{device}/") for topic in known):
                continue
            for direction in (Direction.event, Direction.state, Direction.command):
                for name in recorded_topics(kind, direction):
                    topic = f"{device}/{name}"
                    self.topics.append((prefix + topic, str(direction)))
                    robot.bus.subscribe(topic, partial(self._take, robot, prefix + topic, direction))

    def _take(self, robot: Robot, topic: str, direction: Direction, message: Message) -> None:
        if direction is Direction.event:
            content = plain(message)
            self.events.append([topic, content.pop("stamp"), content])
            return
        if direction is Direction.command:
            topic = f"command {topic}"
        columns = self.columns.setdefault(topic, {})
        columns.setdefault("now", []).append(robot.now)
        for field in dataclasses.fields(message):
            value = getattr(message, field.name)
            if isinstance(value, str | tuple) or dataclasses.is_dataclass(value):
                changes = self.texts.setdefault(f"{topic}.{field.name}", [])
                text = plain(value)
                if not changes or changes[-1][1] != text:
                    changes.append([len(columns["now"]) - 1, text])
            else:
                columns.setdefault(field.name, []).append(np.array([] if value is None else value))

    def note(self, label: str, value: object = None) -> None:
        """Record a value of the run itself."""
        self.notes.append([label, plain(value)])

    def attempt(self, label: str, call: Callable[[], object]) -> None:
        """Call a function and note its result or its error."""
        try:
            self.note(label, call())
        except Exception as error:
            text = f"{type(error).__name__}: {error}".partition(" Known:")[0]  # no list of all topics
            self.note(label, re.sub(r"/\S*/(?=run\.)", "", text))  # no temporary folder

    def note_arms(self, robot: Robot) -> None:
        """Note the true state of all arms of the scene."""
        for name, arm in robot.scene.arms.items():
            self.note(f"truth {name}", [robot.now, arm.q, arm.dq, arm.delivered])

    def arrays(self) -> dict[str, Array]:
        """All columns as arrays by topic.field; values of several sizes are concatenated, with their sizes."""
        arrays = {}
        for topic, columns in self.columns.items():
            for field, values in columns.items():
                if len({np.shape(value) for value in values}) == 1:
                    arrays[f"{topic}.{field}"] = np.array(values)
                else:
                    arrays[f"{topic}.{field}"] = np.concatenate([np.ravel(value) for value in values])
                    arrays[f"{topic}.{field}#sizes"] = np.array([np.size(value) for value in values])
        return arrays

    def write(self, folder: Path) -> int:
        """Write the run's two files; returns the number of recorded values."""
        arrays = self.arrays()
        columns: dict[str, Any] = {name.replace("/", "|"): array for name, array in arrays.items()}
        np.savez_compressed(folder / f"{self.name}.npz", **columns)
        parts = [f' "topics": {json.dumps(self.topics)}', f' "texts": {json.dumps(self.texts)}']
        for key, rows in (("notes", self.notes), ("events", self.events)):
            lines = ",\n  ".join(json.dumps(row) for row in rows)
            parts.append(f' "{key}": [\n  {lines}\n ]')
        (folder / f"{self.name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
        return sum(array.size for array in arrays.values())


Run: TypeAlias = Callable[[RunRecorder], None]
