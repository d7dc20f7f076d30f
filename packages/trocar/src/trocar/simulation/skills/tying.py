"""Tying a throw with two instruments: the long end is wound around the tool, which pulls the short end through.

The tool's jaws point across the post and upwards. The other arm, which holds the long end, carries it one and a half
times around them, in a plane across the jaws. Below them it stays on its own side of the long end, which comes up from
the post. Then the tool takes the short end and draws it back to its own side. The other arm stays above it, so that the
turns stay on the tool until the short end trails behind its tip. Then it pulls them off, over the short end, and both
pull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.knots import Knot
from trocar.simulation.objects.filament import PlacedFilament
from trocar.simulation.skills.hands import Hands, straight
from trocar.simulation.skills.knot_setting import PLACE
from trocar.simulation.skills.tying_setting import GUIDE, PAD, SIDES, across
from trocar.spatial import Array

WRAPPED = 3.1e-3  # radius of the instrument where the thread goes around it [m]
# Angles of the jaws below the horizontal [rad]: of the tool while the thread goes around it, of the other arm, of the
# tool that takes the short end.
UP, LEVEL, DOWN = np.radians(-20.0), 0.2, 0.6
AHEAD, BEHIND = 7e-3, 5e-3  # of the winding arm below and after it, towards the tool's tip and from it [m]
# Distance of the ends of the long end over its length: winding, with the turns on the tool, before they come off.
TAUT_WINDING, TAUT, LOOSE = 0.85, 0.8, 0.6
FIRST, TURN_STEP = np.radians(40.0), np.radians(10.0)  # angle at which the winding starts, and between its poses
WINDING_RATE = 3.0  # [rad/s]
GRIPPED_AT = 4e-3  # place of the grip from the short end [m]
NEAR = 0.7e-3  # distance of the pads from the short end at which they close [m]
# Heights above the short end at which the tool aims at it, which the turns move, and time of each motion [m, s].
APPROACH = ((0.012, 1.0), (0.006, 0.4), (0.0, 0.4), (0.0, 0.3), (0.0, 0.3), (0.0, 0.3), (0.0, 0.3))
OPENING = 0.5  # of the jaws that take the short end [rad]
EFFORT = 0.1  # of jaws that hold thread [N m]
STROKE, STROKE_TIME, STROKES = 1.5e-3, 0.06, 80  # of pulling tight [m, s]


@dataclass(frozen=True)
class TiedThrow:
    """A throw that was tied.

    Attributes:
        knot: what is in the thread now. tensions: pull of the long and of the short end on the jaws [N].
        wound: angle by which the long end went around the tool [rad]. time: it took [s].
        reached: both tensions were reached.
    """

    knot: Knot
    tensions: tuple[float, float]
    wound: float
    time: float
    reached: bool


class _Tie:
    """The geometry of a throw: `other` holds the long end, `tool` takes the short one."""

    def __init__(self, hands: Hands, thread: PlacedFilament, other: str, tool: str) -> None:
        self.hands, self.thread, self.other, self.tool, self.side = hands, thread, other, tool, SIDES[tool]
        self.exit = np.array([0.0, self.side * GUIDE, 0.0])

    @property
    def points(self) -> Array:
        """Points (n, 3) of the thread from the post's axis."""
        return self.thread.points - PLACE

    def long_end(self) -> tuple[int, int]:
        """Its masses: in the guide, and the first one between the jaws."""
        held = self.thread.gripped(self.other)
        if not len(held):
            raise TrocarError(f"{self.other} does not hold the long end of the thread: close its jaws on it")
        return int(np.linalg.norm(self.points[: held[0]] - self.exit, axis=1).argmin()), int(held[0])

    @property
    def length(self) -> float:
        """Length of the long end [m]."""
        first, last = self.long_end()
        return (last - first) * self.thread.steps.rod

    def hinge(self, T: Array) -> Array:
        """Place of the hinge of jaws with their tip frame at T, from the post's axis."""
        return np.asarray(T[:3, 3] - PLACE)

    def pads(self, T: Array) -> Array:
        """Middle of the pads with their tip frame at T, from the post's axis."""
        return self.hinge(T) + PAD * np.asarray(T[:3, 2])

    def at(self, arm: str, x: float, out: float, z: float, down: float) -> Array:
        """Tip pose with the pads at x, `out` to the tool's side, and z from the post's axis [m]."""
        return across(arm, np.array([x, self.side * out, z]), down)

    def go(self, duration: float, **targets: Array) -> None:
        """Move on straight lines, at once."""
        arms = {"tool": self.tool, "other": self.other}
        ways = {arms[who]: straight(self.hands.tip(arms[who]), T) for who, T in targets.items()}
        self.hands.together(ways, duration)

    def above(self, T: Array, length: float, taut: float = TAUT) -> Array:
        """Tip pose of the other arm straight above the tool's at T, so that the turns stay on the tool."""
        around = 2.5 * np.pi * WRAPPED
        place = self.hinge(T)
        height = taut * (length - float(np.linalg.norm(place - self.exit)) - around)
        return across(self.other, place + [0.0, 0.0, height], LEVEL)

    def wind(self, hand: int) -> None:
        """Carry the long end around the tool."""
        T, start = self.hands.tip(self.tool), self.hands.tip(self.other)
        centre = self.hinge(T)
        free = self.length - float(np.linalg.norm(centre - self.exit))
        end = 2.5 * np.pi
        upwards = np.array([0.0, -self.side * np.sin(UP), np.cos(UP)])
        poses = [start]
        for phi in np.arange(FIRST, end + 1e-9, TURN_STEP):
            radius = TAUT_WINDING * (free - WRAPPED * (phi + np.pi / 2))
            across_jaws = hand * np.cos(phi) * np.array([1.0, 0.0, 0.0]) + np.sin(phi) * upwards
            aside = np.interp(phi, np.pi * np.array([0.5, 1.5, 2.0, 2.5]), [0.0, -AHEAD, 0.0, BEHIND])
            poses.append(across(self.other, centre + radius * across_jaws + [0.0, self.side * aside, 0.0], LEVEL))
        self.hands.follow(self.other, poses, len(poses) * TURN_STEP / WINDING_RATE)

    @property
    def wound(self) -> float:
        """Angle by which the long end goes around the tool [rad]."""
        first, last = self.long_end()
        T = self.hands.tip(self.tool)
        seen = (self.points[first:last] - self.hinge(T)) @ T[:3, :2]
        angles = np.unwrap(np.arctan2(seen[:, 1], seen[:, 0]))
        return abs(float(angles[-1] - angles[0]))

    def fetch(self) -> None:
        """Take the short end with the tool."""
        k, length = round(GRIPPED_AT / self.thread.steps.rod), self.length
        for height, duration in APPROACH:
            aim, pads = self.pads(self.hands.tip(self.tool)), self.pads(self.hands.scene.T_world_tip(self.tool))
            end = self.points[k]
            if height == 0.0 and np.linalg.norm(end - pads) < NEAR:
                break
            yielding = aim - pads if height < APPROACH[0][0] else 0.0  # the taut turns pull the tool
            T = across(self.tool, end + yielding + [0.0, 0.0, height], DOWN)
            self.go(duration, tool=T, other=self.above(T, length))
            if self.hands.q[self.tool][-1] < OPENING:
                self.hands.open(self.tool, OPENING, 0.3)
        self.hands.close(self.tool, EFFORT, 0.5)

    def draw(self) -> None:
        """Pull the short end through, and the turns off the tool."""
        length = self.length
        T = self.at(self.tool, 0.0, 0.016, 0.012, 0.3)
        self.go(1.0, tool=T, other=self.above(T, length))
        self.go(0.5, other=self.above(T, length, LOOSE))
        self.go(1.2, other=self.at(self.other, 0.0, -0.045, 0.02, LEVEL))

    def tighten(self, tension: float) -> None:
        """Pull the long end, and the short one if that is not enough."""
        for _ in range(STROKES):
            if min(self.tensions) >= tension:
                break
            who = "other" if self.tensions[0] < tension else "tool"
            T = self.hands.tip(self.other if who == "other" else self.tool)
            T[1, 3] += STROKE * (self.side if who == "tool" else -self.side)
            self.go(STROKE_TIME, **{who: T})

    @property
    def tensions(self) -> tuple[float, float]:
        """Of the long and of the short end [N]."""
        return self.thread.pull(self.other), self.thread.pull(self.tool)


def tie_throw(
    hands: Hands,
    thread: str = "thread",
    *,
    other: str = "PSM1",
    tool: str = "PSM2",
    hand: int = 1,
    tension: float = 1.0,
) -> TiedThrow:
    """Tie an overhand throw over the post of `tie_scene`.

    Args:
        other, tool: arms that hold the long end, and take the short one. hand: 1 or -1, the sense of winding: to the
            side x > 0 first, or to the other. tension: to which both ends are pulled [N].
    """
    placed = hands.scene.objects.get(thread)
    if not isinstance(placed, PlacedFilament):
        raise TrocarError(f"{thread!r} is not a Filament of the scene")
    checks.positive("tension", tension, "N")
    if hand not in (1, -1):
        raise TrocarError(f"hand must be 1 or -1, got {hand!r}")
    start, tie = hands.scene.time, _Tie(hands, placed, other, tool)
    hands.close(other, EFFORT, 0.2)
    tie.long_end()
    hands.close(tool, EFFORT, 0.2)
    tie.go(0.8, tool=tie.at(tool, 0.0, 0.012, 0.035, UP))
    tie.wind(hand)
    wound = tie.wound
    tie.fetch()
    tie.draw()
    tie.tighten(tension)
    return TiedThrow(placed.knot, tie.tensions, wound, hands.scene.time - start, min(tie.tensions) >= tension)
