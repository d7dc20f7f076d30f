"""The double parallelogram: its parallel axes in the pitch plane, and the distances between them, from markers.

Axes are projected on the plane normal to their mean direction (section 2.4). Every axis is found from the two links it
joins, in both their frames, so that a distance between two axes of one link needs no pose of that link. (The paper
moves every axis to the camera frame with one pose of each link, at joint position 0: the noise of that pose, times its
lever, then enters the distance.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.arms import load_arm
from trocar.calibration.axes import MIN_TURN, Axis, Jump, across, revolute_axis, sliding_direction
from trocar.errors import TooLittleMotion, TrocarError
from trocar.recording import Markers
from trocar.spatial import Array, inverse, rotation, unit

ARMS = ("PSM", "ECM")  # arms with a double parallelogram whose axes are numbered in the paper
DISTANCES = ("3-4", "3-6", "4-c1", "6-c1", "3-7", "6-8", "7-c2", "6-7", "8-c2", "8-rcm", "3-rcm")
TURNING = ("back", "front", "end")  # links that turn with the pitch; yaw, bottom and top keep their orientation
STILL = ("bottom", "top")
SLOPE_TOLERANCE = 0.1  # [rad/rad] allowed deviation of a link's rotation per pitch


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


def measured_linkage(markers: Markers, arm: str, *, checked: bool = False) -> Linkage:
    """Axes of the linkage of a PSM or ECM from markers on its links. checked: they are known to have no jumps."""
    poses = _with_yaw(markers)
    bodies = [body for body in ("yaw", *TURNING, *STILL) if body in poses]
    pitch = markers.joint("pitch")
    h_yaw = _pitch_direction(markers, poses, bodies, pitch)
    axes: dict[str, Axis] = {}
    for number, (a, b) in axes_of(arm).items():
        if a in poses and b in poses:
            axes[number] = _axis(markers, poses, a, b, h_yaw, checked)
    if not axes:
        marked = ", ".join(sorted(markers.poses)) or "nothing"
        raise TrocarError(
            f"{markers.source}: no two neighbouring links have markers ({marked}), so no axis can be found"
        )
    planes = {}
    for link in bodies:
        own = [axis.h_a for n, axis in axes.items() if axes_of(arm)[n][0] == link]
        own += [axis.h_b for n, axis in axes.items() if axes_of(arm)[n][1] == link]
        if own:
            planes[link] = across(unit(np.mean(own, axis=0)))
    if "yaw" not in planes:
        raise TrocarError(f"{markers.source}: no neighbour of the yaw link has markers; mark 'back' or 'front'")
    turns = {link: _turn(markers, poses, planes, link, pitch) for link in planes}
    points: dict[str, dict[str, Array]] = {link: {} for link in planes}
    sigma: dict[str, dict[str, float]] = {link: {} for link in planes}
    for number, axis in axes.items():
        sides = zip(axes_of(arm)[number], ((axis.g_a, axis.covariance_a), (axis.g_b, axis.covariance_b)), strict=True)
        for link, (g, covariance) in sides:
            B = planes[link]
            points[link][number] = turns[link] @ (B.T @ g)
            sigma[link][number] = float(np.sqrt(np.trace(B.T @ covariance @ B) / 2))
    u_yaw = _yaw_direction(markers, checked)
    return Linkage(
        arm=arm,
        axes=axes,
        points=points,
        sigma=sigma,
        insertion=_insertion(markers, poses, planes, turns),
        yaw=None if u_yaw is None else unit(planes["yaw"].T @ u_yaw),
        h_yaw=np.cross(*planes["yaw"].T),
        u_yaw=u_yaw,
        seen={body: float(markers.seen(body).mean()) for body in markers.poses},
    )


def _with_yaw(markers: Markers) -> dict[str, Array]:
    """The poses; without markers on the yaw link, the camera frame replaces it if the yaw does not move."""
    if "yaw" in markers.poses:
        return dict(markers.poses)
    if "yaw" not in markers.joints or np.ptp(markers.joint("yaw")) > 1e-3:
        raise TrocarError(
            f"{markers.source}: the yaw moves but the yaw link has no markers; mark it, or keep the yaw still"
        )
    return {"yaw": np.tile(np.eye(4), (len(markers), 1, 1)), **markers.poses}


def _relative(poses: dict[str, Array], a: str, b: str) -> tuple[Array, Array]:
    """Poses (M, 4, 4) of b in a in rows that show both, and those rows."""
    rows = np.isfinite(poses[a] + poses[b]).all((1, 2))
    return inverse(poses[a][rows]) @ poses[b][rows], rows


def _pitch_direction(markers: Markers, poses: dict[str, Array], bodies: list[str], pitch: Array) -> Array:
    """Pitch axis (3,) in the yaw link, about which links turn with positive pitch; checks that every link follows."""
    if np.ptp(pitch) < MIN_TURN:
        raise TooLittleMotion(
            f"{markers.source}: the pitch moves by {np.ptp(pitch):.3f} rad, too little to find axes "
            f"(at least {MIN_TURN} rad)"
        )
    slopes = []
    for body in bodies[1:]:
        T, rows = _relative(poses, "yaw", body)
        if len(T) < 2:
            raise TooLittleMotion(f"{markers.source}: '{body}' is never seen together with the yaw link")
        mean = Rotation.from_matrix(T[:, :3, :3]).mean().as_matrix()
        v = Rotation.from_matrix(mean.T @ T[:, :3, :3]).as_rotvec()
        dq = pitch[rows] - pitch[rows].mean()
        # robust against a few jumps: the median slope relative to the mean, over rows far from it
        far = np.abs(dq) >= np.median(np.abs(dq))
        slope = mean @ np.median(v[far] / dq[far, None], axis=0)
        expected = 1.0 if body in TURNING else 0.0
        if abs(np.linalg.norm(slope) - expected) > SLOPE_TOLERANCE:
            raise TrocarError(
                f"{markers.source}: '{body}' turns by {np.linalg.norm(slope):.2f} rad per rad of pitch, {expected:g} "
                "expected: its markers are on another link (two bodies swapped?), or the joint values are not "
                "those of this motion"
            )
        if body in TURNING:
            slopes.append(slope)
    if not slopes:
        raise TrocarError(f"{markers.source}: no link that turns with the pitch has markers; mark back, front or end")
    return unit(np.mean(slopes, axis=0))


def _axis(markers: Markers, poses: dict[str, Array], a: str, b: str, h_yaw: Array, checked: bool) -> Axis:
    T, rows = _relative(poses, a, b)
    try:
        axis = revolute_axis(T, f"'{a}' and '{b}'", checked=checked)
    except TooLittleMotion as error:
        raise TooLittleMotion(f"{markers.source}: {error}") from None
    except Jump as jump:
        whole = np.zeros(len(markers), dtype=bool)
        whole[np.flatnonzero(rows)[jump.rows]] = True
        lines = np.asarray(markers.lines)[whole]
        raise Jump(
            f"{markers.source}: {jump}, from line {lines[0]} (t = {markers.t[whole][0]:.3f} s) on: were "
            "markers swapped or bodies confused? Drop these rows (drop_jumps=True), or correct them",
            whole,
        ) from None
    T_yaw, _ = _relative(poses, "yaw", a)
    h = Rotation.from_matrix(T_yaw[:, :3, :3]).mean().as_matrix().T @ h_yaw
    return axis if axis.h_a @ h > 0 else axis.flipped()


def _turn(markers: Markers, poses: dict[str, Array], planes: dict[str, Array], link: str, pitch: Array) -> Array:
    """Rotation (2, 2) from a link's plane coordinates to the yaw link's at pitch 0, averaged over the rows."""
    if link == "yaw":
        return np.eye(2)
    T, rows = _relative(poses, "yaw", link)
    M = planes["yaw"].T @ T[:, :3, :3] @ planes[link]
    angle = np.arctan2(M[:, 1, 0] - M[:, 0, 1], M[:, 0, 0] + M[:, 1, 1])
    angle = angle - (pitch[rows] if link in TURNING else 0.0)
    return rotation("z", np.angle(np.mean(np.exp(1j * angle))))[:2, :2]


def _insertion(
    markers: Markers, poses: dict[str, Array], planes: dict[str, Array], turns: dict[str, Array]
) -> Array | None:
    if "insertion" not in poses or "end" not in planes or "insertion" not in markers.joints:
        return None
    T, rows = _relative(poses, "end", "insertion")
    try:
        d = sliding_direction(T, markers.joint("insertion")[rows], f"{markers.source}: 'end' and 'insertion'")
    except TooLittleMotion:
        return None
    return unit(turns["end"] @ planes["end"].T @ d)


def _yaw_direction(markers: Markers, checked: bool) -> Array | None:
    """Yaw axis (3,) in the yaw link, positive yaw about it; None if the yaw hardly moves or is not marked."""
    if "yaw" not in markers.poses or "yaw" not in markers.joints:
        return None
    rows = markers.seen("yaw")
    value = markers.joint("yaw")[rows]
    if len(value) < 2 or np.ptp(value) < MIN_TURN:
        return None
    axis = revolute_axis(markers.poses["yaw"][rows], "the yaw link and the cameras", checked=checked)
    R = markers.poses["yaw"][rows, :3, :3]
    v = Rotation.from_matrix(Rotation.from_matrix(R).mean().as_matrix().T @ R).as_rotvec() @ axis.h_b
    return axis.h_b if v @ (value - value.mean()) > 0 else -axis.h_b
