"""The interface of a task: its scene, its goal, its success test and its scripted policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trocar.appearance.camera_place import CameraPlace
from trocar.control import Setpoint
from trocar.simulation import Scene, SceneArm
from trocar.spatial import Array
from trocar_learning.envs.cameras import beside
from trocar_learning.envs.levels import NOMINAL
from trocar_learning.envs.world import PERIOD, World

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

Policy = Callable[[Any], Array]  # observation -> action
HELD = 0.5  # time for which the success condition must hold [s]


class Task(ABC):
    """A task on a scene of one or more arms.

    One object serves one environment. It is pickled with it, so it keeps numbers and arrays, and gets the world as an
    argument.

    Attributes:
        arms: kind of every arm by name: PSM or ECM. mode: default action mode. duration: of an episode [s].
        extra: meaning of additional numbers of an action. held: time for which `solved` must hold [s].
        force_arms: arms whose contact force is measured. varies: every episode needs a scene of its own.
        continues: the episode goes on after success.
        gripped: commanded opening of jaws that hold something at the start, by arm [rad].
    """

    arms: ClassVar[Mapping[str, str]] = MappingProxyType({"PSM": "PSM"})
    mode: ClassVar[str] = "tip_increment"
    duration: float = 5.0
    extra: ClassVar[tuple[str, ...]] = ()
    held: ClassVar[float] = HELD
    force_arms: ClassVar[tuple[str, ...]] = ()
    varies: ClassVar[bool] = False
    continues: ClassVar[bool] = False
    goal_tolerance: ClassVar[float | None] = None
    gripped: ClassVar[Mapping[str, float]] = MappingProxyType({})

    def scene(self, rng: np.random.Generator, options: Mapping[str, Mapping[str, Any]]) -> Scene:
        """The scene; `options`: of `SceneArm`, by arm. Default: one arm at the origin."""
        ((name, kind),) = self.arms.items()
        return Scene({name: SceneArm(arm=kind, base=np.eye(4), **options[name])}, timestep=PERIOD)

    @abstractmethod
    def start(self, world: World, rng: np.random.Generator, sigma: float) -> None:
        """Place the arms and objects of a scene, and draw the goal."""

    @abstractmethod
    def observation(self, world: World) -> Array:
        """Numbers (k,) in addition to joints, efforts and the last action."""

    def privileged(self, world: World) -> Array:
        """Numbers (k,) that no sensor of the robot gives."""
        return np.zeros(0)

    @abstractmethod
    def solved(self, world: World) -> bool:
        """The success condition in this instant."""

    @abstractmethod
    def reward(self, world: World) -> float:
        """Dense reward in this instant."""

    def achieved(self, world: World) -> Array:
        """The achieved goal, for tasks with a `goal_tolerance`."""
        raise NotImplementedError

    def desired(self, world: World) -> Array:
        """The desired goal, for tasks with a `goal_tolerance`."""
        raise NotImplementedError

    def act(self, world: World, extra: Array) -> None:  # noqa: B027 - most tasks have none
        """Take the additional numbers of an action."""

    def after_period(self, world: World, force: float) -> None:  # noqa: B027 - some have nothing to update
        """Update the task after a control period; force: largest contact force in it [N]."""

    def failed(self, world: World) -> bool:
        """True if the episode cannot succeed any more."""
        return False

    def drops(self) -> int:
        """Objects dropped so far."""
        return 0

    def details(self) -> dict[str, Any]:
        """Figures of this task for `info`."""
        return {}

    def camera(self, world: World, middle: Array) -> CameraPlace:
        """The stereo camera of images and films. Default: beside the tips and above them.

        Args:
            middle: position (3,) between tips and objects at the start of the episode [m].
        """
        bases = [T[:3, 3] for T in world.T_world_base.values()]
        return CameraPlace(beside(middle, np.mean(bases, axis=0) - middle))

    def marks(self, world: World) -> Array:
        """Points (k, 3) of the world to draw in images [m]. Default: a desired goal that is a point."""
        goal = np.zeros(0) if self.goal_tolerance is None else self.desired(world)
        return goal[None] if goal.shape == (3,) else np.zeros((0, 3))

    def reference(self, t: float) -> Setpoint:
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


def nominal_options(arms: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Options of all arms with their nominal parameter sets."""
    return {name: {"parameters": NOMINAL[kind]} for name, kind in arms.items()}
