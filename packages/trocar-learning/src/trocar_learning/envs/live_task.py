"""A task on a live robot that a person or another program commands: its world, and its judgement 50 times a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from trocar.appearance.camera_place import CameraPlace
from trocar.appearance.endoscope_camera import R_TIP_OPTICAL
from trocar.arms import Arm, load_arm
from trocar.closing import Closable
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.messages import JointState, Pose
from trocar.spatial import Array, inverse, pose
from trocar_learning.envs.actions import TipIncrement
from trocar_learning.envs.registration import make_task, task_kind
from trocar_learning.envs.task_env import TaskEnv
from trocar_learning.envs.world import RATE, Info, World

MODE = "tip_increment"  # the action mode of these episodes
SAMPLE, FORCE_SAMPLES = 2e-3, 5  # interval of measured efforts [s], and samples of them between contact forces
MOVED = 1e-4  # change of a joint set-point that begins the episode [rad, m]
FRAME = "task_camera"  # frame of the poses of the arms


class Rows(Protocol):
    """Receives the frames of an episode, in the thread of the robot."""

    def observe(self, draw: bool = True) -> None: ...
    def act(self, action: Array, reward: float, done: bool, success: bool) -> None: ...
    def discard(self) -> None: ...
    def end(self) -> None: ...


class LiveArm:
    """Measured state and set-point of an arm of a live robot, with the names of `Hardware`."""

    def __init__(self, robot: Robot, name: str) -> None:
        self._read = robot.readings(name)

    @property
    def arm(self) -> Arm:
        """Facts of the arm."""
        return self._read.arm

    @property
    def q(self) -> Array:
        """Measured positions (n,) [rad, m]."""
        return self._read.joints

    @property
    def dq(self) -> Array:
        """Measured velocities (n,) [rad/s, m/s]."""
        return self._read.joint_velocities

    @property
    def tau(self) -> Array:
        """Measured efforts (n,) [N m, N]."""
        return self._read.joint_efforts

    def setpoint(self) -> Array:
        """Set-point positions (n,) [rad, m]."""
        return self._read.joint_setpoint()


class LiveWorld(World):
    """The scene of a live robot as the world of a task; it is only read."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self.live_arms = {name: LiveArm(robot, name) for name in robot.scene.arms}
        super().__init__(robot.scene, self.live_arms)

    @property
    def cycle(self) -> int:
        return self._robot.now


class LiveTask(Closable):
    """Episodes of a task on a live robot, with the nominal model.

    An episode begins with the first commanded motion. It ends with success, with a failure that the task detects, or
    after the longest time. The poses of the arms are relative to the task's camera, as to an endoscope.

    Args:
        task: name of a task of PSMs. limit: longest time of an episode [s]. speed: of the robot, as in `Robot`.

    Attributes:
        env: environment that judges. robot: the robot. info: of the finished episode, None before its end.
    """

    def __init__(self, task: str, *, limit: float, speed: str | float = "real", seed: int = 0) -> None:
        kind = task_kind(task)
        if kind.extra or not all(load_arm(arm).role == "PSM" for arm in kind.arms.values()):
            raise TrocarError(f"the task {task} cannot be teleoperated: it needs more than the poses and jaws of PSMs")
        self.env: TaskEnv = make_task(task, mode=MODE, duration=limit)  # people are slower than experts
        self.env.reset(seed=seed)
        sensors = replace(self.env.draw.sensors, bias=False)  # as in the environment
        self.robot = Robot(self.env.world.scene, start="ready", speed=speed, sensors=sensors)
        self.info: Info | None = None
        self._rows: Rows | None = None
        self._running = False
        self._efforts: dict[str, list[Array]] = {}
        self._force, self._samples = 0.0, 0
        self._commands: dict[str, tuple[Array, float]] = {}  # tips and jaws at the last look
        self.robot.pause()
        self._stops = [self.robot.every(SAMPLE, self._sample), self.robot.every(1.0 / RATE, self._look)]

    def begin(self, seed: int, rows_of: Callable[[TaskEnv], Rows]) -> None:
        """Start the episode of a seed, and let time pass; `rows_of` returns the receiver of its frames."""
        robot, env = self.robot, self.env
        robot.pause()
        with robot.bus.lock:
            env.reset(seed=seed)
            robot.simulation().replace(env.world.scene)
            self._world = LiveWorld(robot)
            env.follow(self._world)
            T_camera = inverse(env.camera_place().T_world_middle @ pose(R_TIP_OPTICAL))
            for arm in env.world.arms:
                base = Pose(T=T_camera @ env.world.T_world_base[arm], frame_id=FRAME)
                robot.bus.publish(f"{arm}/set_base_frame", base)
                if arm in env.task.gripped:
                    jaw = np.array([env.task.gripped[arm]])
                    robot.bus.publish(f"{arm}/jaw/servo_jp", JointState(position=jaw))
            self._rows, self._running, self.info = rows_of(env), False, None
            self._start = {arm: hardware.setpoint() for arm, hardware in env.world.arms.items()}
            self._commands = {}
            self._clear()
        robot.play()

    def _clear(self) -> None:
        self._efforts = {arm: [] for arm in self.env.world.arms}
        self._force = 0.0

    def _sample(self, time: float) -> None:
        """Take the measured efforts, and now and then the contact force."""
        if self._rows is None:
            return
        world = self._world
        for arm, sensors in world.live_arms.items():
            self._efforts[arm].append(sensors.tau)
        self._samples += 1
        if self._samples % FORCE_SAMPLES == 0:
            self._force = max([self._force, *(world.contact_force(arm) for arm in self.env.task.force_arms)])

    def _look(self, time: float) -> None:
        """Judge a control period."""
        env, rows = self.env, self._rows
        if rows is None:
            return
        if not self._running:
            moved = [np.abs(env.world.arms[arm].setpoint() - q)[:6].max() for arm, q in self._start.items()]
            if not self._commands or max(moved) < MOVED:  # the episode begins with the period of the first motion
                if self._commands:
                    rows.discard()
                rows.observe(False)
                self._commands = self._commanded()
                self._clear()
                return
            self._running = True
        before, self._commands = self._commands, self._commanded()
        pairs = ((before[arm][0], *self._commands[arm]) for arm in before)
        action = np.clip(np.concatenate([TipIncrement.towards(*pair, env.period) for pair in pairs]), -1.0, 1.0)
        efforts = {arm: np.mean(parts, axis=0) for arm, parts in self._efforts.items()}
        _, reward, terminated, truncated, info = env.judge(action, efforts, self._force)
        self._clear()
        rows.act(action, reward, terminated or truncated, bool(info["is_success"]))
        if terminated or truncated:
            rows.end()
            self._rows, self._running = None, False
            self.info = info
        else:
            rows.observe(False)

    def _commanded(self) -> dict[str, tuple[Array, float]]:
        """Commanded tips (4, 4) in the world and jaws [rad], by arm."""
        world, commands = self.env.world, {}
        for arm, hardware in world.arms.items():
            q, tip = hardware.setpoint(), world.kinematics[arm]
            commands[arm] = world.T_world_base[arm] @ tip.pose(q[: tip.n]), float(q[-1])
        return commands

    @property
    def time(self) -> float | None:
        """Time of the running episode [s]; None before its first motion."""
        return self.env.steps / RATE if self._running else None

    def camera_place(self) -> CameraPlace:
        """Place of the task's camera."""
        with self.robot.bus.lock:
            return self.env.camera_place()

    def marks(self) -> Array:
        """Points (k, 3) of the world to draw, such as a goal [m]."""
        with self.robot.bus.lock:
            return self.env.task.marks(self.env.world)

    def close(self) -> None:
        """End the robot."""
        for stop in self._stops:
            stop()
        self.robot.close()
