"""A needle and its thread through a tissue: touch, puncture, cutting, exit, and friction along the tunnel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, NamedTuple

import mujoco
import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.simulation.objects.strand import Strand
from trocar.simulation.objects.tissue_grid import TissueGrid, solved
from trocar.simulation.objects.tissue_points import PointRows
from trocar.spatial import Array

MAX_POINTS = 40  # each costs four degrees of freedom
LOCKED = 1e3  # friction of a slider that does not move [N]
LOOSE = 1e-3  # friction of a slider without a share of the tunnel [N]
BACKWARD = 0.02  # resistance to pulling the needle's point back [N]; the tunnel is cut already
DEPTH = 1.5e-3  # within this distance behind a face, the needle's point touches the face [m]
INWARD = -0.1  # largest cosine between the needle and the outward normal at which it touches
APART = 1.2  # distance of points on a thread, in rods; points closer than a rod would lock it
BISECTIONS = 24  # of a crossing of the surface: 1 nm
SCAN = 100  # places along a needle at which it is tested whether they are in the tissue


@dataclass(frozen=True)
class Piercing:
    """Resistance of a tissue to a needle and its thread. The defaults are of the order of published measurements.

    Puncture of suture needles 0.6 to 0.9 N: Maloney et al., Ann. Plast. Surg. 95 (2025) 423. Cutting about 60 % of the
    driving force: Barnett et al., J. Manuf. Sci. Eng. (2015), doi 10.1115/1.4030374. Friction per length is assumed.

    Attributes:
        needle: name of the needle.
        puncture: force along the needle at which its point enters a free face [N].
        cut: force at the point while it cuts [N]. exit: force at which it comes out of a face [N].
        drag, thread_drag: friction per length of needle and thread in the tissue [N/m].
        capstan: friction of the thread per force across it.
        spacing: distance of the points at which needle and tissue are tied [m].
        points: largest number of such points at a time.
    """

    needle: str = "needle"
    puncture: float = 0.8
    cut: float = 0.35
    exit: float = 0.6
    drag: float = 25.0
    thread_drag: float = 8.0
    capstan: float = 0.1
    spacing: float = 2.5e-3
    points: int = 10

    def __post_init__(self) -> None:
        checks.attributes(
            self,
            "piercing",
            positive=("puncture", "cut", "exit", "spacing"),
            not_negative=("drag", "thread_drag", "capstan"),
        )
        checks.count("points of piercing", self.points, low=3, high=MAX_POINTS)
        if self.exit < self.cut:
            raise TrocarError(f"piercing: exit must be at least cut = {self.cut:g} N, got {self.exit:g} N")


class TissueEvent(NamedTuple):
    """Something that happened in a tissue: time [s], a name, force along the needle [N], place at rest [m].

    The force of "torn" is the stress at which it tore [Pa].
    """

    time: float
    what: str
    force: float
    X: tuple[float, ...]


class TissuePoint(NamedTuple):
    """A point at which needle or thread are tied to tissue.

    Attributes:
        kind: of the needle's point "touch", "cut" or "leaving"; behind it "entry", "path" or "exit".
        s: arc length behind the needle's point [m]. X: place at rest (3,), in the tissue's frame [m].
        force: (3,) of the tissue on needle or thread in the last step, base axes [N].
        along: its component towards the needle's point; negative if the tissue resists. across: the rest [N].
    """

    kind: str
    s: float
    X: Array
    force: Array
    along: float
    across: float


@dataclass
class _Tie:
    """State of a point: `row` in the model, arc length s, material point X, and what the solver was told."""

    row: int
    kind: str
    tunnel: int
    s: float
    X: Array
    force: Array = field(default_factory=lambda: np.zeros(3))
    along: float = 0.0
    direction: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))  # towards the point, tissue's frame
    friction: float = LOOSE
    travel: float = 0.0  # of the needle's point since the puncture [m]

    @property
    def across(self) -> float:
        """Force across the needle [N]."""
        return sqrt(max(float(self.force @ self.force) - self.along**2, 0.0))


class Passage:
    """The points of one needle and thread in one tissue, updated after every step.

    A point moves along the needle by the travel of its slider: behind the needle's point the arc length s grows, at the
    needle's point the material point X moves on by F^-1 times the travel. Forces follow from the solver, which was
    given the friction of every slider; nothing is applied.
    """

    def __init__(
        self, piercing: Piercing, grid: TissueGrid, rows: PointRows, strand: Strand, data: mujoco.MjData
    ) -> None:
        self.piercing, self.grid, self.rows, self.strand, self._data = piercing, grid, rows, strand, data
        self.boundary = grid.boundary
        self.events: list[TissueEvent] = []
        self._tip: _Tie | None = None
        self._normal = np.zeros(3)  # outward normal of the touched face at rest
        self._ties: list[_Tie] = []
        self._exits: list[tuple[int, Array]] = []  # tunnel and place of exits whose point is not laid yet
        self._tunnels = 0
        self._near = 0.75 * (grid.high - grid.low)  # from its centre: the point may touch the tissue

    @property
    def _all(self) -> list[_Tie]:
        return ([] if self._tip is None else [self._tip]) + self._ties

    def forces(self) -> list[TissuePoint]:
        """All points, from the needle's point on."""
        points = []
        for tie in self._all:
            points.append(TissuePoint(tie.kind, tie.s, tie.X.copy(), tie.force.copy(), tie.along, tie.across))
        return points

    @property
    def force(self) -> Array:
        """Sum (3,) of the forces at all points, base axes [N]."""
        return np.asarray(sum((tie.force for tie in self._all), np.zeros(3)))

    def reset(self) -> None:
        """Forget all points."""
        for row in range(self.rows.count):
            self.rows.free(row)
        self.events, self._ties, self._tip, self._exits, self._tunnels = [], [], None, [], 0

    def pass_through(self) -> None:
        """Lay the points of a needle that has been placed through the tissue, without what happened on the way."""
        near = self.boundary.clipped(self.grid.to_local(self.strand.world(self.strand.length / 2)))
        places = np.linspace(0.0, self.strand.length, SCAN)
        inside = [s for s in places.tolist() if self._inside(s, near)]
        if not inside or inside[0] == 0.0 or inside[-1] == places[-1]:
            raise TrocarError("the needle is not through the tissue: its point and its tail must be outside")
        first, last = self._crossing(inside[0], 0.0, near), self._crossing(inside[-1], self.strand.length, near)
        self.reset()
        self._tunnels = 1
        count = max(2, 1 + int((last - first) / self.piercing.spacing))
        for k, s in enumerate(np.linspace(first, last, count).tolist()):
            kind = "exit" if k == 0 else "entry" if k == count - 1 else "path"
            tie = self._add(kind, 1, s, self.boundary.clipped(self._material(s, near)), LOOSE)
            if tie is not None:
                self._ties.append(tie)

    def update(self, intact: Array) -> None:
        """Take over what happened in the last step, and prepare the next one.

        intact: mask of the cells that were not cut; needle and thread come free in the others.
        """
        self._read()
        if not intact.all():
            for tie in self._all:
                if not intact[self.grid.cell(tie.X)[0]]:
                    self._record("cut free", -tie.along, tie.X)
                    self._remove(tie)
        if self._tip is None:
            self._touch(intact)
        else:
            self._advance(self._tip)
        if self._exits:
            self._lay_exits()
        self._ties.sort(key=lambda tie: tie.s)
        for tie in list(self._ties):
            self._slide(tie)
        for i, tie in enumerate(self._ties):
            tie.friction = self._friction(i)
            self._command(tie)
        if self._tip is not None:
            self._command(self._tip)
            if self._tip.kind == "cut":
                self._lay(self._tip)

    def _read(self) -> None:
        """Forces of the last step, along the directions that the sliders had in it."""
        ties = self._all
        for tie, force in zip(ties, self.rows.forces([tie.row for tie in ties]), strict=True):
            tie.force, tie.along = force, float(force.dot(self.grid.R.dot(tie.direction)))

    def _command(self, tie: _Tie) -> None:
        """Give the solver the place, direction and friction of a point."""
        tie.direction = self.strand.direction(tie.s).dot(self.grid.R)
        body, place = self.strand.at(tie.s)
        self.rows.hold(tie.row, body, place)
        self.rows.slide(tie.row, tie.direction, tie.friction)

    def _add(self, kind: str, tunnel: int, s: float, X: Array, friction: float) -> _Tie | None:
        """Use a free row for a new point; None if there is none."""
        used = {tie.row for tie in self._all}
        row = next((k for k in range(self.rows.count) if k not in used), None)
        if row is None:
            self._record("no point left", 0.0, X)
            return None
        tie = _Tie(row, kind, tunnel, s, X, friction=friction)
        self.rows.use(row, X)
        self._command(tie)
        return tie

    def _remove(self, tie: _Tie) -> None:
        self.rows.free(tie.row)
        if tie is self._tip:
            self._tip = None
        else:
            self._ties.remove(tie)

    def _record(self, what: str, force: float, X: Array) -> None:
        x, y, z = X.tolist()
        self.events.append(TissueEvent(float(self._data.time), what, force, (x, y, z)))

    def _material(self, s: float, near: Array) -> Array:
        """Material point at which the needle now is at arc length s."""
        return self.grid.inverse(self.grid.to_local(self.strand.world(s)), near)

    def _inside(self, s: float, near: Array) -> bool:
        return self.boundary.outside(self._material(s, near))[0] < 0

    def _crossing(self, inner: float, outer: float, near: Array) -> float:
        """Arc length at which the needle crosses the surface, inside the tissue at `inner`."""
        for _ in range(BISECTIONS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if self._inside(middle, near) else (inner, middle)
        return inner

    # the needle's point

    def _touch(self, intact: Array) -> None:
        """Touch a face when the needle's point is just behind it and moves inwards."""
        grid = self.grid
        if any(tie.s < 2 * self.piercing.spacing for tie in self._ties):
            return  # it is leaving through a tunnel
        x = grid.to_local(self.strand.world(0.0))
        if (np.abs(x) > self._near).any():
            return
        X = grid.inverse(x, self.boundary.clipped(x))
        gap, normal = self.boundary.outside(X)
        heading = float((self.strand.direction(0.0) @ grid.R) @ normal)
        within = ((grid.low < X) & (grid.high > X)).all()
        if -DEPTH < gap < 0 and heading < INWARD and within and intact[grid.cell(X)[0]]:
            self._normal = normal
            self._tunnels += 1
            self._tip = self._add("touch", self._tunnels, 0.0, self.boundary.on_face(X, normal), LOCKED)
            if self._tip is not None:
                self._record("touch", 0.0, self._tip.X)

    def _advance(self, tip: _Tie) -> None:
        """Puncture, cut and exit with the needle's point."""
        travel, resistance, law = self.rows.travel(tip.row), -tip.along, self.piercing
        if tip.kind == "touch":
            if tip.force @ (self.grid.R @ self._normal) < -BACKWARD:
                self._record("left", resistance, tip.X)
                self._remove(tip)
            elif resistance >= law.puncture:
                tip.kind, tip.friction = "cut", law.cut
                self._record("puncture", resistance, tip.X)
            return
        tip.travel += travel
        _, F = self.grid.gradient(tip.X)
        X = tip.X + solved(F, travel * tip.direction)
        gap, normal = self.boundary.outside(X)
        pulled = resistance < -BACKWARD / 2
        if gap >= 0:
            X = self.boundary.on_face(X, normal)
            outward = float(tip.direction @ normal) > 0
            if pulled and not outward:
                self._record("withdrawn", resistance, tip.X)
                self._remove(tip)
                return
            # right after the puncture the point is still at its face, and may recoil with it
            if outward and tip.travel >= law.spacing:
                if tip.kind == "cut":
                    tip.kind = "leaving"
                elif resistance >= law.exit:
                    self._record("exit", resistance, X)
                    self._exits.append((tip.tunnel, X))
                    self._remove(tip)
                    return
        elif tip.kind == "leaving" and gap < -0.1 * law.spacing:
            tip.kind = "cut"
        tip.X = self.boundary.clipped(X)
        tip.friction = BACKWARD if pulled else law.cut if tip.kind == "cut" else LOCKED
        self.rows.move(tip.row, tip.X)

    # points behind it

    def _lay(self, tip: _Tie) -> None:
        """Lay the entry point, and points of the tunnel one spacing behind the needle's point."""
        spacing, laid = self.piercing.spacing, [tie.s for tie in self._ties if tie.tunnel == tip.tunnel]
        if not laid and tip.travel > spacing:
            s, kind = self._crossing(0.0, 4 * spacing, tip.X), "entry"
        elif laid and min(laid) > 2 * spacing:
            s, kind = spacing, "path"
        else:
            return
        X = self._material(s, tip.X)
        if kind == "path" and self.boundary.outside(X)[0] > -0.3 * spacing:
            return
        tie = self._add(kind, tip.tunnel, s, self.boundary.clipped(X), LOOSE)
        if tie is not None:
            self._ties.append(tie)
            if kind == "entry":
                self._record("entry", -tip.along, tie.X)

    def _lay_exits(self) -> None:
        """Lay the point at which the needle leaves the tissue, once the last point is far enough from it."""
        spacing = self.piercing.spacing
        for tunnel, place in list(self._exits):
            laid = [tie.s for tie in self._ties if tie.tunnel == tunnel]
            if not laid:
                self._exits = [item for item in self._exits if item[0] != tunnel]
                continue
            inner = min(laid) - 0.3 * spacing
            if min(laid) < 1.3 * spacing or not self._inside(inner, place) or self._inside(0.0, place):
                continue
            s = self._crossing(inner, 0.0, place)
            X = self.boundary.clipped(self._material(s, place))
            self._exits = [item for item in self._exits if item[0] != tunnel]
            tie = self._add("exit", tunnel, s, X, LOOSE)
            if tie is not None:
                self._ties.append(tie)

    def _slide(self, tie: _Tie) -> None:
        """Move a point along needle and thread by the travel of its slider; remove it at the ends."""
        strand, before = self.strand, tie.s
        tie.s += self.rows.travel(tie.row)
        what = ""
        if tie.s < 0:
            what = "released"
        elif strand.piece(before) != strand.piece(tie.s):
            what = "off the thread" if strand.on_thread(before) else "off the needle"
        elif tie.s > strand.total - 1e-4:
            if strand.knot:
                tie.s = strand.total - 1e-4
            else:
                what = "through"
        if what:
            self._record(what, -tie.along, tie.X)
            self._remove(tie)
        elif tie.kind == "path" and strand.on_thread(tie.s):
            near = APART * strand.rod
            if any(other is not tie and abs(other.s - tie.s) < near for other in self._ties):
                self._remove(tie)

    def _friction(self, i: int) -> float:
        """Friction of point i: that of the length of the tunnel nearest to it, and of the thread's bend."""
        tie, law, strand = self._ties[i], self.piercing, self.strand
        if not strand.on_thread(tie.s):
            return max(law.drag * self._share(i), LOOSE)
        if strand.knot and tie.s >= strand.total - 1e-4:
            return LOCKED
        return max(law.thread_drag * self._share(i) + law.capstan * tie.across, LOOSE)

    def _share(self, i: int) -> float:
        """Length of the tunnel that point i stands for [m]; all shares add up to the length in the tissue."""
        tie, ties = self._ties[i], self._ties
        low = high = tie.s
        if i > 0 and ties[i - 1].tunnel == tie.tunnel:
            low = (ties[i - 1].s + tie.s) / 2
        elif self._tip is not None and self._tip.tunnel == tie.tunnel:
            low = 0.0
        else:
            for tunnel, place in self._exits:
                if tunnel == tie.tunnel:
                    low = tie.s - float(np.linalg.norm(self.grid.place(place) - self.grid.place(tie.X)))
        if i + 1 < len(ties) and ties[i + 1].tunnel == tie.tunnel:
            high = (ties[i + 1].s + tie.s) / 2
        return high - low

    @property
    def memory(self) -> Any:
        """All points and events. Assign it to restore them in the model, whose state has been restored."""
        tip = None if self._tip is None else replace(self._tip)
        ties = tuple(replace(tie) for tie in self._ties)
        return tip, ties, tuple(self._exits), self._tunnels, tuple(self.events), self._normal

    @memory.setter
    def memory(self, memory: Any) -> None:
        tip, ties, exits, self._tunnels, events, self._normal = memory
        self._tip, self._ties = None if tip is None else replace(tip), [replace(tie) for tie in ties]
        self._exits, self.events = list(exits), list(events)
        used = {tie.row: tie for tie in self._all}
        for row in range(self.rows.count):
            if row not in used:
                self.rows.release(row)
                continue
            tie = used[row]
            self.rows.tie(row, tie.X)
            self.rows.hold(row, *self.strand.at(tie.s))
            self.rows.slide(row, tie.direction, tie.friction)
            self.rows.activate(row)
