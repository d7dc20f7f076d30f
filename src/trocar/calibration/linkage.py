"""The double parallelogram: its parallel axes in the pitch plane, and the distances between them.

Every axis is known on both links that it joins, so distances are taken between axes on one link.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from trocar.arms import load_arm
from trocar.calibration.axes import Axis
from trocar.spatial import Array

ARMS = ("PSM", "ECM")  # arms with a double parallelogram whose axes are numbered in the paper
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

    Counter-clockwise rotation in the plane is positive pitch. All links share one orientation, that at pitch 0.

    Attributes:
        arm: PSM or ECM. axes: by number.
        points: link -> axis -> (2,) position in the plane [m], with a separate origin for each link.
        sigma: likewise, standard deviation of a coordinate [m].
        insertion: direction of the insertion in the plane (2,), if it moved; likewise yaw, the yaw axis.
        h_yaw: pitch axis (3,) in the frame of the yaw link's markers; u_yaw: yaw axis likewise, if it moved.
        seen: fraction of the rows in which each body is seen.
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
        distances = {}
        for pair in DISTANCES:
            a, b = pair.split("-")
            for link, points in self.points.items():
                if a in points and b in points:
                    sigma = np.hypot(self.sigma[link][a], self.sigma[link][b])
                    distances[pair] = (float(np.linalg.norm(points[b] - points[a])), float(sigma))
        return distances

    @property
    def layout(self) -> dict[str, Array]:
        """Axes (2,) [m] at pitch 0, axis 3 at the origin; links joined at their joints, loops left open."""
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
        lengths: dict[str, float] = {}
        for name in ("c1", "c2", "rcm"):
            a, b = (self._from_joint(link, name) for link in axes_of(self.arm)[name])
            if a is not None and b is not None:
                lengths[name] = float(np.linalg.norm(b - a))
        return lengths

    def _from_joint(self, link: str, axis: str) -> Array | None:
        joint = dict(self._chain()).get(link)
        points, place = self.points.get(link, {}), self.layout
        if joint is None or joint not in points or joint not in place or axis not in points:
            return None
        return place[joint] + points[axis] - points[joint]

    def _chain(self) -> list[tuple[str, str]]:
        """Links ordered so that each is joined to an earlier one, with the axis that joins them."""
        axes = axes_of(self.arm)
        return [("yaw", "3"), *((axes[number][1], number) for number in ("3", "4", "6", "7", "8"))]
