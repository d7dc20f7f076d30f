"""Observations, rewards and success of rigid tasks in arrays: NumPy on threads, torch on Warp's devices.

The numbers are those of `trocar_learning.envs.tasks`, whose constants and draws these classes use. Rows are worlds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from trocar.batch.worlds.reference_waves import Waves
from trocar_learning.envs.task_env import RATE
from trocar_learning.envs.tasks import needle_handover
from trocar_learning.envs.tasks.reach import ReachTask
from trocar_learning.envs.tasks.reference_task import PREVIEW, RAMP
from trocar_learning.envs.tasks.track import JUDGED, MAX_RMS, TrackTask

if TYPE_CHECKING:
    from trocar_learning.envs.worlds.task_worlds import TaskWorlds


def length(x: Any) -> Any:
    """Norms (n,) of vectors (n, k)."""
    return (x * x).sum(-1) ** 0.5


def canonical(xp: Any, poses: Any) -> Any:
    """Poses (n, 7) whose quaternion is that of `trocar.spatial.quaternion`: its largest component is positive."""
    turn = poses[:, 3:]
    size = xp.abs(turn)
    largest = (size == xp.amax(size, axis=-1, keepdims=True)) * xp.sign(turn)
    sign = xp.sign(largest.sum(-1))[:, None]
    return xp.concatenate([poses[:, :3], sign * turn / length(turn)[:, None]], axis=-1)


class WorldTask(ABC):
    """A task on many worlds. Methods take the worlds after a control period and return arrays (n,) or (n, k).

    Attributes:
        continues: the episode goes on after success.
    """

    continues: ClassVar[bool] = False

    @staticmethod
    def drawn(task: Any) -> dict[str, Any]:
        """Numbers that a task draws at the start of an episode."""
        return {"goal": task.goal}

    @abstractmethod
    def observation(self, worlds: TaskWorlds) -> Any:
        """Numbers (n, k) in addition to joints, efforts and the last action."""

    @abstractmethod
    def reward(self, worlds: TaskWorlds) -> Any:
        """Dense rewards (n,)."""

    @abstractmethod
    def solved(self, worlds: TaskWorlds) -> Any:
        """The success condition (n,) in this instant."""

    def failed(self, worlds: TaskWorlds) -> Any:
        """Worlds (n,) whose episode cannot succeed any more."""
        return worlds.xp.zeros_like(worlds.elapsed) > 0

    def start(self, worlds: TaskWorlds, mask: Any) -> None:  # noqa: B027 - most tasks remember nothing
        """Start episodes in the masked worlds (n,)."""

    def after_period(self, worlds: TaskWorlds) -> None:  # noqa: B027
        """Take the state after a control period, before it is judged."""

    def waves(self, worlds: TaskWorlds) -> Waves | None:
        """The reference of the current episodes, of tasks with residual efforts."""
        return None

    def details(self, worlds: TaskWorlds) -> dict[str, Any]:
        """Figures (n,) of this task for `info`."""
        return {}


class ReachWorlds(WorldTask):
    """`ReachTask`."""

    def observation(self, worlds: TaskWorlds) -> Any:
        return worlds.xp.concatenate([worlds.tip("PSM"), worlds.number("goal")], axis=-1)

    def _distance(self, worlds: TaskWorlds) -> Any:
        return length(worlds.true_tip("PSM") - worlds.number("goal"))

    def reward(self, worlds: TaskWorlds) -> Any:
        return -self._distance(worlds) / 0.1

    def solved(self, worlds: TaskWorlds) -> Any:
        return self._distance(worlds) <= ReachTask.goal_tolerance


class TrackWorlds(WorldTask):
    """`TrackTask`: a reference of sinusoids, followed by residual efforts on computed torque."""

    NAMES = ("centre", "size", "rate", "phase")

    @staticmethod
    def drawn(task: Any) -> dict[str, Any]:
        return {name: getattr(task, name) for name in TrackWorlds.NAMES}

    def waves(self, worlds: TaskWorlds) -> Waves:
        centre, size, rate, phase = (worlds.number(name) for name in self.NAMES)
        return Waves(centre, size, rate, phase, RAMP)

    def observation(self, worlds: TaskWorlds) -> Any:
        time, waves = worlds.elapsed / RATE, self.waves(worlds)
        return worlds.xp.concatenate([waves.positions(worlds.xp, time + ahead) for ahead in PREVIEW.tolist()], axis=-1)

    def start(self, worlds: TaskWorlds, mask: Any) -> None:
        memory, xp = worlds.memory, worlds.xp
        if not memory:
            memory |= dict.fromkeys(("error", "squares", "count"), 0.0 * worlds.elapsed)
        memory |= {name: xp.where(mask, 0.0, values) for name, values in memory.items()}

    def after_period(self, worlds: TaskWorlds) -> None:
        time, memory = worlds.elapsed / RATE, worlds.memory
        goal = worlds.tip_of("PSM", self.waves(worlds).positions(worlds.xp, time))
        error = length(worlds.true_tip("PSM") - goal)
        judged = 1.0 * (time > TrackTask.duration - JUDGED + 0.5 / RATE)
        memory |= {"error": error, "squares": memory["squares"] + judged * error**2, "count": memory["count"] + judged}

    def rms(self, worlds: TaskWorlds) -> Any:
        """Root mean square errors (n,) of the tip in the judged time so far [m]."""
        memory = worlds.memory
        return (memory["squares"] / worlds.xp.clip(memory["count"], 1.0, None)) ** 0.5

    def reward(self, worlds: TaskWorlds) -> Any:
        return -worlds.xp.clip((worlds.memory["error"] / 1e-3) ** 2, None, 100.0)

    def solved(self, worlds: TaskWorlds) -> Any:
        return (worlds.elapsed >= worlds.episodes.periods) & (self.rms(worlds) < MAX_RMS)


class LiftWorlds(WorldTask):
    """`LiftTask`: an object that an arm brings to its goal.

    Attributes:
        arm, thing: the arm and the object. tolerance: of the object's place [m].
    """

    def __init__(self, arm: str, thing: str, tolerance: float) -> None:
        self.arm, self.thing, self.tolerance = arm, thing, tolerance

    def observation(self, worlds: TaskWorlds) -> Any:
        return worlds.xp.concatenate([canonical(worlds.xp, worlds.pose(self.thing)), worlds.number("goal")], axis=-1)

    def distance(self, worlds: TaskWorlds) -> Any:
        """Distances (n,) of the object from its goal [m]."""
        return length(worlds.pose(self.thing)[:, :3] - worlds.number("goal"))

    def reward(self, worlds: TaskWorlds) -> Any:
        away = length(worlds.true_tip(self.arm) - worlds.pose(self.thing)[:, :3])
        return -worlds.xp.clip(self.distance(worlds) + 0.2 * away, None, 1.0) / 0.1

    def solved(self, worlds: TaskWorlds) -> Any:
        return worlds.held(self.arm, self.thing) & (self.distance(worlds) <= self.tolerance)


class HandoverWorlds(LiftWorlds):
    """`NeedleHandoverTask`: the needle is held by one arm alone."""

    def solved(self, worlds: TaskWorlds) -> Any:
        return super().solved(worlds) & ~worlds.touched(needle_handover.GIVER, "needle")

    def failed(self, worlds: TaskWorlds) -> Any:
        return worlds.pose("needle")[:, 2] < needle_handover.MEETING[2] - 0.1


__all__ = ["HandoverWorlds", "LiftWorlds", "ReachWorlds", "TrackWorlds", "WorldTask", "canonical", "length"]
