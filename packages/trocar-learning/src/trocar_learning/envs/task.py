"""The interface of a task: its scene, its goal, its success test and its scripted policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from trocar.appearance.camera_place import CameraPlace
from trocar.control import Setpoint
from trocar.simulation import Scene, SceneArm
from trocar.spatial import Array, Values
from trocar_learning.envs.cameras import beside
from trocar_learning.envs.levels import NOMINAL
from trocar_learning.envs.world import PERIOD, RATE, Memory, Observation, World, Worlds

if TYPE_CHECKING:
    from trocar.batch.worlds.reference_waves import Waves
    from trocar_learning.envs.task_env import TaskEnv

Policy = Callable[[Observation], Array]  # the action for an observation
SceneOptions: TypeAlias = Mapping[str, Mapping[str, Any]]  # of `SceneArm`, by arm
HELD = 0.5  # time for which the success condition must hold [s]
POINT = ("x", "y", "z")  # numbers of a position [m] or direction
POSE = (*POINT, "qw", "qx", "qy", "qz")  # position [m] and quaternion


def named(numbers: Sequence[str], *things: str) -> tuple[str, ...]:
    """Names of the same numbers of several things, such as `named(POINT, "tip", "goal")`."""
    return tuple(f"{thing} {number}" for thing in things for number in numbers)


class Verdict(NamedTuple):
    """Booleans (n,): the success condition is met, it has held for its time, the episode is over before its time."""

    solved: Values
    success: Values
    terminated: Values


class Task(ABC):
    """A task on a scene of one or more arms.

    `scene`, `start`, `act` and the scripted policies concern one world. `start` returns what the task remembers of an
    episode, by name: drawn numbers such as the goal, and counters. All that reads and judges takes `Worlds`, n at once,
    with these values in `worlds.memory`: the environment is n = 1, and many worlds of a task run the same methods.

    Attributes:
        arms: kind of every arm by name: PSM or ECM. mode: default action mode. duration: of an episode [s].
        observed: names of the numbers of `observation`. extra: names of additional numbers of an action.
        held: time for which `solved` must hold [s].
        force_arms: arms whose contact force is measured, every `force_cycles` cycles of the loop; the last measurement
            is at the end of the period. varies: every episode needs a scene of its own.
        continues: the episode goes on after success.
        batched: it reads only what a `SceneBatch` has; otherwise worlds are single environments, in threads.
        gripped: commanded opening of jaws that hold something at the start, by arm [rad].
    """

    arms: ClassVar[Mapping[str, str]] = MappingProxyType({"PSM": "PSM"})
    mode: ClassVar[str] = "tip_increment"
    observed: ClassVar[tuple[str, ...]]
    duration: float = 5.0
    extra: ClassVar[tuple[str, ...]] = ()
    held: ClassVar[float] = HELD
    force_arms: ClassVar[tuple[str, ...]] = ()
    force_cycles: ClassVar[int] = 15
    varies: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    batched: ClassVar[bool] = True
    goal_tolerance: ClassVar[float | None] = None
    gripped: ClassVar[Mapping[str, float]] = MappingProxyType({})

    # -- one world -----------------------------------------------------------------------------------------------------

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        """The scene; `options`: of `SceneArm`, by arm. Default: one arm at the origin."""
        ((name, kind),) = self.arms.items()
        return Scene({name: SceneArm(arm=kind, base=np.eye(4), **options[name])}, timestep=PERIOD)

    @abstractmethod
    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        """Place the arms and objects of a scene, draw the goal, and return the memory of the episode."""

    def act(self, world: World, extra: Array) -> None:  # noqa: B027 - most tasks have none
        """Take the additional numbers of an action."""

    def camera(self, world: World, middle: Array) -> CameraPlace:
        """The stereo camera of images and films. Default: beside the tips and above them.

        Args:
            middle: position (3,) between tips and objects at the start of the episode [m].
        """
        bases = [T[:3, 3] for T in world.T_world_base.values()]
        return CameraPlace(beside(middle, np.mean(bases, axis=0) - middle))

    def marks(self, world: World) -> Array:
        """Points (k, 3) of the world to draw in images [m]. Default: a desired goal that is a point."""
        goal = np.zeros((1, 0)) if self.goal_tolerance is None else self.desired(world)
        return goal if goal.shape == (1, 3) else np.zeros((0, 3))

    def reference(self, world: World, t: float) -> Setpoint:
        """Motion that the arm should follow, for tasks that have one."""
        raise NotImplementedError

    @property
    def has_reference(self) -> bool:
        """True if the task has a `reference`."""
        return type(self).reference is not Task.reference

    @abstractmethod
    def expert(self, env: TaskEnv) -> Policy:
        """A scripted policy, which may use what the simulation knows. Created after every reset."""

    @abstractmethod
    def pid(self, env: TaskEnv) -> Policy:
        """A policy of proportional, integral and derivative feedback with fixed gains, without a model."""

    # -- n worlds ------------------------------------------------------------------------------------------------------

    def judged(self, worlds: Worlds, lost: Values) -> Verdict:
        """Update the memory after a control period, and judge; lost: worlds (n,) that cannot be trusted any more."""
        self.after_period(worlds)
        memory, solved = worlds.memory, self.solved(worlds) & ~lost
        memory["periods solved"] = worlds.xp.where(solved, memory["periods solved"] + 1, 0)
        memory["first success"] = memory["first success"] | solved
        success = memory["periods solved"] >= max(1, round(self.held * RATE))
        over = lost | self.failed(worlds)
        return Verdict(solved, success, over if self.continues else over | success)

    @staticmethod
    def note_held(worlds: Worlds, held: Values, dropped: Values = True) -> None:
        """Remember whether an object is held (n,), and count a drop where it is let go and `dropped`."""
        memory = worlds.memory
        memory["drops"] = memory["drops"] + (memory["held"] & ~held & dropped)
        memory["held"] = held

    @property
    def periods(self) -> int:
        """Control periods of an episode."""
        return round(self.duration * RATE)

    @abstractmethod
    def observation(self, worlds: Worlds) -> Values:
        """Numbers (n, k) in addition to joints, efforts and the last action."""

    def privileged(self, worlds: Worlds) -> Values:
        """Numbers (n, k) that no sensor of the robot gives."""
        return np.zeros((worlds.n, 0))

    def after_period(self, worlds: Worlds) -> None:  # noqa: B027 - some have nothing to update
        """Update the memory after a control period, before it is judged."""

    @abstractmethod
    def solved(self, worlds: Worlds) -> Values:
        """The success condition (n,) in this instant."""

    @abstractmethod
    def reward(self, worlds: Worlds) -> Values:
        """Dense reward (n,) in this instant."""

    def failed(self, worlds: Worlds) -> Values:
        """Worlds (n,) whose episode cannot succeed any more."""
        return worlds.elapsed < 0

    def drops(self, worlds: Worlds) -> Values:
        """Objects dropped so far (n,)."""
        return worlds.memory.get("drops", 0 * worlds.elapsed)

    def details(self, worlds: Worlds) -> dict[str, Values]:
        """Figures (n,) of this task for `info`."""
        return {}

    def achieved(self, worlds: Worlds) -> Values:
        """The achieved goal (n, k), for tasks with a `goal_tolerance`."""
        raise NotImplementedError

    def desired(self, worlds: Worlds) -> Values:
        """The desired goal (n, k), for tasks with a `goal_tolerance`. Default: the drawn number `goal`."""
        return worlds.memory["goal"]

    def waves(self, worlds: Worlds) -> Waves | None:
        """The reference of many worlds with residual efforts."""
        return None


def nominal_options(arms: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Options of all arms with their nominal parameter sets."""
    return {name: {"parameters": NOMINAL[kind]} for name, kind in arms.items()}
