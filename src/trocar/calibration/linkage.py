"""The double parallelogram as its parallel axes in the pitch plane, and the distances between them.

Every axis is known on both links that it joins, so distances are taken between axes on one link.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from trocar.arms import load_arm
from trocar.calibration.axes import Axis
from trocar.spatial import Array

ARMS = ("PSM", "ECM")  # with a double parallelogram whose axes the paper numbers
DISTANCES = ("3-4", "3-6", "4-c1", "6-c1", "3-7", "6-8", "7-c2", "6-7", "8-c2", "8-rcm", "3-rcm")


@cache
def axes_of(arm: str) -> dict[str, tuple[str, str]]:
    """The two links that each axis of an arm joins, by the frame numbers of the paper's Fig. 3 and 4.

    The last is the RCM, about which the end link turns in the yaw link without being joined to it.
    """
    facts = load_arm(arm, "gondokaryono2019")
    joined = {body.label: (str(body.parent), body.name) for body in facts.bodies}
    loops = {loop.name: (loop.body_a, loop.body_b) for loop in facts.loops}
    return {number: joined[number] for number in ("3", "4", "6", "7", "8")} | loops | {"rcm": ("yaw", "end")}


@dataclass(frozen=True, kw_only=True)
class Linkage:
    """Axes of the linkage in the pitch plane.

    Plane coordinates turn counter-clockwise with positive pitch; one orientation for all links, that of pitch value 0.

    Attributes:
        arm: PSM or ECM. axes: by number.
        points: link -> axis -> (2,) place in the plane [m]; the origin is each link's own.
        sigma: likewise, standard deviation of a coordinate [m].
        insertion: direction of the insertion in the plane (2,), where it moved; likewise yaw, the yaw axis.
        h_yaw: pitch axis (3,) in the frame of the yaw link's markers; u_yaw: yaw axis likewise, where it moved.
        seen: share of the rows in which each body is seen.
    """

    arm: str
    axes: dict[str, Axis]
    points: dict[str, dict[str, Array]]
    sigma: dict[str, dict[str, float]]
    insertion: Array | None
    yaw: Array | None
    h_yaw: Array
    u_yaw: Array | None
    seen: dict[str, float]

    @property
    def distances(self) -> dict[str, tuple[float, float]]:
        """Distance between two axes and its standard deviation [m], by "3-6", both on one link."""
        found = {}
        for pair in DISTANCES:
            a, b = pair.split("-")
            for link, points in self.points.items():
                if a in points and b in points:
                    sigma = np.hypot(self.sigma[link][a], self.sigma[link][b])
                    found[pair] = (float(np.linalg.norm(points[b] - points[a])), float(sigma))
        return found

    @property
    def layout(self) -> dict[str, Array]:
        """Axes (2,) [m] at pitch 0, axis 3 at the origin; links put together at their joints, loops left open."""
        place = {"3": np.zeros(2)}
        for link, joint in self._chain():
            points = self.points.get(link, {})
            if joint in place and joint in points:
                for name, point in points.items():
                    place.setdefault(name, place[joint] + point - points[joint])
        return place

    @property
    def gaps(self) -> dict[str, float]:
        """Gaps of the loops [m]: axes c1, c2 and the RCM as seen from their two sides."""
        found: dict[str, float] = {}
        for name in ("c1", "c2", "rcm"):
            a, b = (self._from_joint(link, name) for link in axes_of(self.arm)[name])
            if a is not None and b is not None:
                found[name] = float(np.linalg.norm(b - a))
        return found

    def _from_joint(self, link: str, axis: str) -> Array | None:
        joint = dict(self._chain()).get(link)
        points, place = self.points.get(link, {}), self.layout
        if joint is None or joint not in points or joint not in place or axis not in points:
            return None
        return place[joint] + points[axis] - points[joint]

    def _chain(self) -> list[tuple[str, str]]:
        """Links in an order in which each is joined to one before it, with the axis that does."""
        axes = axes_of(self.arm)
        return [("yaw", "3"), *((axes[number][1], number) for number in ("3", "4", "6", "7", "8"))]
