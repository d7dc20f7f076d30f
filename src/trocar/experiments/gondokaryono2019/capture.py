"""Gondokaryono et al. 2019, sections 2.4 and 4.1: their calibration on our engine, seen by synthetic cameras."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trocar.calibration import Calibration, Pivot, calibrate, calibration_motion, model_distances, pivot
from trocar.control import ComputedTorque, sinusoid
from trocar.experiments.gondokaryono2019.frames import TABLE
from trocar.plots import COLOURS, style
from trocar.report import Claim
from trocar.simulation import Simulator
from trocar.simulation.sensors.motion_capture import MotionCapture
from trocar.spatial import Array

SET = "gondokaryono2019"
NOISE, OCCLUSION = 0.2e-3, 0.1  # [m] of every marker's coordinates; share of the time
# Table 7 [mm]: RCM in the frame at the parallelogram's base; the root mean square about it is in claims.toml.
HARDWARE_RCM = {"PSM": (-1.49, -516.11, 2.19), "ECM": (341.11, -0.08, -3.39)}
SIMULATED_RCM = {"PSM": (0.56, -518.60, 0.93), "ECM": (338.44, -0.05, -0.54)}
# A linkage that closes has one length where Table 6 has two.
SIDES = (("3-4", "6-c1"), ("3-6", "4-c1"), ("6-8", "7-c2"))


@dataclass(frozen=True)
class Capture:
    """An arm of the engine in front of cameras.

    Attributes:
        rcm: pivot of the end link, exact poses, in the base frame, whose origin is the RCM of the geometry.
        calibration: from noisy markers with gaps. T_camera_base: where the cameras really were.
        distances: axis distances of the geometry [m].
    """

    arm: str
    rcm: Pivot
    calibration: Calibration
    T_camera_base: Array
    distances: dict[str, float]


def captured(arm: str, duration: float = 10.0, calibration_time: float = 60.0) -> Capture:
    """Move an arm of the engine, then its mechanism, before the cameras."""
    sim = Simulator(arm, SET, contacts=False)
    mechanism = sim.mechanism
    centre = np.array(sim.arm.home)
    amplitude = np.zeros(sim.n)
    amplitude[:2] = 0.6
    reference = sinusoid(centre, amplitude, np.where(np.arange(sim.n) == 0, 0.3, 0.2))
    sim.reset(centre, reference(0.0).dq)
    control = ComputedTorque(mechanism, kp=400.0, kd=40.0)
    exact = MotionCapture(sim.arm, ["end"], T_camera_base=np.eye(4))
    seen = exact.of_simulation(sim, control, reference, duration, rate=50.0)
    t, q = calibration_motion(mechanism.arm, calibration_time)
    cameras = MotionCapture(mechanism.arm, noise=NOISE, occlusion=OCCLUSION)
    return Capture(
        arm=arm,
        rcm=pivot(seen.poses["end"], "the end link"),
        calibration=calibrate(cameras.of_motion(mechanism, t, q), arm),
        T_camera_base=cameras.T_camera_base,
        distances=model_distances(mechanism.arm),
    )


def capture_claims(found: Capture, table_6: dict[str, float]) -> list[Claim]:
    """Table 7: spread of the RCM in our engine, and what the calibration makes of noisy markers."""
    arm, of = found.arm, {"arm": found.arm.lower()}
    theirs, hardware = np.array(SIMULATED_RCM[arm]), np.array(HARDWARE_RCM[arm])
    geometry = np.array(own_rcm(arm, found.distances["3-rcm"]))
    off, ours = 1e3 * _norm(found.rcm.post), geometry + _in_their_axes(arm, 1e3 * found.rcm.post)
    measured = {pair: distance for pair, (distance, *_) in found.calibration.linkage.distances.items()}
    sides = [max(abs(lengths[a] - lengths[b]) for a, b in SIDES) for lengths in (table_6, measured)]
    return [
        *TABLE.claims(f"{arm.lower()}/rcm spread {{row}}", [1e3 * found.rcm.spread] * 6),
        TABLE.claim("{arm}/rcm off its own geometry", off, published=round(_norm(theirs - geometry), 2), **of),
        TABLE.claim(
            "{arm}/rcm from hardware", _norm(ours - hardware), published=round(_norm(theirs - hardware), 2), **of
        ),
        TABLE.claim(
            "{arm}/opposite sides", sides[1], published=round(sides[0], 4), noise=1e3 * NOISE, occlusion=OCCLUSION, **of
        ),
    ]


def _norm(p: Array) -> float:
    return float(np.linalg.norm(p))


def own_rcm(arm: str, bar: float) -> tuple[float, float, float]:
    """RCM of a geometry in the frame of Table 7 [mm]: one bar [m] from the pitch axis, along -y (PSM) or x (ECM)."""
    return (0.0, -1e3 * bar, 0.0) if arm == "PSM" else (1e3 * bar, 0.0, 0.0)


def _in_their_axes(arm: str, p: Array) -> Array:
    """Base axes (y along the yaw axis to the RCM, z up) in those of Table 7."""
    return np.array([p[0], -p[1], -p[2]]) if arm == "PSM" else np.array([p[1], -p[0], p[2]])


def rcm_figure(captures: list[Capture]) -> Figure:
    """As Fig. 9: where the RCM is at every pose, our engine and calibration beside theirs."""
    with style():
        figure = Figure(figsize=(10.0, 4.6))
        for axes, found in zip(figure.subplots(1, len(captures), squeeze=False)[0], captures, strict=True):
            _clouds(axes, found)
    return figure


def _clouds(axes: Any, found: Capture) -> None:
    """Yaw axis to the right, insertion up, the model's RCM at the origin [mm]."""
    name, rcm = found.arm, found.calibration.rcm
    along, sign = (1, -1.0) if name == "PSM" else (0, 1.0)
    bar = 1e3 * found.distances["3-rcm"]
    rms = np.reshape(TABLE.entries[f"{name.lower()}/rcm spread {{row}}"]["published"], (2, 3))
    for k, (label, table) in enumerate((("hardware", HARDWARE_RCM), ("their simulation", SIMULATED_RCM))):
        x, y = sign * table[name][along] - bar, table[name][2]
        bars = {"xerr": rms[k, along], "yerr": rms[k, 2]}
        axes.errorbar(x, y, fmt="o", color=COLOURS[1 - k], capsize=3, label=f"{label} (bars: rms)", **bars)
    if rcm is not None:
        points = 1e3 * (rcm.points - found.T_camera_base[:3, 3]) @ found.T_camera_base[:3, :3]
        axes.plot(points[:, 1], points[:, 2], ".", ms=1.5, alpha=0.3, color=COLOURS[2], label="ours, noisy markers")
    engine = 1e3 * found.rcm.points
    axes.plot(engine[:, 1], engine[:, 2], "+", ms=9, color="k", label="ours, engine")
    axes.set(title=f"{name}: RCM at every pose", xlabel="along the yaw axis [mm]", ylabel="[mm]", aspect="equal")
    for handle in axes.legend(fontsize="small").legend_handles:
        if isinstance(handle, Line2D) and handle.get_marker() == ".":
            handle.set(markersize=6, alpha=1.0)  # one dot of a cloud cannot be seen
