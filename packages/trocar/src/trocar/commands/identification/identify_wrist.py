"""`trocar identify-wrist`: from commanded and seen joints to the cables of a wrist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import Instrument, JsonFile, ParameterSet, argument, check_toml, option
from trocar.commands.terminal import plain_errors, show_table, show_written
from trocar.files import check_writable, write_json, write_whole

if TYPE_CHECKING:
    from trocar.identification.wrist import IdentifiedWrist, WristScore


@plain_errors()
def identify_wrist(
    motions: Annotated[list[Path], argument("MOTION...", "Motions to fit: .npz, .csv or a folder; see above.")],
    test: Annotated[list[Path] | None, option("MOTION", "Motion to evaluate the result on; repeatable.")] = None,
    output: Annotated[Path, option("FILE.toml", "File of wrist cables to write.", "--output", "-o")] = Path(
        "wrist.toml"
    ),
    report: Annotated[Path | None, option("DIR", "Write plots and DIR/wrist.html.")] = None,
    json_file: JsonFile = None,
    parameters: ParameterSet = None,
    instrument: Instrument = None,
) -> None:
    """Identify the cables of a PSM's wrist from commanded and seen joints.

    Example: [bold]trocar identify-wrist motion.npz -o my_wrist.toml --report results[/bold].

    The encoders of a PSM are on the motors. Cables stretch and joints stick, so that the wrist differs from what
    measured_js reports. A camera or tracker sees the difference. MOTION is an .npz file with the arrays
    [bold]command[/bold] and [bold]seen[/bold] (N x 6: yaw, pitch \\[rad], insertion \\[m], roll, wrist pitch, wrist yaw
    \\[rad]; the arm at rest in every row), a .csv file with columns such as [bold]command_yaw \\[rad], seen_yaw
    \\[rad][/bold], or a folder with q_des.npy and q_act.npy (Hwang et al. 2020).

    The fit has 17 numbers. Intervals take the correlation of neighbouring rows into account; held-out errors are of
    a cross-validation with four contiguous parts of every motion. See docs/wrist.md.
    """
    from trocar.arms.wrist_cables import wrist_text
    from trocar.identification.wrist import JointPairs, held_out_scores, score
    from trocar.identification.wrist import identify_wrist as identified
    from trocar.identification.wrist.figures import HEADINGS, parameter_rows, score_row, wrist_report
    from trocar.mechanics import load_mechanism

    check_toml(output, "a file of wrist cables")
    check_writable(output, json_file, None if report is None else report / "wrist.html")
    pairs, others = ([JointPairs.load(path) for path in paths] for paths in (motions, test or []))
    mechanism = load_mechanism("PSM", parameters, instrument=instrument)
    source = f"identified by `trocar identify-wrist` from {', '.join(str(path) for path in motions)}"
    wrist = identified(pairs, mechanism, output.stem, source, lambda text: typer.echo(text, err=True))
    fitted, other = ([score(m, wrist.cables, wrist.registration, mechanism) for m in ms] for ms in (pairs, others))
    held_out = held_out_scores(wrist, mechanism)
    for title, scores in (("fitted", fitted), ("held out", held_out), ("test", other)):
        if scores:
            show_table(f"{title}: tip error, mm; residual, mrad", HEADINGS, [score_row(s) for s in scores])
    show_table("cables, SI units", ("", "value", "95 % +-"), parameter_rows(wrist.cables))
    written = [write_whole(output, wrist_text(wrist.cables))]
    if json_file is not None:
        written.append(write_json(json_file, _figures(wrist, fitted, held_out, other)))
    if report is not None:
        page = wrist_report(wrist, [*pairs, *others], fitted, held_out, other)
        written.append(page.write_html(report / "wrist.html"))
    show_written(written)


def _figures(wrist: IdentifiedWrist, *scores: list[WristScore]) -> dict[str, object]:
    import numpy as np

    def row(score: WristScore) -> dict[str, object]:
        names = ("raw", "offset", "wrist", "registered", "own")
        tip = {f"{name}_tip_error_m": getattr(score, name) for name in names}
        return {"motion": score.name, "rows": score.rows, **tip, "residual_rad": score.residual.tolist()}

    return {
        "min_stiffness_eigenvalue": float(np.linalg.eigvalsh(wrist.cables.stiffness).min()),
        "friction_ratio": wrist.friction_ratio.tolist(),
        **{name: [row(s) for s in rows] for name, rows in zip(("fitted", "held_out", "test"), scores, strict=True)},
    }
