"""PegTransfer in arrays: the observation in the frame of the left camera, and the referee of every world.

The rules are those of `trocar_learning.contest.referee`, whose constants this module uses; times are control periods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from trocar_learning.contest.layouts import LAYOUTS, RIGHT
from trocar_learning.contest.peg_board import HAND, PEGS, T_camera_world
from trocar_learning.contest.referee import ABOVE, ASIDE, DURATION, LOST, MARGIN, MAX_TILT, REST, STILL
from trocar_learning.envs.policy_features import matrices
from trocar_learning.envs.task_env import RATE
from trocar_learning.envs.worlds.rigid_tasks import WorldTask, length

if TYPE_CHECKING:
    from trocar_learning.envs.worlds.task_worlds import TaskWorlds

LAYOUT = LAYOUTS["contest"]
REST_PERIODS, LOST_PERIODS = round(REST * RATE), round(LOST * RATE)
NONE = -1  # post of a peg that is on no post, and start of a condition that does not hold
COUNTED = 2**30  # start of a fall that has been counted: in the future, so that it is not counted again
BOTH = 2 ** len(HAND) - 1  # bits of all arms


def quaternions(xp: Any, R: Any) -> Any:
    """Quaternions wxyz (n, 4) of rotations (n, 3, 3), the largest component positive."""
    a, b, c = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    x, y, z = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    xy, xz, yz = R[:, 0, 1] + R[:, 1, 0], R[:, 0, 2] + R[:, 2, 0], R[:, 1, 2] + R[:, 2, 1]
    squares = xp.stack([1.0 + a + b + c, 1.0 + a - b - c, 1.0 - a + b - c, 1.0 - a - b + c], -1)
    w2, x2, y2, z2 = (squares[:, k] for k in range(4))
    # row k is the quaternion times four times its entry k
    rows = [(w2, x, y, z), (x, x2, xy, xz), (y, xy, y2, yz), (z, xz, yz, z2)]
    largest = squares.argmax(-1)[:, None]
    turn = xp.stack(rows[0], -1)
    for k in (1, 2, 3):
        turn = xp.where(largest == k, xp.stack(rows[k], -1), turn)
    return turn / length(turn)[:, None]


class PegTransferWorlds(WorldTask):
    """`PegTransferTask` with its referee: posts, handovers, order of sides, drops and pegs outside the workspace."""

    continues: ClassVar[bool] = True

    @staticmethod
    def drawn(task: Any) -> dict[str, Any]:
        return {}

    def start(self, worlds: TaskWorlds, mask: Any) -> None:
        xp, zero = worlds.xp, worlds.xp.zeros_like(worlds.elapsed)
        fresh = {"target": zero + RIGHT, "ended": zero > 0}
        fresh |= dict.fromkeys(("points", "before", "last", "drops"), zero)
        for peg in PEGS:
            fresh |= {f"{peg} post": self._at_post(worlds, peg)[0], f"{peg} holders": zero, f"{peg} done": zero > 0}
            fresh |= {f"{peg} still": zero + NONE, f"{peg} free": zero + NONE}
        memory = worlds.memory
        memory |= {name: xp.where(mask, value, memory.get(name, value)) for name, value in fresh.items()}

    def _at_post(self, worlds: TaskWorlds, peg: str) -> tuple[Any, Any]:
        """Post (n,) around which a peg is, down at the board and upright, otherwise NONE; its place on the board."""
        xp, board, pose = worlds.xp, worlds.place("board"), worlds.pose(peg)
        R_board, R = (matrices(xp, x[:, 3:] / length(x[:, 3:])[:, None]) for x in (board, pose))
        place = (R_board * (pose[:, :3] - board[:, :3])[:, :, None]).sum(1)
        upright = (R_board[:, :, 2] * R[:, :, 2]).sum(-1)
        away = length(worlds.put(LAYOUT.posts) - place[:, None, :2])
        down = (xp.abs(place[:, 2]) <= ABOVE) & (upright >= MAX_TILT) & (xp.amin(away, -1) <= ASIDE)
        return xp.where(down, away.argmin(-1), NONE), place

    def after_period(self, worlds: TaskWorlds) -> None:
        xp, memory = worlds.xp, worlds.memory
        memory["before"], live = memory["points"], ~memory["ended"]
        for peg in PEGS:
            self._judge(worlds, peg, live)
        full = live
        for peg in PEGS:
            full = full & memory[f"{peg} done"] & self._is_on(worlds, peg, memory["target"])
        memory["target"] = xp.where(full, -memory["target"], memory["target"])
        for peg in PEGS:
            memory[f"{peg} done"] = memory[f"{peg} done"] & ~full

    def _is_on(self, worlds: TaskWorlds, peg: str, side: Any) -> Any:
        """Worlds (n,) in which a peg rests on a post of a side (n,)."""
        post = worlds.memory[f"{peg} post"]
        sides = worlds.put(LAYOUT.posts[:, 0] > 0)[post]  # any side of a peg on no post
        return (post != NONE) & (sides == (side == RIGHT))

    def _judge(self, worlds: TaskWorlds, peg: str, live: Any) -> None:
        xp, memory, now = worlds.xp, worlds.memory, worlds.elapsed
        holders, touched = memory[f"{peg} holders"], ~live & live
        for k, arm in enumerate(HAND.values()):
            holders = holders | (live & worlds.held(arm, peg)) * 2**k
            touched = touched | worlds.touched(arm, peg)
        at, place = self._at_post(worlds, peg)
        width, depth, _ = LAYOUT.plate.tolist()
        outside = (xp.abs(place[:, 0]) > width / 2 + MARGIN) | (xp.abs(place[:, 1]) > depth / 2 + MARGIN)
        outside = outside | (place[:, 2] < -MARGIN)
        judged = live & ~outside
        memory["ended"] = memory["ended"] | (live & outside)

        is_still = (at != NONE) & ~touched & (length(worlds.velocity(peg)[:, :3]) < STILL)
        still = _since(xp, judged, is_still, memory[f"{peg} still"], now)
        post = xp.where(judged & (at == NONE), NONE, memory[f"{peg} post"])
        placed = judged & (still != NONE) & (post == NONE) & (now - still >= REST_PERIODS)
        memory[f"{peg} still"], memory[f"{peg} post"] = still, xp.where(placed, at, post)
        ordered = self._is_on(worlds, peg, memory["target"]) & ~memory[f"{peg} done"]
        counted = placed & ordered & (holders == BOTH)
        memory["points"] = memory["points"] + counted
        memory["last"] = xp.where(counted, still, memory["last"])
        memory[f"{peg} done"] = memory[f"{peg} done"] | counted
        holders = xp.where(placed, 0, holders)

        is_loose = (memory[f"{peg} post"] == NONE) & (at == NONE) & ~touched & (holders > 0)
        free = _since(xp, judged, is_loose, memory[f"{peg} free"], now)
        dropped = judged & is_loose & (now - free >= LOST_PERIODS)
        memory["drops"] = memory["drops"] + dropped
        memory[f"{peg} free"], memory[f"{peg} holders"] = xp.where(dropped, COUNTED, free), holders

    def observation(self, worlds: TaskWorlds) -> Any:
        xp, T_camera = worlds.xp, worlds.put(T_camera_world())
        things = [worlds.pose(peg) for peg in PEGS] + [worlds.place("board")]
        poses = [(T[:, :3, :3], T[:, :3, 3]) for T in (worlds.tip_pose(arm) for arm in worlds.episodes.layout.arms)]
        poses += [(matrices(xp, x[:, 3:] / length(x[:, 3:])[:, None]), x[:, :3]) for x in things]
        parts = []
        for R, p in poses:
            parts += [p @ T_camera[:3, :3].T + T_camera[:3, 3], quaternions(xp, T_camera[:3, :3] @ R)]
        left = DURATION - worlds.elapsed / RATE
        return xp.concatenate([*parts, 1.0 * worlds.memory["target"][:, None], left[:, None]], axis=-1)

    def solved(self, worlds: TaskWorlds) -> Any:
        return worlds.memory["points"] >= len(PEGS)

    def failed(self, worlds: TaskWorlds) -> Any:
        return worlds.memory["ended"]

    def reward(self, worlds: TaskWorlds) -> Any:
        return 1.0 * (worlds.memory["points"] - worlds.memory["before"])

    def details(self, worlds: TaskWorlds) -> dict[str, Any]:
        """Points, drops, and the time at which the peg of the last point stopped moving [s] (n,)."""
        memory = worlds.memory
        return {"points": memory["points"], "drops": memory["drops"], "last_point": memory["last"] / RATE}


def _since(xp: Any, judged: Any, holds: Any, start: Any, now: Any) -> Any:
    """Control periods (n,) since which a condition holds, NONE where it does not; unchanged in worlds not judged."""
    return xp.where(judged, xp.where(holds, xp.where(start == NONE, now, start), NONE), start)
