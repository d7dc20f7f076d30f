"""Knots of a `Filament` over random friction and stiffness: what they are when tight, and how they hold.

    python -m tools.knot_campaign tie 0 100          # overhand, square and granny knots, seeds 0 to 99
    python -m tools.knot_campaign slip 0 20          # square and granny knots: the force at which they slip
    python -m tools.knot_campaign hold 0 10          # square, granny and surgeon's knots that carry 1 N for 10 s
    python -m tools.knot_campaign throw 0 20         # throws that two PSMs tie by winding the thread around one of them

A thread lies in loose throws around two posts. Its ends are pulled with `TIGHT` [N], then the posts too, so that the
knot is tight on all sides. Then the ends are let go and only the loop is pulled: slowly more and more (slip), or with a
constant force (hold). A knot has slipped when its loop opens by more than `OPEN`.

Prints a line per knot and the rates with Clopper-Pearson intervals of 95 %.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trocar.errors import TrocarError
from trocar.report.success_rate import clopper_pearson
from trocar.simulation.knots import knot
from trocar.simulation.objects.filament_steps import FilamentSteps, Material, TouchedSolid, resampled
from trocar.simulation.objects.thread import MASS_SCALE
from trocar.simulation.skills import Hands, loose_knot, tie_scene, tie_throw
from trocar.spatial import Array

DIAMETER, DENSITY, YOUNG, ROD = 0.25e-3, 1100.0, 5e8, 0.5e-3
TIGHT = 1.0  # force on the ends while tying [N]
TYING_ROD = 1e-3  # of threads that arms tie [m]
CARRIED, SLIP = 1.0, 1e-3  # load of a knot that holds [N], and how far it may slip [m]
RATE, MOST = 2.0, 2.0  # of a growing load [N/s, N]
OPEN = 14e-3  # opening of the loop at which a knot is undone [m]
POST, APART, BELOW = 0.35e-3, 0.4e-3, 0.5e-3  # radius of the posts, place at first [m]
PERIOD = 1e-3  # of the control of the posts [s]
YIELD, SPEED = 0.02, 0.02  # speed of a post over its missing force, and at most [m/s/N, m/s]
KNOTS = {"overhand": (1,), "square": (1, -1), "granny": (1, 1), "surgeon's": (2, -1), "surgeon's square": (2, -1, 1)}


class KnotBench:
    """A thread with loose throws around two posts that can be pulled apart.

    Args:
        throws: as in `loose_knot`. friction: coefficient. young: [Pa].

    Attributes:
        opening: distance by which the posts have moved apart [m]. time: [s].
    """

    def __init__(self, throws: Sequence[int], friction: float, young: float = YOUNG) -> None:
        points, rod = resampled(loose_knot(throws, wide=1.6e-3, high=0.5e-3, gap=0.8e-3), ROD)
        post = TouchedSolid("cylinder", (POST, 0.02, 0.0))
        material = Material(DIAMETER, DENSITY, young, friction, MASS_SCALE, 5.0)
        self.thread = FilamentSteps(points, rod, material, solids=[post, post])
        self._sides = [np.array([np.sign(points[end, 0]), 0.0, 0.1]) / np.hypot(1.0, 0.1) for end in (0, -1)]
        self.opening = self.time = 0.0
        self.thread.restart(points, self._posts())

    def _posts(self) -> Array:
        along_y = [1, 0, 0, 0, 0, 1, 0, -1, 0]
        x = APART + self.opening / 2
        return np.array([[-x, 0, -BELOW, *along_y], [x, 0, -BELOW, *along_y]], dtype=float)

    @property
    def load(self) -> float:
        """Force with which the loop pulls the posts together [N]."""
        return float(self.thread.wrench[0, 0] - self.thread.wrench[1, 0]) / 2

    def pull(self, duration: float, ends: tuple[float, float], loop: tuple[float, float] | None = None) -> bool:
        """Pull ends and loop with forces that go from one value to another [N]; False once the loop is open.

        loop: None leaves the posts where they are.
        """
        steps = round(duration / PERIOD)
        for k in range(steps):
            part = (k + 1) / steps
            force = (1.0 - part) * ends[0] + part * ends[1]
            for end, side in zip((0, -1), self._sides, strict=True):
                self.thread.load[end] = force * side
            if loop is not None:
                missing = (1.0 - part) * loop[0] + part * loop[1] - self.load
                speed = float(np.clip(YIELD * missing, -SPEED, SPEED))
                self.opening = max(0.0, self.opening + 2.0 * PERIOD * speed)
            self.thread.advance(PERIOD, frames=self._posts())
            self.time += PERIOD
            if self.opening > OPEN:
                return False
        return True

    def tie(self) -> None:
        """Pull the knot tight, at the ends and then in the loop too."""
        self.pull(0.15, (0.0, TIGHT))
        self.pull(0.35, (TIGHT, TIGHT))
        self.pull(0.1, (TIGHT, TIGHT), (0.0, TIGHT / 2))
        self.pull(0.3, (TIGHT, TIGHT), (TIGHT / 2, TIGHT / 2))

    def slip_force(self) -> float:
        """Largest load that the loop carries while it is pulled with a growing force, at most MOST [N]."""
        self.pull(0.1, (0.0, 0.0), (0.0, 0.0))  # what tying left
        most = force = 0.0
        step = 0.05
        while force < MOST and self.pull(step, (0.0, 0.0), (force, force + RATE * step)):
            force += RATE * step
            most = max(most, self.load)
        return most


@dataclass(frozen=True)
class Held:
    """A load that a knot carried.

    Attributes:
        whole: it reached the load and slipped less than SLIP. slip: opening of its loop under the constant load [m],
            inf if it did not reach it.
    """

    whole: bool
    slip: float


def held(bench: KnotBench, duration: float) -> Held:
    """Carry CARRIED for a time [s], with free ends."""
    if not bench.pull(1.0, (0.0, 0.0), (0.0, CARRIED)) or bench.load < 0.9 * CARRIED:
        return Held(False, np.inf)
    start = bench.opening
    whole = bench.pull(duration, (0.0, 0.0), (CARRIED, CARRIED))
    return Held(whole and bench.opening - start < SLIP, bench.opening - start)


def drawn(seed: int) -> tuple[float, float]:
    """Random friction and Young's modulus [Pa]."""
    rng = np.random.default_rng(seed)
    return float(rng.uniform(0.1, 0.6)), float(np.exp(rng.uniform(np.log(2e8), np.log(1e9))))


def drawing(seed: int) -> str:
    """The drawn values, for a line of output."""
    friction, young = drawn(seed)
    return f"seed {seed}: friction {friction:.2f}, {young / 1e6:.0f} MPa"


def tied(name: str, seed: int) -> KnotBench:
    """A knot of a drawn thread, pulled tight."""
    bench = KnotBench(KNOTS[name], *drawn(seed))
    bench.tie()
    return bench


def tie(first: int, last: int) -> None:
    """Knots of drawn threads: what they are when tight."""
    names = ("overhand", "square", "granny")
    right = dict.fromkeys(names, 0)
    for seed in range(first, last):
        for name in names:
            bench = tied(name, seed)
            kind = knot(bench.thread.x).name
            right[name] += kind == name
            print(f"{drawing(seed)}, {name}: {kind}, overlap {1e3 * bench.thread.overlap:.3f} mm", flush=True)
    for name in names:
        report(f"{name}: invariant right", right[name], last - first)


def slip(first: int, last: int) -> None:
    """Knots of drawn threads: the force at which they slip."""
    forces = []
    for seed in range(first, last):
        forces.append([tied(name, seed).slip_force() for name in ("square", "granny")])
        print(f"{drawing(seed)}: square slips at {forces[-1][0]:.2f} N, granny at {forces[-1][1]:.2f} N", flush=True)
    square, granny = np.array(forces).T
    report("granny slips at a lower force than square", int((granny < square).sum()), last - first)


def hold(first: int, last: int) -> None:
    """Knots of drawn threads that carry 1 N for 10 s."""
    names = ("square", "granny", "surgeon's", "surgeon's square")
    whole = dict.fromkeys(names, 0)
    for seed in range(first, last):
        for name in names:
            start = time.process_time()
            bench = tied(name, seed)
            outcome = held(bench, 10.0)
            whole[name] += outcome.whole
            factor = bench.time / (time.process_time() - start)
            print(
                f"{drawing(seed)}, {name}: "
                f"{'holds' if outcome.whole else 'opens'}, slip {1e3 * outcome.slip:.3f} mm, "
                f"real-time factor {factor:.2f}",
                flush=True,
            )
    for name in names:
        report(f"{name}: holds {CARRIED:g} N for 10 s", whole[name], last - first)


def throw(first: int, last: int) -> None:
    """Throws of drawn threads with drawn lengths of their ends, in a drawn sense, tied by two PSMs."""
    tied_right = 0
    for seed in range(first, last):
        friction, young = drawn(seed)
        rng = np.random.default_rng([seed, 1])
        hand, long, short = int(rng.choice([-1, 1])), rng.uniform(0.083, 0.087), rng.uniform(0.024, 0.028)
        start = time.process_time()
        try:
            scene = tie_scene(long=long, short=short, hand=hand, rod=TYING_ROD, friction=friction, young=young)
            result = tie_throw(Hands(scene), hand=hand, tension=TIGHT)
        except TrocarError as error:  # an end was lost, and the arms were sent out of their reach
            print(f"{drawing(seed)}: {error}", flush=True)
            continue
        right = result.reached and result.knot.throws == (hand,)
        tied_right += right
        print(
            f"{drawing(seed)}, hand {hand:+d}, ends {1e3 * long:.1f} and {1e3 * short:.1f} mm: {result.knot.name} "
            f"{result.knot.throws}, wound {np.degrees(result.wound):.0f} degrees, {result.tensions[0]:.2f} and "
            f"{result.tensions[1]:.2f} N, real-time factor {result.time / (time.process_time() - start):.2f}",
            flush=True,
        )
    report(f"throw tied in its sense, both ends at {TIGHT:g} N", tied_right, last - first)


def report(what: str, count: int, n: int) -> None:
    """Print a rate with its interval."""
    low, high = clopper_pearson(count, n)
    print(f"{what}: {count} of {n} ({low:.1%} to {high:.1%})")


def main() -> None:
    """Run what the command line names."""
    what, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    {"tie": tie, "slip": slip, "hold": hold, "throw": throw}[what](first, last)


if __name__ == "__main__":
    main()
