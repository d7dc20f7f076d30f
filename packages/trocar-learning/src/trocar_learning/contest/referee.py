"""The rules of the peg transfer: points, order, drops, times, paths and forces."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trocar.simulation.objects import blade
from trocar.simulation.scene import Scene
from trocar.spatial import Array
from trocar_learning.contest.layouts import RIGHT
from trocar_learning.contest.peg_board import HAND, PEGS, layout_of

DURATION = 180.0  # of a trial [s]
ASIDE, ABOVE = 5e-3, 4e-3  # of a placed peg from its post's axis and from the board [m]: SurRoL's PegTransfer
MAX_TILT = np.cos(np.radians(15.0))
STILL = 5e-3  # fastest motion of a placed peg [m/s]
REST = 0.5  # time for which a placed peg is released and still [s]
LOST = 0.3  # time after which a released peg that is on no post counts as dropped [s]
FINGERS = frozenset(blade.FINGERS)
MARGIN = 0.01  # beyond the board's edge or below it, a peg is outside the workspace [m]


@dataclass(frozen=True)
class PlacedPeg:
    """A peg that came to rest on a post.

    Attributes:
        time: when it stopped moving [s]. post: index. counted: it gave a point; `reason`: why not.
    """

    time: float
    peg: str
    post: int
    counted: bool
    reason: str = ""


@dataclass
class Score:
    """The result of a trial so far.

    Attributes:
        placements: in order. drops: pegs let go that reached no post. path: length of each tip's path by arm [m].
        peak_force: largest force of the objects on an instrument [N]. time: [s] since the start.
        ended: reason for which the trial ended before its time; "" if it did not.
    """

    placements: list[PlacedPeg] = field(default_factory=list)
    drops: int = 0
    path: dict[str, float] = field(default_factory=dict)
    peak_force: float = 0.0
    time: float = 0.0
    ended: str = ""

    @property
    def points(self) -> int:
        """Pegs placed correctly."""
        return sum(placement.counted for placement in self.placements)

    @property
    def last_time(self) -> float:
        """Time of the last point [s], which decides between equal points; 0 without one."""
        return max((placement.time for placement in self.placements if placement.counted), default=0.0)


@dataclass
class _Track:
    """Memory of the referee for one peg."""

    post: int | None  # on which it rests
    holders: set[str] = field(default_factory=set)  # arms that have held it since it last gave a point
    still_since: float | None = None
    free_since: float | None = None  # let go, and on no post


class Referee:
    """Judges a trial from the state of its scene. `update` is called at least every 50 ms.

    All pegs go from the left to the right, then back, and so on. A peg gives a point when it rests on a post of the
    side to fill, let go by both instruments, after a handover. Pegs moved out of order give none. There is no penalty
    for a drop; a peg outside the workspace ends the trial.
    """

    def __init__(self, scene: Scene) -> None:
        arms = [arm for arm in scene.arms if arm in HAND.values()]
        self.score = Score(path=dict.fromkeys(arms, 0.0))
        self.target = RIGHT  # side to fill
        self._begin = scene.time
        self._T_board_world = np.linalg.inv(scene.objects["board"].pose)
        self.layout = layout_of(scene)
        self._tips = {arm: scene.T_world_tip(arm)[:3, 3] for arm in arms}
        self._tracks = {name: _Track(self.post(scene, name)) for name in PEGS}
        self._done: set[str] = set()  # pegs that gave a point on this side

    def update(self, scene: Scene) -> Score:
        """Judge the current state."""
        score = self.score
        score.time = scene.time - self._begin
        if score.ended:
            return score
        for arm, before in self._tips.items():
            tip = scene.T_world_tip(arm)[:3, 3]
            score.path[arm] += math.dist(tip, before)
            self._tips[arm] = tip
            score.peak_force = max(score.peak_force, scene.arms[arm].contact_force())
        for name, arms in fingers_on(scene).items():
            self._judge(scene, name, bool(arms), [arm for arm, links in arms.items() if links >= FINGERS])
        if len(self._done) == len(PEGS) and all(self.side(name) == self.target for name in PEGS):
            self.target, self._done = -self.target, set()
        return score

    def side(self, peg: str) -> int | None:
        """Side of the post on which a peg rests; None if it is on none."""
        post = self._tracks[peg].post
        return None if post is None else self.layout.side(post)

    def waiting(self) -> list[str]:
        """Pegs that can still give a point on this side."""
        return [name for name in PEGS if name not in self._done]

    def _judge(self, scene: Scene, name: str, touched: bool, holding: list[str]) -> None:
        track, now = self._tracks[name], self.score.time
        track.holders.update(holding)
        T = self._T_board_world @ scene.objects[name].pose
        (x, y, z), (width, depth, _) = T[:3, 3].tolist(), self.layout.plate.tolist()
        if abs(x) > width / 2 + MARGIN or abs(y) > depth / 2 + MARGIN or z < -MARGIN:
            self.score.ended = f"the {name} peg left the workspace"
            return
        post = self._post_at(T)
        still = post is not None and not touched and np.linalg.norm(scene.objects[name].twist[:3]) < STILL
        if post is None:
            track.post = None
        track.still_since = (now if track.still_since is None else track.still_since) if still else None
        if track.still_since is not None and track.post is None and now - track.still_since >= REST - 1e-9:
            track.post = post
            self._place(name, track, track.still_since)
        loose = track.post is None and post is None and not touched and bool(track.holders)
        before, track.free_since = track.free_since, None
        if loose:
            track.free_since = now if before is None else before
            if track.free_since < math.inf and now - track.free_since >= LOST - 1e-9:
                self.score.drops += 1
                track.free_since = math.inf  # counted once until it is touched again

    def _place(self, name: str, track: _Track, time: float) -> None:
        assert track.post is not None
        side, reason = self.side(name), ""
        if side != self.target:
            reason = "the other side is to be filled"
        elif name in self._done:
            reason = "it has given its point on this side"
        elif not set(HAND.values()) <= track.holders:
            reason = "no handover"
        self.score.placements.append(PlacedPeg(time, name, track.post, not reason, reason))
        if not reason:
            self._done.add(name)
        track.holders = set()

    def post(self, scene: Scene, name: str) -> int | None:
        """The post around which a peg is, down at the board and upright."""
        return self._post_at(self._T_board_world @ scene.objects[name].pose)

    def _post_at(self, T: Array) -> int | None:
        """The post around which a peg at T_board_peg (4, 4) is."""
        if abs(T[2, 3]) > ABOVE or T[2, 2] < MAX_TILT:
            return None
        away = np.linalg.norm(self.layout.posts - T[:2, 3], axis=1)
        nearest = int(away.argmin())
        return nearest if away[nearest] <= ASIDE else None


def fingers_on(scene: Scene) -> dict[str, dict[str, set[str]]]:
    """Links of instruments that touched each peg in the last step, by arm; both fingers hold it."""
    links: dict[str, dict[str, set[str]]] = {name: {} for name in PEGS}
    for contact in scene.touching():
        if contact.link_and_object is not None:
            link, thing = contact.link_and_object
            if thing in links:
                links[thing].setdefault(str(link.arm), set()).add(link.name)
    return links
