"""`trocar identify-wrist`: from commanded and seen joints, or poses, to the cables of a wrist."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.commands.options import Instrument, JsonFile, Namespace, ParameterSet, argument, check_toml, option
from trocar.commands.terminal import plain_errors, show_table, show_written
from trocar.errors import TrocarError
from trocar.files import check_writable, write_json, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trocar.identification.wrist import JointPairs, PosePairs
    from trocar.identification.wrist.fit import IdentifiedWrist
    from trocar.identification.wrist.pose_identification import PoseIdentifiedWrist
    from trocar.mechanics import Mechanism
    from trocar.report import Report


@plain_errors()
def identify_wrist(
    motions: Annotated[list[Path], argument("MOTION...", "Motions to fit: .npz, .csv, a folder or a bag; see above.")],
    test: Annotated[list[Path] | None, option("MOTION", "Motion to evaluate the result on; repeatable.")] = None,
    folds: Annotated[int, option("N", "Parts of every motion that are held out in turn; 0: none.", min=0, max=20)] = 4,
    output: Annotated[Path, option("FILE.toml", "File of wrist cables to write.", "--output", "-o")] = Path(
        "wrist.toml"
    ),
    report: Annotated[Path | None, option("DIR", "Write plots and DIR/wrist.html.")] = None,
    json_file: JsonFile = None,
    namespace: Namespace = None,
    topic: Annotated[str | None, option("NAME", "Topic of the marker's poses in a bag, if it has several.")] = None,
    parameters: ParameterSet = None,
    instrument: Instrument = None,
) -> None:
    """Identify the cables of a PSM's wrist from commanded joints and seen joints or poses.

    Example: [bold]trocar identify-wrist motion.npz -o my_wrist.toml --report results[/bold].

    The encoders of a PSM are on the motors. Cables stretch and joints stick, so that the wrist differs from what
    measured_js reports. A camera or tracker sees the difference. MOTION has a row for each rest of the arm:

    Joints: an .npz file with the arrays [bold]command[/bold] and [bold]seen[/bold] (N x 6: yaw, pitch \\[rad],
    insertion \\[m], roll, wrist pitch, wrist yaw \\[rad]), a .csv file with columns such as [bold]command_yaw \\[rad],
    seen_yaw \\[rad][/bold], or a folder with q_des.npy and q_act.npy (Hwang et al. 2020).

    Poses of a marker on the gripper: an .npz file with [bold]command[/bold] and [bold]seen_pose[/bold] (N x 4 x 4 or
    position and quaternion), a .csv file with columns such as [bold]measured_q1 ... measured_q6, marker_x, marker_y,
    marker_z, marker_qw ... marker_qz[/bold], or a bag with measured_js and PoseStamped. The hand-eye transforms are
    estimated with the cables.

    Held-out errors are of a cross-validation with contiguous parts of every motion. See docs/wrist.md.
    """
    from trocar.arms.wrist_cables import wrist_text
    from trocar.identification.wrist import JointPairs, load_motion
    from trocar.mechanics import load_mechanism

    check_toml(output, "a file of wrist cables")
    check_writable(output, json_file, None if report is None else report / "wrist.html")
    mechanism = load_mechanism("PSM", parameters, instrument=instrument)
    read = partial(load_motion, mechanism=mechanism, namespace=namespace, topic=topic)
    pairs: list[Any] = [read(path) for path in motions]
    others: list[Any] = [read(path) for path in test or []]
    if len({isinstance(pair, JointPairs) for pair in (*pairs, *others)}) > 1:
        raise TrocarError("some motions have seen joints and others have poses; give one kind")
    source = f"identified by `trocar identify-wrist` from {', '.join(str(path) for path in motions)}"
    run = _from_joints if isinstance(pairs[0], JointPairs) else _from_poses
    wrist, figures, page = run(pairs, others, mechanism, output.stem, source, folds, report is not None)
    written = [write_whole(output, wrist_text(wrist.cables))]
    if json_file is not None:
        written.append(write_json(json_file, figures))
    if report is not None and page is not None:
        written.append(page.write_html(report / "wrist.html"))
    show_written(written)


def _from_joints(
    pairs: Sequence[JointPairs],
    others: Sequence[JointPairs],
    mechanism: Mechanism,
    name: str,
    source: str,
    folds: int,
    with_page: bool,
) -> tuple[IdentifiedWrist, dict[str, object], Report | None]:
    from trocar.identification.wrist import WristScore, held_out_scores, identify_wrist, score
    from trocar.identification.wrist.figures import HEADINGS, score_row, wrist_report

    wrist = identify_wrist(pairs, mechanism, name, source, _progress, folds)
    fitted, other = ([score(m, wrist.cables, wrist.registration, mechanism) for m in ms] for ms in (pairs, others))
    scores = fitted, held_out_scores(wrist, mechanism), other
    _show(wrist, "tip error, mm; residual, mrad", HEADINGS, [[score_row(s) for s in rows] for rows in scores])

    def figures(score: WristScore) -> dict[str, object]:
        names = ("raw", "offset", "wrist", "registered", "own")
        tip = {f"{name}_tip_error_m": getattr(score, name) for name in names}
        return {"motion": score.name, "rows": score.rows, **tip, "residual_rad": score.residual.tolist()}

    page = wrist_report(wrist, [*pairs, *others], *scores) if with_page else None
    return wrist, _figures(wrist, [[figures(s) for s in rows] for rows in scores]), page


def _from_poses(
    pairs: Sequence[PosePairs],
    others: Sequence[PosePairs],
    mechanism: Mechanism,
    name: str,
    source: str,
    folds: int,
    with_page: bool,
) -> tuple[PoseIdentifiedWrist, dict[str, object], Report | None]:
    from dataclasses import asdict

    from trocar.identification.wrist import identify_wrist_from_poses, pose_score
    from trocar.identification.wrist.figures import (
        POSE_HEADINGS,
        TRANSFORM_HEADINGS,
        pose_report,
        pose_score_row,
        transform_rows,
    )
    from trocar.identification.wrist.pose_fit import pose_rows

    for note in (note for motion in (*pairs, *others) for note in motion.notes):
        _progress(note)
    wrist = identify_wrist_from_poses(pairs, mechanism, name, source, _progress, folds)
    fitted, other = ([pose_score(pose_rows(m), wrist.fit, mechanism) for m in ms] for ms in (pairs, others))
    scores = fitted, [pose_score(rows, fit, mechanism) for rows, fit in wrist.folds], other
    _show(wrist, "mm, deg", POSE_HEADINGS, [[pose_score_row(s) for s in rows] for rows in scores])
    show_table("hand-eye transforms, m", TRANSFORM_HEADINGS, transform_rows(wrist.fit.transforms))
    _progress(f"{wrist.fit.outliers} rows are far beyond the noise and were left out of the fit")
    figures = _figures(wrist, [[asdict(s) for s in rows] for rows in scores]) | {
        "T_tracker_base": wrist.fit.transforms.T_tracker_base.tolist(),
        "T_tip_marker": wrist.fit.transforms.T_tip_marker.tolist(),
        "noise": wrist.fit.noise.tolist(),
        "outliers": wrist.fit.outliers,
    }
    page = pose_report(wrist, [*pairs, *others], mechanism, *scores) if with_page else None
    return wrist, figures, page


def _progress(text: str) -> None:
    typer.echo(text, err=True)


def _show(wrist: IdentifiedWrist | PoseIdentifiedWrist, units: str, headings: Sequence[str], tables: Any) -> None:
    from trocar.identification.wrist.figures import parameter_rows

    for title, rows in zip(("fitted", "held out", "test"), tables, strict=True):
        if rows:
            show_table(f"{title}: {units}", headings, rows)
    show_table("cables, SI units", ("", "value", "95 % +-"), parameter_rows(wrist.cables))


def _figures(wrist: IdentifiedWrist | PoseIdentifiedWrist, tables: Sequence[Sequence[object]]) -> dict[str, object]:
    import numpy as np

    return {
        "min_stiffness_eigenvalue": float(np.linalg.eigvalsh(wrist.cables.stiffness).min()),
        "friction_ratio": wrist.friction_ratio.tolist(),
        **{name: list(rows) for name, rows in zip(("fitted", "held_out", "test"), tables, strict=True)},
    }
