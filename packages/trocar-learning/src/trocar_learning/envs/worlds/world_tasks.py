"""Tasks that run as worlds, by name."""

from __future__ import annotations

from types import MappingProxyType

from trocar_learning.envs.tasks import needle_handover, needle_pick, peg_lift
from trocar_learning.envs.worlds.peg_worlds import PegTransferWorlds
from trocar_learning.envs.worlds.rigid_tasks import HandoverWorlds, LiftWorlds, ReachWorlds, TrackWorlds, WorldTask

WORLD_TASKS: MappingProxyType[str, WorldTask] = MappingProxyType(
    {
        "Reach": ReachWorlds(),
        "Track": TrackWorlds(),
        "NeedlePick": LiftWorlds("PSM", "needle", needle_pick.TOLERANCE),
        "NeedleHandover": HandoverWorlds(needle_handover.TAKER, "needle", needle_handover.TOLERANCE),
        "PegLift": LiftWorlds("PSM", peg_lift.PegLiftTask.thing, peg_lift.TOLERANCE),
        "PegTransfer": PegTransferWorlds(),
    }
)
