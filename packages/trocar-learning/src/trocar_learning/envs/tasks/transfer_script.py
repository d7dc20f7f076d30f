"""A scripted player of the peg transfer, which knows the true poses of the pegs and the board.

Grips and handovers are by friction only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trocar.errors import TrocarError
from trocar.spatial import Array, inverse, pose, rotation
from trocar_learning.contest.layouts import LEFT, RIGHT
from trocar_learning.contest.peg_board import HAND, MIN_APART, PEGS
from trocar_learning.contest.peg_grips import OPEN, SQUEEZE, grips, touching
from trocar_learning.envs.actions import TipIncrement
from trocar_learning.envs.task import Policy
from trocar_learning.envs.tasks.peg_rules import NONE, REST, STILL, PegRules
from trocar_learning.envs.tasks.tip_script import approached

if TYPE_CHECKING:
    from trocar_learning.envs.world import World

SPEED, CARRYING, FINE = 0.05, 0.045, 0.03  # of free motions, with a peg, and near pegs and posts [m/s]
TURN_SPEED = 2.0  # [rad/s]
JAW_RATE = 1.8  # of closing and opening [rad/s]; faster jaws can flick a peg away
CLOSING, RELEASING = 0.40, 0.26  # time for the jaws [s]
UP = pose(p=[0.0, 0.0, 0.016])  # place of the jaws before and after a grip, from it
ATTEMPTS = 3  # of the arm that takes a peg
CARRIED = 0.012  # height of a carried peg's lower end over the highest part of the board, in the middle [m]
CLEAR = 4e-3  # and over the posts, where a peg is lifted or lowered [m]
LET_GO = 1e-3  # height over the board at which a peg is let go [m]
WAIT = np.array([0.035, 0.0, -0.07])  # place of an idle tip: aside of the wall [m]
MIN_UPRIGHT = np.cos(np.radians(40.0))  # of the axis of a loose peg that can be gripped
MARGIN = 0.1  # of the joints from their limits [rad]


@dataclass(frozen=True)
class Waypoint:
    """A tip pose (4, 4) in the world and the speed towards it [m/s]."""

    T: Array
    speed: float = SPEED


def _upright(R: Array) -> Array:
    """The rotation (3, 3) about the vertical that is next to another one."""
    return rotation("z", float(np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])))


class TransferScript:
    """Poses and openings that move pegs to and fro until the time is over.

    Args:
        world: of the peg transfer, at its start. rules: by which it is judged. period: between two steps [s].
        aligned: turn the jaws to the walls of a peg; False keeps their orientation.

    Attributes:
        T: commanded tip poses (4, 4) in the world by arm. opening: commanded openings of the jaws by arm [rad].
    """

    def __init__(self, world: World, rules: PegRules, period: float, *, aligned: bool = True) -> None:
        self.world, self.rules, self.period, self.aligned = world, rules, period, aligned
        self.scene = scene = world.scene
        self.T = {arm: scene.T_world_tip(arm) for arm in scene.arms}
        self.opening = {arm: float(scene.arms[arm].q[-1]) for arm in scene.arms}
        self._q = {arm: scene.arms[arm].q for arm in scene.arms}  # seeds of plans
        length = next(iter(scene.arms.values())).arm.jaw_length
        self._grips, self._closed = grips(length), touching(length) - SQUEEZE
        self._T_board = scene.objects["board"].pose
        self._layout = layout = rules.layout
        self._carried, self._clear = layout.height + CARRIED, layout.post_height + CLEAR

    def policy(self) -> Policy:
        """Increments that follow the commands."""
        steps, before = self.play(), {arm: T.copy() for arm, T in self.T.items()}

        def act(observation: object) -> Array:
            next(steps)
            parts = [TipIncrement.towards(before[arm], T, self.opening[arm], self.period) for arm, T in self.T.items()]
            before.update(self.T)
            return np.clip(np.concatenate(parts), -1.0, 1.0)

        return act

    def play(self) -> Iterator[None]:
        """Change the commands by one period per step."""
        while True:
            target = int(self.world.value("target"))
            if (name := self._next(-target)) is not None and (grip := self._pick(HAND[-target], name)) is not None:
                yield from self._transfer(name, grip, target)
            elif (name := self._loose()) is not None:
                yield from self._recover(name)
            elif (name := self._next(target)) is not None and (grip := self._pick(HAND[target], name)) is not None:
                yield from self._transfer(name, grip, -target)  # it came there without a handover
            else:
                yield from self._wait(0.1)

    def _next(self, side: int, but: str | None = None) -> str | None:
        """The next peg to move from a side, the outer one first."""
        pegs = [name for name in PEGS if name != but and not self._value(name, "done") and self._side(name) == side]
        return max(pegs, key=lambda name: abs(self._peg(name)[0, 3]), default=None)

    def _loose(self) -> str | None:
        """A peg that rests on no post, nearly upright and within reach."""
        for name in PEGS:
            still = np.linalg.norm(self.scene.objects[name].twist[:3]) < STILL
            if self._side(name) is None and still and self._peg(name)[2, 2] > MIN_UPRIGHT:
                if self.rules.post(self.world, name)[0][0] != NONE:
                    continue  # the rules are about to count it
                if self._pick(HAND[self._half(name)], name) is not None:
                    return name
        return None

    def _value(self, name: str, what: str) -> int:
        return int(self.world.value(f"{name} {what}"))

    def _side(self, name: str) -> int | None:
        """Side of the post on which a peg rests; None if it is on none."""
        post = self._value(name, "post")
        return None if post == NONE else self._layout.side(post)

    def _half(self, name: str) -> int:
        """The side of the board on which a peg is."""
        return RIGHT if (inverse(self._T_board) @ self._peg(name))[0, 3] > 0 else LEFT

    def _recover(self, name: str) -> Iterator[None]:
        """Put a loose peg onto a post of the side on which it is."""
        side = self._half(name)
        arm, other = HAND[side], HAND[-side]
        grip = self._pick(arm, name)
        if grip is None:
            return
        self.opening[arm] = OPEN
        yield from self._move({arm: [Waypoint(UP @ grip)], other: [Waypoint(self._idle(other, -side))]})
        yield from self._grip(arm, grip)
        yield from self._lift(arm, name)
        if self._holder(name) == arm:
            yield from self._put(arm, name, side)
        else:
            yield from self._let_go(arm)
        yield from self._wait(REST)

    def _lift(self, arm: str, name: str) -> Iterator[None]:
        """Lift a gripped peg over the posts."""
        lifted = pose(p=[0.0, 0.0, self._clear - self._height(name)])
        yield from self._move({arm: [Waypoint(lifted @ self.T[arm], CARRYING)]})

    def _peg(self, name: str) -> Array:
        return self.scene.objects[name].pose

    def _transfer(self, name: str, grip: Array, target: int) -> Iterator[None]:
        """Pick a peg, hand it over and place it on a side; ends early if the grip fails, and is then tried again."""
        giver, taker = HAND[-target], HAND[target]
        self.opening[giver] = OPEN
        yield from self._move({giver: [Waypoint(UP @ grip)], taker: [Waypoint(self._idle(taker, target))]})
        yield from self._grip(giver, grip)
        yield from self._lift(giver, name)
        if self._holder(name) != giver:
            yield from self._let_go(giver)
            return
        # meet over the wall
        T_tip_peg = self._held(giver, name)
        meeting = self._meeting(giver, taker, T_tip_peg)
        if meeting is None:  # another grip may allow one
            yield from self._put(giver, name, -target)
            return
        T_giver, T_peg_taker = meeting
        self.opening[taker] = OPEN
        above = UP @ T_giver @ T_tip_peg @ T_peg_taker
        yield from self._move({giver: [Waypoint(T_giver, CARRYING)], taker: [Waypoint(above)]})
        for _ in range(ATTEMPTS):
            yield from self._wait(0.1)
            yield from self._grip(taker, self._peg(name) @ T_peg_taker)
            if self._touches(taker, name):
                break
            yield from self._let_go(taker)
        else:
            yield from self._put(giver, name, -target)
            return
        yield from self._let_go(giver)
        if self._holder(name) == taker:
            # over the next peg, if there is one on this side
            after = self._next(-target, but=name)
            first = None if after is None else self._pick(giver, after)
            away = self._idle(giver, -target) if first is None else UP @ first
            yield from self._put(taker, name, target, {giver: [Waypoint(away)]})
            if first is None:
                yield from self._wait(REST)  # until the rules have counted it

    def _put(
        self, arm: str, name: str, side: int, meanwhile: Mapping[str, Sequence[Waypoint]] | None = None
    ) -> Iterator[None]:
        """Carry a held peg to a free post of a side and let it go there."""
        T_tip_peg = self._held(arm, name)
        x, y = self._layout.posts[self._post(side, name)]
        R = _upright(self.T[arm][:3, :3] @ T_tip_peg[:3, :3])
        over, down = (
            pose(R, (self._T_board @ [x, y, height, 1.0])[:3]) @ inverse(T_tip_peg) for height in (self._clear, LET_GO)
        )
        yield from self._move({**(meanwhile or {}), arm: [Waypoint(over, CARRYING), Waypoint(down, FINE)]})
        yield from self._let_go(arm)

    def _grip(self, arm: str, T: Array) -> Iterator[None]:
        """Lower open jaws to a tip pose, correct what the arm's friction leaves, and close them."""
        yield from self._move({arm: [Waypoint(UP @ T, FINE), Waypoint(T, FINE)]})
        yield from self._wait(0.1)
        missed = T[:3, 3] - self.scene.T_world_tip(arm)[:3, 3]
        yield from self._move({arm: [Waypoint(pose(p=missed) @ T, FINE)]})
        yield from self._jaws(arm, self._closed, CLOSING)

    def _let_go(self, arm: str) -> Iterator[None]:
        yield from self._jaws(arm, OPEN, RELEASING)
        yield from self._move({arm: [Waypoint(UP @ self.T[arm], CARRYING)]})

    def _idle(self, arm: str, side: int) -> Array:
        return pose(self.T[arm][:3, :3], [side * WAIT[0], *WAIT[1:]])

    def _holder(self, name: str) -> str | None:
        return next((arm for arm in self.scene.arms if self._touches(arm, name)), None)

    def _touches(self, arm: str, name: str) -> bool:
        """An arm has a peg between both fingers, while the other may hold it too."""
        return bool(self.world.held(arm, name)[0])

    def _height(self, name: str) -> float:
        return float((inverse(self._T_board) @ self._peg(name))[2, 3])

    def _held(self, arm: str, name: str) -> Array:
        """T_tip_peg (4, 4) of a gripped peg, relative to the commanded tip."""
        return inverse(self.T[arm]) @ self._peg(name)

    def _post(self, side: int, name: str) -> int:
        """The free post of a side nearest to the wall and the middle, away from the other peg."""
        (other,) = [peg for peg in PEGS if peg != name]
        there = (inverse(self._T_board) @ self._peg(other))[:2, 3]
        posts = self._layout.posts
        free = [k for k in self._layout.used_on(side) if np.linalg.norm(posts[k] - there) > MIN_APART]
        return min(free, key=lambda k: float(np.linalg.norm(posts[k])))

    # -- plans ---------------------------------------------------------------------------------------------------------

    def _pick(self, arm: str, name: str) -> Array | None:
        """The grip of a peg that needs the smallest turns; None out of reach."""
        T_peg = self._peg(name)
        options = [self._turned(arm, T_peg @ frame) for frame in self._grips]
        costs = [self._cost(arm, T) for T in options]
        best = int(np.argmin(costs))
        return options[best] if np.isfinite(costs[best]) else None

    def _meeting(self, giver: str, taker: str, T_tip_peg: Array) -> tuple[Array, Array] | None:
        """Tip pose of the giver and T_peg_tip of the taker at a handover over the wall; None if there are none."""
        middle = self._T_board[:3, 3] + [0.0, 0.0, self._carried]
        towards = np.sign(self.scene.T_world_base(taker)[0, 3])
        best, chosen = np.inf, None
        for turn in np.linspace(-np.pi, np.pi, 24, endpoint=False):
            R = rotation("z", turn) @ _upright(self.T[giver][:3, :3] @ T_tip_peg[:3, :3])
            T_peg = pose(R, middle)
            T_giver = T_peg @ inverse(T_tip_peg)
            cost = self._cost(giver, T_giver)
            if cost >= best:
                continue
            for frame in self._grips:
                T_taker = self._turned(taker, T_peg @ frame)
                apart = T_taker[:3, 3] - T_giver[:3, 3]
                if towards * apart[0] < 8e-3 or np.linalg.norm(apart[:2]) < 0.0105:
                    continue
                total = cost + self._cost(taker, T_taker)
                if total < best:
                    best, chosen = total, (T_giver, inverse(T_peg) @ T_taker)
        return chosen

    def _turned(self, arm: str, T: Array) -> Array:
        """A grip with the arm's current orientation, unless grips are aligned with walls."""
        return T if self.aligned else pose(self.T[arm][:3, :3], T[:3, 3])

    def _cost(self, arm: str, T: Array) -> float:
        """Largest turn of a wrist joint from the commanded pose [rad]; infinite if out of reach."""
        mechanism = self.scene.arms[arm].mechanism
        facts = mechanism.arm
        base = inverse(self.scene.T_world_base(arm))
        try:
            here = np.array(mechanism.inverse_kinematics(base @ self.T[arm], q_seed=self._q[arm]))
            there = np.array(mechanism.inverse_kinematics(base @ T, q_seed=here))
        except TrocarError:
            return np.inf
        self._q[arm] = here
        wrist = slice(3, 6)
        margin = min((there - facts.lower)[wrist].min(), (facts.upper - there)[wrist].min())
        if margin < MARGIN:
            return np.inf
        return float(np.abs(there - here)[wrist].max() + 0.5 * np.abs(there[wrist]).max())

    # -- motions -------------------------------------------------------------------------------------------------------

    def _move(self, paths: Mapping[str, Sequence[Waypoint]]) -> Iterator[None]:
        """Move tips along straight lines through waypoints, all arms at once, until the last arrives."""
        left = {arm: list(path) for arm, path in paths.items()}
        while any(left.values()):
            for arm, path in left.items():
                if path and self._towards(arm, path[0]):
                    path.pop(0)
            yield

    def _towards(self, arm: str, goal: Waypoint) -> bool:
        """Move a commanded pose by one period; True if it arrives."""
        self.T[arm], *_, arrived = approached(self.T[arm], goal.T, goal.speed, TURN_SPEED, self.period)
        return arrived

    def _jaws(self, arm: str, opening: float, duration: float) -> Iterator[None]:
        """Close or open jaws at a moderate rate, and wait until a time has passed [s]."""
        start, steps = self.opening[arm], round(duration / self.period)
        rise = min(1.0, JAW_RATE * self.period / max(abs(opening - start), 1e-9))
        for k in range(1, steps + 1):
            self.opening[arm] = start + min(1.0, k * rise) * (opening - start)
            yield
        self.opening[arm] = opening

    def _wait(self, duration: float) -> Iterator[None]:
        for _ in range(round(duration / self.period)):
            yield
