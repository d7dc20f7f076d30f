"""Numbers of the tasks that `tools.worlds.learn` learns: objects that are gripped and lifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from trocar_learning.contest.peg_board import DEPTH
from trocar_learning.contest.peg_grips import touching
from trocar_learning.envs.tasks import needle_pick, peg_lift


@dataclass(frozen=True)
class LiftSetting:
    """A task that is learned.

    Attributes:
        task, thing, fixed: names of the task, of its object and of what that lies on. features: of the observation.
        opening, squeezed: commanded before and at the grip [rad]. around, closed: opening of jaws around the object,
            and a larger one below which they count as closed [rad].
        lift: way of the object to its goal [m]. lowest: height below which it has fallen [m].
        expert: control periods of the expert. memory: options of the worlds on Warp.
    """

    task: str
    thing: str
    fixed: str
    features: str
    opening: float
    squeezed: float
    around: float
    closed: float
    lift: float
    lowest: float
    expert: int
    memory: Mapping[str, Any]

    @property
    def stem(self) -> str:
        """Start of the names of its files."""
        return {"NeedlePick": "needle_pick", "PegLift": "peg_lift"}[self.task]


NEEDLE = LiftSetting(
    task="NeedlePick",
    thing="needle",
    fixed="tray",
    features="needle_grip",
    opening=needle_pick.OPEN,
    squeezed=0.05,
    around=0.17,
    closed=0.25,
    lift=needle_pick.LIFT,
    lowest=needle_pick.HEIGHT - 0.01,
    expert=165,
    # 22 contacts of the needle with its rails, and those of the jaws
    memory=MappingProxyType({"max_contacts": 40, "max_constraints": 176}),
)
PEG = LiftSetting(
    task="PegLift",
    thing=peg_lift.PegLiftTask.thing,
    fixed="board",
    features="peg_grip",
    opening=peg_lift.OPEN,
    squeezed=peg_lift.PegLiftTask.closed,
    around=touching(peg_lift.JAW_LENGTH),
    closed=touching(peg_lift.JAW_LENGTH) + 0.05,
    lift=peg_lift.PegLiftTask.lift,
    lowest=-DEPTH - 0.01,
    expert=215,
    # 24 contacts of the peg with the board, and those of the jaws
    memory=MappingProxyType({"max_contacts": 40, "max_constraints": 192}),
)
SETTINGS: Mapping[str, LiftSetting] = MappingProxyType({setting.task: setting for setting in (NEEDLE, PEG)})
