"""Records hands and PSMs under a `DeviceConsole`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trocar.recording import Recording
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.spatial import Array, quaternion
from trocar.teleoperation.devices.device_console import DeviceConsole

MAX_DURATION = 3600.0  # of a recording [s]; later rows are dropped
UNITS = {"hand_position": "m", "received_position": "m", "gripper": "rad", "contact_force": "N"}


class MotionLog:
    """Notes the topics of every pair 100 times a second of the robot's clock, for at most an hour.

    A recording has the PSM's joints as measured, its set-points as commands, and the hand: `hand_position` and
    `hand_quaternion` (wxyz) in the display, `received_position` and `received_quaternion` as they reach the robot,
    `gripper`, `following`, `scale` and `contact_force`, which the hand feels.
    """

    def __init__(self, robot: Robot, console: DeviceConsole) -> None:
        self._robot, self._console = robot, console
        self._start = robot.now
        self._rows: dict[str, list[dict[str, Any]]] = {psm: [] for psm in console.pairs}
        self._measured: dict[str, Any] = {}  # latest measured_js, by PSM
        for psm in console.pairs:  # every subscriber gets the same samples, with the same noise
            robot.bus.subscribe(f"{psm}/measured_js", partial(self._measured.__setitem__, psm))
            robot.bus.subscribe(f"{psm}/jaw/measured_js", partial(self._note, psm))  # published after measured_js

    def _note(self, psm: str, jaw: m.Message) -> None:
        arm, rows = self._measured[psm], self._rows[psm]
        new = arm.valid and jaw.valid and (not rows or arm.stamp > rows[-1]["stamp"])
        if not new or arm.stamp - self._start > MAX_DURATION * 1e9:
            return
        console, read = self._console, self._robot.bus.read
        state = console.pairs[psm].state
        tip: Any = read(f"{psm}/local/setpoint_cp")
        row = {"stamp": arm.stamp, "tip_goal": tip.T[:3, 3].copy()}
        row |= {name: _joined(name, arm, jaw) for name in ("position", "velocity", "effort")}
        row["goal"] = _joined("position", *(read(f"{psm}/{topic}") for topic in ("setpoint_js", "jaw/setpoint_js")))
        for name, topic in (("hand", "measured_cp"), ("received", "setpoint_cp")):
            pose: Any = read(f"{console.masters[psm]}/{topic}")
            row |= {f"{name}_position": pose.T[:3, 3].copy(), f"{name}_quaternion": quaternion(pose.T[:3, :3])}
        row |= {"gripper": console.hands[psm].grip.gripper, "following": float(state.following), "scale": state.scale}
        row["contact_force"] = console.wrenches[psm][:3].copy()
        rows.append(row)

    def recordings(self) -> dict[str, Recording]:
        """Recording of every PSM that was driven; `trocar view` plays it."""
        with self._robot.bus.lock:
            noted = {psm: list(rows) for psm, rows in self._rows.items() if len(rows) > 1}
        return {psm: self._recording(psm, rows) for psm, rows in noted.items()}

    def _recording(self, psm: str, rows: list[dict[str, Any]]) -> Recording:
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        stamp, arm = columns.pop("stamp"), self._robot.readings(psm).arm
        return Recording(
            t=1e-9 * (stamp - stamp[0]),
            q=columns.pop("position"),
            dq=columns.pop("velocity"),
            tau=columns.pop("effort"),
            joints=arm.joint_names,
            joint_units=arm.joint_units,
            commands={"q": columns.pop("goal"), "tip_position": columns.pop("tip_goal")},
            extra=columns,
            extra_units=UNITS,
            provenance={"arm": arm.name, "teleoperation": self._console.hands[psm].device.name},
        )

    def save(self, folder: Path) -> list[Path]:
        """Write DIR/PSM1.npz and the like."""
        return [recording.save(folder / f"{psm}.npz") for psm, recording in self.recordings().items()]

    def save_as(self, path: Path) -> list[Path]:
        """Write the recording of one PSM to FILE.npz, those of several to FILE-PSM1.npz and the like."""
        return [recording.save(named(path, psm, len(self._rows))) for psm, recording in self.recordings().items()]


def named(path: Path, psm: str, pairs: int) -> Path:
    """The file of one PSM among the files of a number of pairs."""
    return path if pairs == 1 else path.with_stem(f"{path.stem}-{psm}")


def _joined(name: str, *messages: Any) -> Array:
    """A field (n,) of the joint states of an arm and its jaw."""
    return np.concatenate([getattr(message, name) for message in messages])
