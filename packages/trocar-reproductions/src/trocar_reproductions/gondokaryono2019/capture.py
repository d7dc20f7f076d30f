"""Gondokaryono et al. 2019, sections 2.4 and 4.1: their calibration of our engine, with synthetic cameras.

A rigid mechanism has a fixed remote centre. Theirs moves by the RMS of Table 7; so does ours on an elastic mount.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trocar.arms import Arm
from trocar.calibration import Calibration, Pivot, calibrate, calibration_motion, model_distances, pivot
from trocar.control import ComputedTorque, Reference, sinusoid
from trocar.plots import COLOURS, panels, style
from trocar.report import Claim
from trocar.simulation import ElasticMount, Simulator
from trocar.simulation.sensors.motion_capture import MotionCapture
from trocar.spatial import Array
from trocar_reproductions.gondokaryono2019.frames import TABLE

SET = "gondokaryono2019"
NOISE, OCCLUSION = 0.2e-3, 0.1  # noise of every marker coordinate [m]; fraction of time occluded
# Table 7 [mm]: RCM in the frame at the parallelogram's base; claims.toml has the RMS about it.
HARDWARE_RCM = {"PSM": (-1.49, -516.11, 2.19), "ECM": (341.11, -0.08, -3.39)}
SIMULATED_RCM = {"PSM": (0.56, -518.60, 0.93), "ECM": (338.44, -0.05, -0.54)}
PRINTED_DISTANCE = {"PSM": 3.46, "ECM": 3.91}  # of the two, in the text of Section 4.2 [mm]
# Fitted to the RMS of Table 7 (hardware) by tools/fit_mounts.py, at rest, yaw and pitch within 0.6 rad of home: least
# squares over the stiffness about x and about the other axes, for the ECM also over the pivot's height. Assumptions:
# the PSM stands on a foot 1 m below the remote centre, the ECM is held from the side, at the length of a set-up link
# (Table 3).
MOUNTS = {
    "PSM": ElasticMount(pivot=(0.0, 0.0, -1.0), rotation=(493.0, 903.0, 903.0)),
    "ECM": ElasticMount(pivot=(0.4318, -0.6126, -0.527), rotation=(677.0, 325.0, 325.0)),
}
# Pairs of lengths in Table 6 that are equal in a linkage that closes.
SIDES = (("3-4", "6-c1"), ("3-6", "4-c1"), ("6-8", "7-c2"))


@dataclass(frozen=True)
class Capture:
    """Motion capture of a simulated arm.

    Attributes:
        rcm: pivot of the end link from exact poses, in the base frame, whose origin is the RCM of the geometry.
        calibration: calibration from noisy markers with gaps. T_camera_base: true pose of the cameras.
        wander: like `rcm`, on the elastic mount of `MOUNTS`, at rest at every pose. farthest: largest `rcm_error` [m].
        distances: axis distances of the geometry [m].
    """

    arm: str
    rcm: Pivot
    calibration: Calibration
    T_camera_base: Array
    distances: dict[str, float]
    wander: Pivot
    farthest: float


def captured(arm: str, duration: float = 10.0, calibration_time: float = 60.0) -> Capture:
    """Capture the motion of a simulated arm, then of its mechanism."""
    sim = Simulator(arm, SET, contacts=False)
    mechanism = sim.mechanism
    centre, reference = np.array(sim.arm.home), swing(sim.arm)
    sim.reset(centre, reference(0.0).dq)
    control = ComputedTorque(mechanism, kp=400.0, kd=40.0)
    exact = MotionCapture(sim.arm, ["end"], T_camera_base=np.eye(4))
    seen = exact.of_simulation(sim, control, reference, duration, rate=50.0)
    t, q = calibration_motion(mechanism.arm, calibration_time)
    cameras = MotionCapture(mechanism.arm, noise=NOISE, occlusion=OCCLUSION)
    soft = Simulator(arm, SET, contacts=False, elastic_mount=MOUNTS[arm])
    wander, farthest = wandering(soft)
    return Capture(
        arm=arm,
        rcm=pivot(seen.poses["end"], "the end link"),
        calibration=calibrate(cameras.of_motion(mechanism, t, q), arm),
        T_camera_base=cameras.T_camera_base,
        distances=model_distances(mechanism.arm),
        wander=wander,
        farthest=farthest,
    )


def swing(arm: Arm) -> Reference:
    """Yaw and pitch within 0.6 rad of home, covering most pairs of angles in 10 s."""
    moved, first = np.arange(arm.n) < 2, np.arange(arm.n) == 0
    return sinusoid(np.array(arm.home), 0.6 * moved, np.where(first, 0.3, 0.2))


def wandering(sim: Simulator, rows: int = 100) -> tuple[Pivot, float]:
    """Pivot of the end link at rest along `swing`, base axes, and the largest `rcm_error` [m]."""
    reference, errors, poses = swing(sim.arm), [], []
    for t in np.linspace(0.0, 10.0, rows, endpoint=False):
        sim.place(reference(t).q)
        poses.append(sim.body_pose("end"))
        errors.append(sim.rcm_error())
    return pivot(np.array(poses), "the end link"), max(errors)


def capture_claims(capture: Capture, table_6: dict[str, float]) -> list[Claim]:
    """Table 7: spread of the RCM in our engine, and its calibration from noisy markers."""
    arm, of = capture.arm, {"arm": capture.arm.lower()}
    theirs, hardware = np.array(SIMULATED_RCM[arm]), np.array(HARDWARE_RCM[arm])
    geometry = np.array(own_rcm(arm, capture.distances["3-rcm"]))
    off, ours = 1e3 * _norm(capture.rcm.post), geometry + in_their_axes(arm, 1e3 * capture.rcm.post)
    measured = {pair: distance for pair, (distance, *_) in capture.calibration.linkage.distances.items()}
    sides = [max(abs(lengths[a] - lengths[b]) for a, b in SIDES) for lengths in (table_6, measured)]
    apart = [round(_norm(theirs - other), 2) for other in (geometry, hardware)]
    cameras = {"noise": 1e3 * NOISE, "occlusion": OCCLUSION}
    wander = np.abs(in_their_axes(arm, 1e3 * capture.wander.rms))
    position = "table 7/{arm}, {which} {row}"
    return [
        *TABLE.claims(position, ours, published=[*theirs], which="simulation", **of),
        *TABLE.claims(position, ours, published=[*hardware], which="hardware", **of),
        TABLE.claim(
            "section 4.2/{arm}, simulation from hardware",
            _norm(theirs - hardware),
            published=PRINTED_DISTANCE[arm],
            **of,
        ),
        *TABLE.claims(f"{arm.lower()}/rcm spread {{row}}", [1e3 * capture.rcm.spread] * 3),
        *TABLE.claims(f"{arm.lower()}/rcm spread, elastic mount {{row}}", wander, farthest=1e3 * capture.farthest),
        TABLE.claim("{arm}/rcm off its own geometry", off, published=apart[0], **of),
        TABLE.claim("{arm}/rcm from hardware", _norm(ours - hardware), published=apart[1], **of),
        TABLE.claim("{arm}/opposite sides", sides[1], published=round(sides[0], 4), **cameras, **of),
    ]


def _norm(p: Array) -> float:
    return float(np.linalg.norm(p))


def own_rcm(arm: str, bar: float) -> tuple[float, float, float]:
    """RCM of a geometry in the frame of Table 7 [mm]: one bar [m] from the pitch axis, along -y (PSM) or x (ECM)."""
    return (0.0, -1e3 * bar, 0.0) if arm == "PSM" else (1e3 * bar, 0.0, 0.0)


def in_their_axes(arm: str, p: Array) -> Array:
    """Base axes (y along the yaw axis to the RCM, z up) in those of Table 7."""
    return np.array([p[0], -p[1], -p[2]]) if arm == "PSM" else np.array([p[1], -p[0], p[2]])


@style()
def rcm_figure(captures: list[Capture]) -> Figure:
    """Like Fig. 9: the RCM at every pose, from our engine and calibration and from theirs."""
    figure, grid = panels((10.0, 4.6), 1, len(captures), squeeze=False)
    for axes, capture in zip(grid[0], captures, strict=True):
        _clouds(axes, capture)
    return figure


def _clouds(axes: Any, capture: Capture) -> None:
    """Yaw axis to the right, insertion up, the model's RCM at the origin [mm]."""
    name, rcm = capture.arm, capture.calibration.rcm
    along, sign = (1, -1.0) if name == "PSM" else (0, 1.0)
    bar = 1e3 * capture.distances["3-rcm"]
    entries = (f"{name.lower()}/rcm spread{of} {{row}}" for of in (", elastic mount", ""))
    rms = np.array([TABLE.entries[entry]["published"] for entry in entries])
    for k, (label, table) in enumerate((("hardware", HARDWARE_RCM), ("their simulation", SIMULATED_RCM))):
        x, y = sign * table[name][along] - bar, table[name][2]
        bars = {"xerr": rms[k, along], "yerr": rms[k, 2]}
        axes.errorbar(x, y, fmt="o", color=COLOURS[1 - k], capsize=3, label=f"{label} (bars: rms)", **bars)
    if rcm is not None:
        points = 1e3 * (rcm.points - capture.T_camera_base[:3, 3]) @ capture.T_camera_base[:3, :3]
        axes.plot(points[:, 1], points[:, 2], ".", ms=1.5, alpha=0.3, color=COLOURS[2], label="ours, noisy markers")
    wander = 1e3 * (capture.wander.points - capture.wander.post)
    axes.plot(wander[:, 1], wander[:, 2], ".", ms=2, color=COLOURS[3], label="ours, elastic mount, about its mean")
    engine = 1e3 * capture.rcm.points
    axes.plot(engine[:, 1], engine[:, 2], "+", ms=9, color="k", label="ours, rigid")
    axes.set(title=f"{name}: RCM at every pose", xlabel="along the yaw axis [mm]", ylabel="[mm]", aspect="equal")
    for handle in axes.legend(fontsize="small").legend_handles:
        if isinstance(handle, Line2D) and handle.get_marker() == ".":
            handle.set(markersize=6, alpha=1.0)  # a single dot would be too small to see
