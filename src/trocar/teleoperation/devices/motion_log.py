"""Recordings of what hands and PSMs did under a `DeviceConsole`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trocar.crtk import Robot
from trocar.recording import Recording
from trocar.spatial import Array
from trocar.teleoperation.devices.device_console import DeviceConsole

PERIOD = 0.01  # between two rows [s]
HOUR = 3600.0  # longest recording [s]; later rows are dropped
UNITS = {"hand_position": "m", "gripper": "rad", "contact_force": "N"}


class MotionLog:
    """Notes joints, hands and contact forces 100 times a second of the robot's clock, for at most an hour."""

    def __init__(self, robot: Robot, console: DeviceConsole) -> None:
        self._robot, self._console = robot, console
        self._start = robot.time
        self._rows: dict[str, list[tuple[Array, ...]]] = {psm: [] for psm in console.pairs}
        self._t: list[float] = []
        robot.every(PERIOD, self._note)

    def _note(self, t: float) -> None:
        if t - self._start > HOUR:
            return
        self._t.append(t - self._start)
        for psm, rows in self._rows.items():
            arm, grip, pair = self._robot.scene.arms[psm], self._console.hands[psm].grip, self._console.pairs[psm]
            state = np.array([grip.gripper, float(pair.state.following), pair.state.scale])
            force = self._console.wrenches[psm][:3]
            rows.append((arm.q, arm.dq, arm.measured_tau, grip.pose[:3, 3].copy(), state, force.copy()))

    def recordings(self) -> dict[str, Recording]:
        """Recording of every PSM that was driven; `trocar view` plays it."""
        with self._robot.bus.lock:
            t, rows = np.array(self._t), {psm: list(rows) for psm, rows in self._rows.items()}
        found = {}
        for psm, noted in rows.items():
            if len(t) < 2:
                continue
            q, dq, tau, hand, state, force = (np.array(column) for column in zip(*noted, strict=True))
            arm = self._robot.controllers[psm].arm
            extra = {"hand_position": hand, "gripper": state[:, 0], "following": state[:, 1], "scale": state[:, 2]}
            found[psm] = Recording(
                t=t,
                q=q,
                dq=dq,
                tau=tau,
                joints=arm.joint_names,
                joint_units=arm.joint_units,
                extra=extra | {"contact_force": force},
                extra_units=UNITS,
                provenance={"arm": arm.name, "teleoperation": self._console.hands[psm].device.name},
            )
        return found

    def save(self, folder: Path) -> list[Path]:
        """Write DIR/PSM1.npz and the like."""
        return [recording.save(folder / f"{psm}.npz") for psm, recording in self.recordings().items()]
