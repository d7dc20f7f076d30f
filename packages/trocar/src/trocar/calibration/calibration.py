"""Calibration of one arm from markers on its links: geometry file, remote centre and base pose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike, fspath
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.arms import Arm, Geometry, load_arm
from trocar.arms.parameters import SETS
from trocar.arms.tables import geometry_toml, length_names
from trocar.calibration.axes import Jump, WrongSlide
from trocar.calibration.lengths import Lengths, fit_lengths, free_lengths, published_misfit
from trocar.calibration.linkage import ARMS, Linkage, measured_linkage
from trocar.calibration.registration import Pivot, Registration, base_from_axes, pivot, register
from trocar.errors import TooLittleMotion, TrocarError, check_known, check_type
from trocar.files import write_whole
from trocar.mechanics import Mechanism
from trocar.recording import Markers
from trocar.spatial import Array, unit

FRAMES = "gondokaryono2019"
LINKS = ("yaw", "back", "front", "bottom", "top", "end", "insertion", "tip")
STRANGE = 0.010  # [m] from the published axes: beyond it, the arm or the marker names are wrong
PARTS, MIN_PARTS = 20, 8  # number of parts of the rows whose scatter gives standard deviations
TOOTH = 0.1  # [s] length of their pieces: longer than the correlation of the cameras' noise
MAX_DROPPED = 0.3  # largest fraction of dropped rows
PERIODS = (7.3, 5.9, 9.7, 6.1, 4.3, 3.7, 5.3)  # [s] of the joints: the combined motion does not repeat
REACH = 0.8  # fraction of the distance from the middle of a joint's range to its limits, at most 0.8 rad


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Result of calibrating an arm from markers.

    Attributes:
        arm: PSM or ECM. source: the markers' file.
        linkage: axes and distances. lengths: the geometry that fits them.
        rcm: fixed point of the end link in the camera frame; None if the yaw did not move.
        T_camera_base: (4, 4) base of the arm in the camera frame, from RCM, yaw and pitch axis; None likewise.
        registration: by hand-eye calibration, if the tip has markers.
        dropped: number of rows dropped because a body jumped. notes: missing results and the reasons.
    """

    arm: str
    source: str
    linkage: Linkage
    lengths: Lengths
    rcm: Pivot | None
    T_camera_base: Array | None
    registration: Registration | None
    dropped: int
    notes: tuple[str, ...]

    @property
    def geometry(self) -> Geometry:
        """The calibrated lengths, for `load_arm`."""
        return self.lengths.geometry

    def write(self, path: str | PathLike[str]) -> Path:
        """Write a geometry file for `load_arm` and `load_mechanism` atomically."""
        frames = self.geometry.frames
        geometry = replace(
            self.geometry,
            name=Path(path).stem,
            source=f"trocar calibrate {self.source}",
            parameters=frames if frames in SETS.get(self.arm, ()) else None,
        )
        unchanged = [name for name in length_names(geometry.lengths) if name not in self.lengths.sigma]
        comments = [
            f"Calibrated from markers: the axes fit these lengths to {1e3 * self.lengths.rms:.3f} mm (rms). SI units.",
            f"Kept as published: {', '.join(unchanged) or 'nothing'}.",
            *self.notes,
        ]
        measured: dict[str, dict[str, object]] = {
            "sigma": dict(self.lengths.sigma),
            "distances": {pair: value for pair, (value, _) in self.linkage.distances.items()},
        }
        if self.lengths.pitch_offset is not None:
            measured["offsets"] = {"pitch": self.lengths.pitch_offset}
        if self.registration is not None:
            measured["offsets"] = measured.get("offsets", {}) | self.registration.offsets
        if self.rcm is not None:
            measured["camera"] = {"rcm": self.rcm.post.tolist()}
        if self.T_camera_base is not None:
            measured["camera"] |= {"T_camera_base": self.T_camera_base.tolist()}
        return write_whole(path, geometry_toml(geometry, comments, measured))


def calibration_motion(arm: Arm, duration: float = 60.0, rate: float = 100.0) -> tuple[Array, Array]:
    """Times (N,) [s] and joint values (N, n) [rad, m] to move an arm through in front of the cameras."""
    t = np.arange(round(duration * rate)) / rate
    middle, half = (arm.lower + arm.upper) / 2, (arm.upper - arm.lower) / 2
    swing = np.minimum(REACH * half, 0.8)
    swing[arm.tip_joints :] = 0.0
    phase = np.arange(arm.n)
    return t, middle + swing * np.sin(2 * np.pi * t[:, None] / np.array(PERIODS[: arm.n]) + phase)


def calibrate(markers: Markers, arm: str = "PSM", frames: str = FRAMES, *, drop_jumps: bool = False) -> Calibration:
    """Axes, lengths, remote centre and base pose of an arm from markers on its links.

    Args:
        markers: of yaw, back, front, bottom, top and end link while yaw and pitch move; of the insertion, while it
            moves, for the zero of the pitch; of the tip, for hand-eye registration. Without markers on the yaw link
            the yaw must be still, and the remote centre is not found.
        arm: PSM or ECM (Classic). frames: published geometry whose lengths are fitted.
        drop_jumps: drop rows in which a tracked body jumps; otherwise they are an error.
    """
    check_type("markers", markers, Markers, "Markers (Markers.load)")
    check_known("arm that can be calibrated", ARMS, arm)
    check_known(f"{markers.source}: marked link", LINKS, *markers.poses)
    free_lengths(arm, frames)
    rows = len(markers)
    linkage, markers = _linkage(markers, arm, frames, drop_jumps)
    _check_names(linkage, markers, arm, frames)
    notes: list[str] = []
    lengths = fit_lengths(linkage, frames, _parts(linkage, markers, arm))
    if linkage.insertion is None:
        notes.append("The pitch zero is that of the joint sensor: the insertion has no markers or does not move.")
    rcm, T_camera_base = _centre(linkage, markers, notes)
    registration = None
    if "tip" in markers.poses:
        seen = markers.seen("tip")
        mechanism = Mechanism(load_arm(arm, lengths.geometry))
        tip_joints = mechanism.arm.joint_names[: mechanism.arm.tip_joints]
        q = np.zeros((int(seen.sum()), mechanism.n))
        q[:, : len(tip_joints)] = np.column_stack([markers.joint(name)[seen] for name in tip_joints])
        registration = register(mechanism, q, markers.poses["tip"][seen])
    return Calibration(
        arm=arm,
        source=fspath(markers.source),
        linkage=linkage,
        lengths=lengths,
        rcm=rcm,
        T_camera_base=T_camera_base,
        registration=registration,
        dropped=rows - len(markers),
        notes=tuple(notes),
    )


def _linkage(markers: Markers, arm: str, frames: str, drop_jumps: bool) -> tuple[Linkage, Markers]:
    rows = len(markers)
    while True:
        try:
            return measured_linkage(markers, arm), markers
        except WrongSlide:
            # most likely the markers of the end link are on another link
            links = {body: T for body, T in markers.poses.items() if body != "insertion"}
            without = replace(markers, poses=links)
            _check_names(measured_linkage(without, arm), without, arm, frames)
            raise
        except Jump as jump:
            if not drop_jumps:
                raise
            left = markers.without(jump.rows)
            if len(left) < (1.0 - MAX_DROPPED) * rows:
                raise TrocarError(
                    f"{markers.source}: bodies jump in more than {MAX_DROPPED:.0%} of the rows; the first: {jump}"
                ) from None
            markers = left


def _parts(linkage: Linkage, markers: Markers, arm: str) -> list[Linkage]:
    """Linkages with the same axes from disjoint parts of the rows, each a comb over the whole motion; [] if too few."""
    part = np.floor((markers.t - markers.t[0]) / TOOTH).astype(int) % PARTS
    parts = []
    for k in range(PARTS):
        try:
            other = measured_linkage(markers.without(part != k), arm, checked=True)
        except TrocarError:  # too few rows show two links together
            continue
        same = [(link, list(points)) for link, points in other.points.items()]
        if same == [(link, list(points)) for link, points in linkage.points.items()] and (
            (other.insertion is None, other.yaw is None) == (linkage.insertion is None, linkage.yaw is None)
        ):
            parts.append(other)
    return parts if len(parts) >= MIN_PARTS else []


def _check_names(linkage: Linkage, markers: Markers, arm: str, frames: str) -> None:
    """Check that links are named correctly: with two swapped, the linkage closes too but is not that of the arm."""
    distance = published_misfit(linkage, frames)
    if distance < STRANGE:
        return
    for a, b in combinations([body for body in linkage.points if body in markers.poses], 2):
        try:
            swapped = measured_linkage(markers.renamed({a: b, b: a}), arm)
        except TrocarError:
            continue
        if published_misfit(swapped, frames) < STRANGE:
            raise TrocarError(f"{markers.source}: the markers of '{a}' and '{b}' are swapped; rename their columns")
    raise TrocarError(
        f"{markers.source}: the axes are {1e3 * distance:.0f} mm from those of the {arm} ({frames}): is it "
        "another arm, are markers on the wrong links, or does the pitch have the opposite sign?"
    )


def _centre(linkage: Linkage, markers: Markers, notes: list[str]) -> tuple[Pivot | None, Array | None]:
    """The remote centre, and the base of the arm, in the camera frame."""
    if "end" not in markers.poses:
        notes.append("No remote centre: the end link has no markers.")
        return None, None
    try:
        rcm = pivot(markers.poses["end"][markers.seen("end")], "the end link")
    except TooLittleMotion as error:
        notes.append(f"No remote centre: {error}.")
        return None, None
    if linkage.u_yaw is None:
        notes.append("No base pose: the yaw link has no markers or does not move.")
        return rcm, None
    rows = markers.seen("yaw")
    R = markers.poses["yaw"][rows, :3, :3]
    u = unit((R @ linkage.u_yaw).mean(0))
    # the pitch axis of every row, rotated back to yaw 0
    back = Rotation.from_rotvec(-markers.joint("yaw")[rows, None] * u)
    return rcm, base_from_axes(rcm.post, u, back.apply(R @ linkage.h_yaw).mean(0))
