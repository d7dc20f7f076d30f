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
        self._rows: dict[str, list[tuple[Array, ...]]] = {psm: [] for psm in console.pairs}
        self._measured: dict[str, Any] = {}  # latest measured_js, by PSM
        for psm in console.pairs:  # every subscriber gets the same samples, with the same noise
            robot.bus.subscribe(f"{psm}/measured_js", partial(self._measured.__setitem__, psm))
            robot.bus.subscribe(f"{psm}/jaw/measured_js", partial(self._note, psm))  # published after measured_js

    def _note(self, psm: str, jaw: m.Message) -> None:
        arm, rows = self._measured[psm], self._rows[psm]
        new = arm.valid and jaw.valid and (not rows or arm.stamp > rows[-1][0])
        if not new or arm.stamp - self._start > MAX_DURATION * 1e9:
            return
        console, master = self._console, self._console.masters[psm]
        pair, grip = console.pairs[psm], console.hands[psm].grip
        goals: list[Any] = [self._robot.bus.read(f"{psm}/{topic}") for topic in ("setpoint_js", "jaw/setpoint_js")]
        measured = [_joined(name, arm, jaw) for name in ("position", "velocity", "effort")]
        state = np.array([grip.gripper, float(pair.state.following), pair.state.scale])
        tip: Any = self._robot.bus.read(f"{psm}/local/setpoint_cp")
        poses = [self._pose(f"{master}/{topic}") for topic in ("measured_cp", "setpoint_cp")]
        force = console.wrenches[psm][:3].copy()
        goal = _joined("position", *goals)
        rows.append((np.array(arm.stamp), *measured, goal, tip.T[:3, 3].copy(), *poses, state, force))

    def _pose(self, topic: str) -> Array:
        """Position and quaternion wxyz (7,)."""
        message: Any = self._robot.bus.read(topic)
        return np.concatenate([message.T[:3, 3], quaternion(message.T[:3, :3])])

    def recordings(self) -> dict[str, Recording]:
        """Recording of every PSM that was driven; `trocar view` plays it."""
        with self._robot.bus.lock:
            rows = {psm: list(rows) for psm, rows in self._rows.items()}
        recordings = {}
        for psm, noted in rows.items():
            if len(noted) < 2:
                continue
            columns = (np.array(column) for column in zip(*noted, strict=True))
            stamp, q, dq, tau, q_goal, tip_goal, hand, received, state, force = columns
            arm = self._robot.readings(psm).arm
            extra = {"hand_position": hand[:, :3], "hand_quaternion": hand[:, 3:]}
            extra |= {"received_position": received[:, :3], "received_quaternion": received[:, 3:]}
            extra |= {"gripper": state[:, 0], "following": state[:, 1], "scale": state[:, 2], "contact_force": force}
            recordings[psm] = Recording(
                t=1e-9 * (stamp - stamp[0]),
                q=q,
                dq=dq,
                tau=tau,
                joints=arm.joint_names,
                joint_units=arm.joint_units,
                commands={"q": q_goal, "tip_position": tip_goal},
                extra=extra,
                extra_units=UNITS,
                provenance={"arm": arm.name, "teleoperation": self._console.hands[psm].device.name},
            )
        return recordings

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
