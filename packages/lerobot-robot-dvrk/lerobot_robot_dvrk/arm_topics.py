"""Patient arms over the dVRK's topics, on any bus of trocar: in process, ROS 2, or a real robot. Needs no LeRobot."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import TrocarError, UnknownName
from trocar.robot.messages import JointState, Pose
from trocar.spatial import pose, quaternion

AXES = ("position.x", "position.y", "position.z", "orientation.x", "orientation.y", "orientation.z", "orientation.w")
JOINTS = 6
MAX_JAW = 3.2  # of a commanded jaw [rad]; more is an angle in degrees


def connected(config: Any) -> Any:
    """A client of ROS 2 that sees all arms of a configuration; an error names those that it does not see in time."""
    from trocar.transports.remote_bus import connect_ros2

    deadline = time.monotonic() + config.timeout
    while True:
        client = connect_ros2(config.domain, config.interface)
        missing = [arm for arm in config.arms if arm not in client.devices]
        if not missing:
            return client
        seen = ", ".join(client.devices) or "nothing"
        client.close()
        if time.monotonic() > deadline:
            raise TrocarError(f"ROS 2 has no {missing[0]} within {config.timeout:g} s; it has {seen}")


class ArmTopics:
    """Observations and actions of patient arms, with the names of Open-H.

    Args:
        bus: with `read` and `publish`. arms: names such as PSM1. max_step, max_turn: largest distance [m] and angle
            [rad] of a commanded tip from the measured one.
    """

    def __init__(self, bus: Any, arms: Sequence[str], max_step: float, max_turn: float) -> None:
        for name, value, unit in (("max_step", max_step, "m"), ("max_turn", max_turn, "rad")):
            if not (math.isfinite(value) and value > 0):
                raise TrocarError(f"{name} must be positive [{unit}], got {value!r}")
        self.bus, self.arms, self.max_step, self.max_turn = bus, tuple(arms), max_step, max_turn

    @staticmethod
    def observation_names(arms: Sequence[str]) -> list[str]:
        """Names of an observation: pose and jaw of every arm, then joint positions, velocities and efforts."""
        names = []
        for arm in map(str.lower, arms):
            names += [f"{arm}_pose.{axis}" for axis in AXES] + [f"{arm}_jaw"]
        for arm in map(str.lower, arms):
            names += [f"{arm}_{kind}.{k}" for kind in ("position", "velocity", "effort") for k in range(JOINTS)]
        return names

    @staticmethod
    def action_names(arms: Sequence[str]) -> list[str]:
        """Names of an action: commanded pose and jaw of every arm."""
        return [
            name for arm in map(str.lower, arms) for name in (*(f"{arm}_sp.{axis}" for axis in AXES), f"{arm}_jaw_sp")
        ]

    def wait(self, timeout: float) -> None:
        """Wait until all topics of the arms have messages; an error names one that has none after a time [s]."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.observation()
                return
            except TrocarError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def observation(self) -> dict[str, float]:
        """The latest messages of all arms."""
        values: list[float] = []
        joints: list[float] = []
        for arm in self.arms:
            T = self._read(f"{arm}/measured_cp").T
            w, x, y, z = quaternion(T[:3, :3])
            values += [*T[:3, 3], x, y, z, w, self._read(f"{arm}/jaw/measured_js").position[0]]
            state = self._read(f"{arm}/measured_js")
            for part in (state.position, state.velocity, state.effort):
                joints += [*part[:JOINTS], *[0.0] * (JOINTS - len(part[:JOINTS]))]
        names = self.observation_names(self.arms)
        return {name: float(value) for name, value in zip(names, [*values, *joints], strict=True)}

    def send(self, action: Mapping[str, float]) -> dict[str, float]:
        """Command all arms; returns what was commanded, shortened to `max_step` and `max_turn`.

        A wrong action raises an error and moves no arm.
        """
        names = self.action_names(self.arms)
        if missing := [name for name in names if name not in action]:
            raise TrocarError(f"an action needs {len(names)} numbers; missing: {', '.join(missing[:3])}")
        numbers = np.array([float(action[name]) for name in names])
        if odd := [name for name, value in zip(names, numbers, strict=True) if not np.isfinite(value)]:
            raise TrocarError(f"an action needs finite numbers; {odd[0]} is {float(action[odd[0]])}")
        goals = [self._near(arm, numbers[8 * k : 8 * k + 8]) for k, arm in enumerate(self.arms)]
        for arm, (p, turn, jaw) in zip(self.arms, goals, strict=True):
            self.bus.publish(f"{arm}/servo_cp", Pose(T=pose(Rotation.from_quat(turn).as_matrix(), p)))
            self.bus.publish(f"{arm}/jaw/servo_jp", JointState(position=np.array([jaw])))
        sent = [number for p, turn, jaw in goals for number in (*p, *turn, jaw)]
        return {name: float(value) for name, value in zip(names, sent, strict=True)}

    def _near(self, arm: str, own: Any) -> tuple[Any, Any, float]:
        """Position, quaternion (x, y, z, w) and jaw of an action, within `max_step` and `max_turn` of the tip."""
        if not 0.5 < np.linalg.norm(own[3:7]) < 2.0:
            raise TrocarError(f"the orientation of {arm} must be a unit quaternion, got {own[3:7].tolist()}")
        if abs(own[7]) > MAX_JAW:
            raise TrocarError(f"the jaw of {arm} must be from {-MAX_JAW} to {MAX_JAW} rad, got {own[7]:g}")
        T = self._read(f"{arm}/measured_cp").T
        here, start = T[:3, 3], Rotation.from_matrix(T[:3, :3])
        way, goal = own[:3] - here, Rotation.from_quat(own[3:7])
        rest = goal * start.inv()
        length, angle = float(np.linalg.norm(way)), float(rest.magnitude())
        p = here + way * min(1.0, self.max_step / length) if length > 0.0 else here
        if angle > self.max_turn:
            goal = Rotation.from_rotvec(rest.as_rotvec() * self.max_turn / angle) * start
        turn = goal.as_quat()
        return p, turn if turn @ own[3:7] >= 0.0 else -turn, float(own[7])

    def _read(self, topic: str) -> Any:
        try:
            message = self.bus.read(topic)
        except UnknownName as error:
            raise TrocarError(f"no topic {topic}: is the robot on, and is the arm's name right?") from error
        if message is None or not message.valid:
            raise TrocarError(f"no message of {topic}: is the robot on, and is the arm's name right?")
        return message
