"""Observations, rewards and success of rigid tasks in arrays: NumPy on threads, torch on Warp's devices.

The numbers are those of `trocar.envs.tasks`, whose constants and draws these classes use. Rows are worlds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trocar.envs.tasks import needle_handover, needle_pick
from trocar.envs.tasks.reach import ReachTask

if TYPE_CHECKING:
    from trocar.envs.worlds.task_worlds import TaskWorlds


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
    """A task on many worlds. Methods take the worlds after a control period and return arrays (n,) or (n, k)."""

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


class ReachWorlds(WorldTask):
    """`ReachTask`."""

    def observation(self, worlds: TaskWorlds) -> Any:
        return worlds.xp.concatenate([worlds.tip("PSM"), worlds.number("goal")], axis=-1)

    def _distance(self, worlds: TaskWorlds) -> Any:
        return length(worlds.tip("PSM") - worlds.number("goal"))

    def reward(self, worlds: TaskWorlds) -> Any:
        return -self._distance(worlds) / 0.1

    def solved(self, worlds: TaskWorlds) -> Any:
        return self._distance(worlds) <= ReachTask.goal_tolerance


class NeedleWorlds(WorldTask):
    """A needle that an arm brings to its goal.

    Attributes:
        arm: the arm. tolerance: of the needle's place [m].
    """

    def __init__(self, arm: str, tolerance: float) -> None:
        self.arm, self.tolerance = arm, tolerance

    def observation(self, worlds: TaskWorlds) -> Any:
        return worlds.xp.concatenate([canonical(worlds.xp, worlds.pose("needle")), worlds.number("goal")], axis=-1)

    def distance(self, worlds: TaskWorlds) -> Any:
        """Distances (n,) of the needle from its goal [m]."""
        return length(worlds.pose("needle")[:, :3] - worlds.number("goal"))

    def reward(self, worlds: TaskWorlds) -> Any:
        away = length(worlds.tip(self.arm) - worlds.pose("needle")[:, :3])
        return -worlds.xp.clip(self.distance(worlds) + 0.2 * away, None, 1.0) / 0.1

    def solved(self, worlds: TaskWorlds) -> Any:
        return worlds.held(self.arm, "needle") & (self.distance(worlds) <= self.tolerance)


class HandoverWorlds(NeedleWorlds):
    """`NeedleHandoverTask`: the needle is held by one arm alone."""

    def solved(self, worlds: TaskWorlds) -> Any:
        return super().solved(worlds) & ~worlds.touched(needle_handover.GIVER, "needle")

    def failed(self, worlds: TaskWorlds) -> Any:
        return worlds.pose("needle")[:, 2] < needle_handover.MEETING[2] - 0.1


WORLD_TASKS: MappingProxyType[str, WorldTask] = MappingProxyType(
    {
        "Reach": ReachWorlds(),
        "NeedlePick": NeedleWorlds("PSM", needle_pick.TOLERANCE),
        "NeedleHandover": HandoverWorlds(needle_handover.TAKER, needle_handover.TOLERANCE),
    }
)

__all__ = ["WORLD_TASKS", "WorldTask", "canonical", "length"]
