"""Figures and report of an identified wrist: loops measured and simulated, errors of every motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from trocar.arms.wrist_cables import CABLE_JOINTS, WristCables
from trocar.identification.wrist.fit import WRIST, IdentifiedWrist
from trocar.identification.wrist.joint_pairs import JointPairs
from trocar.identification.wrist.pose_fit import HandEye
from trocar.identification.wrist.pose_identification import PoseIdentifiedWrist, PoseScore, joints_seen
from trocar.identification.wrist.pose_pairs import PosePairs
from trocar.identification.wrist.scores import WristScore, modelled_wrist
from trocar.mechanics import Mechanism
from trocar.plots import COLOURS, panels, style
from trocar.report import Report
from trocar.spatial import quaternion

HEADINGS = ("motion", "rows", "raw", "own offsets", "wrist", "wrist and arm", "all offsets", *CABLE_JOINTS)

POSE_HEADINGS = ("motion", "rows", "raw tip", "marker", "deg", "tip", "marker", "deg", "median tip", "deg")
TRANSFORM_HEADINGS = ("", "x", "y", "z", "qw", "qx", "qy", "qz")


@style()
def loop_figure(motions: Sequence[JointPairs], cables: WristCables) -> Figure:
    """Error of each wrist joint over the joint that moves most, one row of axes per motion: seen and simulated."""
    figure, grid = panels((10.0, 2.6 * len(motions)), len(motions), 3, squeeze=False)
    for row, motion in zip(grid, motions, strict=True):
        command, seen = motion.command[:, WRIST], motion.seen[:, WRIST]
        mover = int(np.argmax(np.ptp(command, axis=0)))
        simulated = modelled_wrist(cables, motion)
        for j, axes in enumerate(row):
            axes.plot(command[:, mover], 1e3 * (seen - command)[:, j], ".-", lw=0.5, ms=2.5, color=COLOURS[0])
            axes.plot(command[:, mover], 1e3 * (simulated - command)[:, j], "-", lw=0.7, color=COLOURS[1])
            axes.set_title(f"{motion.name}: error of {CABLE_JOINTS[j]} [mrad]")
            axes.set_xlabel(f"commanded {CABLE_JOINTS[mover]} [rad]")
    figure.legend(["seen", "simulated"], loc="outside upper right", ncols=2)
    return figure


def score_row(score: WristScore) -> tuple[str, ...]:
    """Cells of `HEADINGS`: tip errors [mm], residuals [mrad]."""
    errors = (score.raw, score.offset, score.wrist, score.registered, score.own)
    return (
        score.name,
        str(score.rows),
        *(f"{1e3 * error:.3f}" for error in errors),
        *(f"{1e3 * residual:.0f}" for residual in score.residual),
    )


def wrist_report(
    identified: IdentifiedWrist,
    motions: Sequence[JointPairs],
    fitted: Sequence[WristScore],
    held_out: Sequence[WristScore],
    other: Sequence[WristScore] = (),
) -> Report:
    """Parameters with intervals, errors on fitted, held-out and other motions, and the loops of the motions."""
    cables = identified.cables
    report = Report("Identified wrist cables")
    report.paragraphs.append(
        "Mean distance of the seen tip [mm] from that of: the commanded joints; the commanded joints less the mean "
        "error of the motion; the simulated wrist (mean error of the wrist joints removed) on the commanded arm; on "
        "the registered arm; on the registered arm with the mean error of its joints removed. Last columns: standard "
        "deviation of the wrist joints about the simulated ones [mrad]."
    )
    for caption, scores in (("Fitted", fitted), ("Held out", held_out), ("Other motions", other)):
        if scores:
            report.add_table(caption, HEADINGS, [score_row(score) for score in scores])
    report.add_table("Parameters", ("", "value", "95 % interval, +-"), parameter_rows(cables))
    report.add_figure(loop_figure(motions, cables), "Errors of the wrist joints, seen and simulated")
    return report


def pose_score_row(score: PoseScore) -> tuple[str, ...]:
    """Cells of `POSE_HEADINGS`: distances [mm], angles [deg]."""
    raw, modelled = (score.raw_tip, score.raw_marker), (score.tip, score.marker)
    return (
        score.name,
        str(score.rows),
        *(f"{1e3 * value:.2f}" for value in raw),
        f"{np.rad2deg(score.raw_angle):.2f}",
        *(f"{1e3 * value:.2f}" for value in modelled),
        f"{np.rad2deg(score.angle):.2f}",
        f"{1e3 * score.median_tip:.2f}",
        f"{np.rad2deg(score.median_angle):.2f}",
    )


def pose_report(
    identified: PoseIdentifiedWrist,
    motions: Sequence[PosePairs],
    mechanism: Mechanism,
    *scores: Sequence[PoseScore],
) -> Report:
    """Parameters, hand-eye transforms, errors on fitted, held-out and other motions, and the loops of the motions."""
    report = Report("Identified wrist cables")
    report.paragraphs.append(
        "Mean distance of tip and marker [mm] and mean angle [deg] between the seen poses and: those of the commanded "
        "joints with their best hand-eye transforms; those of the simulated wrist. Last columns: medians. Held out: "
        "hand-eye transforms and offsets are those of the other rows."
    )
    for caption, rows in zip(("Fitted", "Held out", "Other motions"), scores, strict=True):
        if rows:
            report.add_table(caption, POSE_HEADINGS, [pose_score_row(score) for score in rows])
    report.add_table("Parameters", ("", "value", "95 % interval, +-"), parameter_rows(identified.cables))
    report.add_table("Hand-eye transforms", TRANSFORM_HEADINGS, transform_rows(identified.fit.transforms))
    joints = [joints_seen(motion, identified.fit, mechanism) for motion in motions]
    report.add_figure(loop_figure(joints, identified.cables), "Errors of the wrist joints, seen and simulated")
    return report


def transform_rows(transforms: HandEye) -> list[tuple[str, ...]]:
    """Cells of `TRANSFORM_HEADINGS`: name, position [m], quaternion wxyz."""
    return [
        (name, *(f"{value:.5f}" for value in (*T[:3, 3], *quaternion(T[:3, :3]))))
        for name, T in zip(("T_tracker_base", "T_tip_marker"), transforms, strict=True)
    ]


def parameter_rows(cables: WristCables) -> list[tuple[str, str, str]]:
    """Name, value and half width of the 95 % interval of every number [N m/rad, N m, rad/(N m)]."""
    j = CABLE_JOINTS
    names = [
        *(f"coupling {a} by {b}" for a in j for b in j),
        *(f"stiffness {j[a]}, {j[b]}" for a in range(3) for b in range(a, 3)),
        *(f"friction {a}" for a in j),
        *(f"presliding {a}" for a in j),
    ]
    sigma = np.sqrt(np.diag(cables.covariance))
    return [
        (name, f"{value:.4g}", f"{1.96 * s:.2g}") for name, value, s in zip(names, cables.numbers, sigma, strict=True)
    ]
