"""Gondokaryono et al. 2019: closed chain of PSM and ECM, motion capture, Gazebo simulation (Tables 1 to 9).

Their "axis distances" are distances between parallel pitch axes, measured by moving each link in front of cameras.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from trocar.appearance.endoscope_camera import StereoEndoscope
from trocar.appearance.figures import draw
from trocar.arms import Arm
from trocar.calibration import model_distances
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism, load_mechanism
from trocar.plots import panels, style
from trocar.report import Claim, Report
from trocar.simulation import load_scene
from trocar.spatial import Array
from trocar_reproductions.experiment import Context, Experiment
from trocar_reproductions.gondokaryono2019 import frames, simulation
from trocar_reproductions.gondokaryono2019.capture import SIDES, capture_claims, captured, rcm_figure
from trocar_reproductions.gondokaryono2019.frames import TABLE

# Table 6 [m]: axes named by the frame numbers of Fig. 3 and 4, PSM then ECM.
TABLE_6 = {
    "3-4": (0.0958, 0.0373),
    "3-6": (0.1487, 0.3047),
    "4-c1": (0.1500, 0.3038),
    "6-c1": (0.0961, 0.0380),
    "3-7": (0.1842, 0.3416),
    "6-8": (0.5152, 0.3392),
    "7-c2": (0.5166, 0.3409),
    "6-7": (0.0365, 0.0374),
}
DIGIT = 1e-4  # one unit in the last printed digit [m]


def run(context: Context) -> Report:
    """Tables 1 to 9 and Fig. 9 and 10."""
    report = Report("Gondokaryono et al. 2019: closed chain, calibration and simulation of PSM and ECM")
    report.paragraphs.append(TABLE.text("introduction"))
    context.progress("Tables 1 to 5")
    report.add_claims(frames.claims())
    captures = []
    for column, name in enumerate(("PSM", "ECM")):
        context.progress(f"{name}: closed chain, axis distances")
        mechanism = load_mechanism(name, "gondokaryono2019")
        table_6 = {pair: both[column] for pair, both in TABLE_6.items()}
        report.add_claims([*_closed_chain(mechanism), *_axis_distances(mechanism.arm, table_6)])
        context.progress(f"{name}: motion capture of the engine")
        captures.append(captured(name, *((4.0, 15.0) if context.quick else ())))
        report.add_claims(capture_claims(captures[-1], table_6))
    runs = []
    for case in simulation.CASES:
        context.progress(f"Fig. 10, {case.name}")
        runs.append(simulation.track(case))
        report.add_claim(simulation.tracking_claim(runs[-1]))
    rows = [(run.case.remark, *(f"{x:.3g}" for x in run.rms)) for run in runs]
    report.add_table(TABLE.text("errors"), ("amplitude", *runs[0].recording.joints[:6]), rows)
    report.add_claims(simulation.real_time_claims(context, 1 if context.quick else 3))
    context.progress("figures")
    report.add_figure(_figure(), TABLE.text("chains"))
    try:
        left, right = StereoEndoscope(load_scene("cart_classic")).pair()
        report.add_figure(_stereo({"left": left, "right": right}), TABLE.text("stereo"))
    except TrocarError as error:
        report.paragraphs.append(TABLE.text("not drawn", error=error))
    report.add_figure(rcm_figure(captures), TABLE.text("rcm"))
    for case_run in runs:
        report.add_figure(simulation.tracking_figure(case_run), TABLE.text("tracking"))
    return report


def _closed_chain(mechanism: Mechanism) -> list[Claim]:
    """Claims: the double parallelogram closes and pivots about one point, over random states within limits."""
    arm = mechanism.arm
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (5000, arm.n))
    tip = np.abs(mechanism.pose(q, "tip") - mechanism.forward_kinematics(q)).max()
    worst = (mechanism.rcm_residual(q).max(), mechanism.loop_residual(q).max(), tip)
    return TABLE.claims("{arm}/{row}", worst, arm=arm.name.lower(), table={"PSM": 4, "ECM": 5}[arm.name])


def _axis_distances(arm: Arm, table_6: dict[str, float]) -> list[Claim]:
    """Claims on the axis distances: our length lies between the two of the table, or equals the only one."""
    ours, name = model_distances(arm), arm.name.lower()
    pairs = [(table_6[a], table_6[b]) for a, b in SIDES]
    published, tolerance = [(a + b) / 2 for a, b in pairs], [abs(b - a) / 2 + DIGIT for a, b in pairs]
    twice, once = [ours[a] for a, _ in SIDES], ("3-7", "6-7")
    T = frames.frames(frames.table_5(np.zeros(4)))
    distances = [float(np.linalg.norm(T[a][:3, 3] - T[b][:3, 3])) for a, b in (pair.split("-") for pair in once)]
    return [
        *TABLE.claims("{arm}/axes {row}", twice, published=published, tolerance=tolerance, arm=name),
        *TABLE.claims(f"{name}/axes {{row}}", [ours[pair] for pair in once], table_5=distances),
    ]


@style()
def _figure() -> Figure:
    figure, grid = panels((10.0, 3.4), 1, 2)
    for axes, name in zip(grid, ("PSM", "ECM"), strict=True):
        mechanism = load_mechanism(name, "gondokaryono2019")
        arm = mechanism.arm
        for pitch in np.linspace(0.7 * arm.lower[1], 0.7 * arm.upper[1], 5):
            draw(axes, mechanism, [arm.home[0], pitch, *arm.home[2:]], alpha=0.9 if abs(pitch) < 0.1 else 0.35)
        axes.plot(0, 0, "o", color="k", ms=5, zorder=10)
        axes.annotate("RCM", (0, 0), (8, 6), textcoords="offset points")
        axes.set(title=name, xlabel="y [m]", ylabel="z [m]", aspect="equal")
    return figure


@style()
def _stereo(images: dict[str, Array]) -> Figure:
    figure, grid = panels((10.0, 3.9), 1, 2)
    for axes, (eye, image) in zip(grid, images.items(), strict=True):
        axes.imshow(image)
        axes.set(title=eye, xticks=(), yticks=())
        axes.grid(False)
    return figure


EXPERIMENT = Experiment(name="gondokaryono2019", title="Closed chain of PSM and ECM: calibration, simulation", run=run)
