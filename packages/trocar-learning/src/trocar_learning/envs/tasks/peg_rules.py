"""The rules of the peg transfer in arrays: points, order, drops and the end, for n worlds or a live robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trocar.spatial import ArrayModule, Values
from trocar_learning.contest.layouts import RIGHT, BoardLayout
from trocar_learning.contest.peg_board import HAND, PEGS
from trocar_learning.envs.arrays import length
from trocar_learning.envs.world import RATE, Memory

if TYPE_CHECKING:
    from trocar_learning.envs.world import World, Worlds

DURATION = 180.0  # of a trial [s]
ASIDE, ABOVE = 5e-3, 4e-3  # of a placed peg from its post's axis and from the board [m]: SurRoL's PegTransfer
MAX_TILT = float(np.cos(np.radians(15.0)))
STILL = 5e-3  # fastest motion of a placed peg [m/s]
REST = 0.5  # time for which a placed peg is released and still [s]
LOST = 0.3  # time after which a released peg that is on no post counts as dropped [s]
MARGIN = 0.01  # beyond the board's edge or below it, a peg is outside the workspace [m]
HALF_PERIOD = 0.5 / RATE  # times are compared with half a period to spare, for they are rounded [s]

NONE = -1  # post of a peg that is on no post; time at which a condition began that does not hold
COUNTED = np.inf  # time at which a fall began that has been counted
BOTH = 2 ** len(HAND) - 1  # bits of all arms


class PegRules:
    """Judges trials from the poses of the pegs and the parts that touch them, at least every 50 ms.

    All pegs go from the left to the right, then back, and so on. A peg gives a point when it rests on a post of the
    side to fill, let go by both instruments, after a handover. Pegs moved out of order give none. There is no penalty
    for a drop; a peg outside the workspace ends the trial.

    The memory of a trial: side `target` to fill, `points`, time `last` of the last point [s], `drops`, `out`, 1 + index
    of the peg that left the workspace or 0; for every peg its post, arms that have held it since it last gave a point,
    whether it is done on this side, and since when it is still, or let go on no post [s].
    """

    def __init__(self, layout: BoardLayout) -> None:
        self.layout = layout

    def start(self, world: World) -> Memory:
        """Memory of a trial that begins in the current state."""
        memory: Memory = {"target": RIGHT, "points": 0, "before": 0, "last": 0.0, "drops": 0, "out": 0}
        for peg in PEGS:
            memory |= {f"{peg} post": self.post(world, peg)[0][0], f"{peg} holders": 0, f"{peg} done": False}
            memory |= {f"{peg} still": float(NONE), f"{peg} free": float(NONE)}
        return memory

    def judge(self, worlds: Worlds) -> None:
        """Judge the current state, once more."""
        xp, memory = worlds.xp, worlds.memory
        memory["before"], live = memory["points"], memory["out"] == 0
        for number, peg in enumerate(PEGS, start=1):
            self._judge(worlds, peg, number, live)
        full = live
        for peg in PEGS:
            full = full & memory[f"{peg} done"] & self.is_on(worlds, peg, memory["target"])
        memory["target"] = xp.where(full, -memory["target"], memory["target"])
        for peg in PEGS:
            memory[f"{peg} done"] = memory[f"{peg} done"] & ~full

    def is_on(self, worlds: Worlds, peg: str, side: Values) -> Values:
        """Worlds (n,) in which a peg rests on a post of a side (n,)."""
        post = worlds.memory[f"{peg} post"]
        sides = worlds.put(self.layout.posts[:, 0] > 0)[post]  # any side of a peg on no post
        return (post != NONE) & (sides == (side == RIGHT))

    def post(self, worlds: Worlds, peg: str) -> tuple[Values, Values]:
        """Post (n,) around which a peg is, down at the board and upright, otherwise NONE; its place on the board."""
        xp, board, T = worlds.xp, worlds.poses("board"), worlds.poses(peg)
        place = (board[:, :3, :3] * (T[:, :3, 3] - board[:, :3, 3])[:, :, None]).sum(1)
        upright = (board[:, :3, 2] * T[:, :3, 2]).sum(-1)
        away = length(worlds.put(self.layout.posts) - place[:, None, :2])
        down = (xp.abs(place[:, 2]) <= ABOVE) & (upright >= MAX_TILT) & (xp.amin(away, -1) <= ASIDE)
        return xp.where(down, away.argmin(-1), NONE), place

    def _judge(self, worlds: Worlds, peg: str, number: int, live: Values) -> None:
        xp, memory, now = worlds.xp, worlds.memory, worlds.times
        holders, touched = memory[f"{peg} holders"], ~live & live
        for k, arm in enumerate(HAND.values()):
            holders = holders | (live & worlds.held(arm, peg)) * 2**k
            touched = touched | worlds.touched(arm, peg)
        at, place = self.post(worlds, peg)
        width, depth, _ = self.layout.plate.tolist()
        outside = (xp.abs(place[:, 0]) > width / 2 + MARGIN) | (xp.abs(place[:, 1]) > depth / 2 + MARGIN)
        outside = live & (outside | (place[:, 2] < -MARGIN))
        judged = live & ~outside
        memory["out"] = xp.where(outside & (memory["out"] == 0), number, memory["out"])

        is_still = (at != NONE) & ~touched & (length(worlds.velocities(peg)) < STILL)
        still = _since(xp, judged, is_still, memory[f"{peg} still"], now)
        post = xp.where(judged & (at == NONE), NONE, memory[f"{peg} post"])
        placed = judged & (still != NONE) & (post == NONE) & (now - still >= REST - HALF_PERIOD)
        memory[f"{peg} still"], memory[f"{peg} post"] = still, xp.where(placed, at, post)
        ordered = self.is_on(worlds, peg, memory["target"]) & ~memory[f"{peg} done"]
        counted = placed & ordered & (holders == BOTH)
        memory["points"] = memory["points"] + counted
        memory["last"] = xp.where(counted, still, memory["last"])
        memory[f"{peg} done"] = memory[f"{peg} done"] | counted
        holders = xp.where(placed, 0, holders)

        is_loose = (memory[f"{peg} post"] == NONE) & (at == NONE) & ~touched & (holders > 0)
        free = _since(xp, judged, is_loose, memory[f"{peg} free"], now)
        dropped = judged & is_loose & (now - free >= LOST - HALF_PERIOD)
        memory["drops"] = memory["drops"] + dropped
        memory[f"{peg} free"], memory[f"{peg} holders"] = xp.where(dropped, COUNTED, free), holders


def ending(memory: Memory) -> str:
    """Reason for which the trial of world 0 ended before its time; "" if it did not."""
    out = int(memory["out"][0])
    return f"the {PEGS[out - 1]} peg left the workspace" if out else ""


def _since(xp: ArrayModule, judged: Values, holds: Values, start: Values, now: Values) -> Values:
    """Times (n,) since which a condition holds, NONE where it does not; unchanged in worlds not judged."""
    begun = xp.where(start == NONE, now, start)
    return xp.where(judged, xp.where(holds, begun, float(NONE)), start)
