"""`trocar excite-wrist`: a motion that separates the cables' numbers, rehearsed on the simulated arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trocar.commands.options import Folder, Instrument, ParameterSet, check_positive, option
from trocar.commands.terminal import plain_errors, progress_bar, show_table, show_written
from trocar.files import check_writable, write_whole

if TYPE_CHECKING:
    from trocar.arms.wrist_cables import WristCables


@plain_errors()
def excite_wrist(
    wrist: Annotated[str, option("CABLES", "Wrist cables of the rehearsal: a name or a .toml file.")] = "hwang2020",
    noise: Annotated[float, option("MRAD", "Noise of the seen angles in the rehearsal, in mrad.")] = 5.0,
    seed: Annotated[int, option("N", "Seed of the noise and of the combined motion.", min=0)] = 0,
    rate: Annotated[float, option("HZ", "Rows per second of excitation.csv.")] = 200.0,
    parameters: ParameterSet = None,
    instrument: Instrument = None,
    output: Folder = Path("trocar-excite"),
) -> None:
    """Write a motion from which the cables of a PSM's wrist can be identified, and rehearse it.

    Example: [bold]trocar excite-wrist -o excitation[/bold], then, next to the robot and in front of a camera or
    tracker, [bold]python3 excitation/play.py --arm PSM1[/bold].

    The motion takes seven minutes and rests in every pose: single wrist joints back and forth, pitch and yaw around
    the corners of their range in both directions, then all joints. The rehearsal plays it on the simulated robot with
    wrist cables, adds noise to the seen joints, identifies the cables and compares them with the true ones.

    Writes excitation.csv (t, q, dq, ddq, dVRK joint order), play.py, and of the rehearsal rehearsal.npz (recording) and
    pairs.npz (commanded and seen joints for [bold]trocar identify-wrist[/bold]).
    """
    import trocar as tr
    from trocar.arms.arm import CONTROL_RATE
    from trocar.arms.wrist_cables import load_wrist
    from trocar.identification.excitation import file as files
    from trocar.identification.excitation.limits import excitation_limits
    from trocar.identification.excitation.wrist_motion import pairs_at_rest, wrist_motion
    from trocar.identification.wrist import identify_wrist
    from trocar.identification.wrist.cable_numbers import anchored, joint_friction
    from trocar.robot.rehearsal import rehearse

    check_writable(output / "excitation.csv")
    check_positive(rate=rate, noise=noise)
    cables, mechanism = load_wrist(wrist), tr.load_mechanism("PSM", parameters, instrument=instrument)
    motion = wrist_motion(mechanism.arm, excitation_limits(mechanism.arm, {}, 1.0), rate, seed)
    engine = tr.Simulator("PSM", parameters, instrument=instrument, timestep=1 / CONTROL_RATE, wrist=cables)
    with progress_bar(f"rehearsal, {motion.ends[-1]:.0f} s, {len(motion.rests)} rests") as progress:
        rehearsal = rehearse(engine, motion.rows, progress=progress)
    if rehearsal.switched_off is not None:
        typer.echo(f"rehearsal failed: the controller switched off after {rehearsal.switched_off:.2f} s", err=True)
        raise typer.Exit(1)
    pairs = pairs_at_rest(motion, rehearsal.recording, rehearsal.truth, "rehearsal").with_noise(1e-3 * noise, seed)
    identified = identify_wrist([pairs], mechanism, "rehearsal", "rehearsal", folds=0)
    written = [motion.rows.save(output / "excitation.csv"), rehearsal.recording.save(output / "rehearsal.npz")]
    written.append(write_whole(output / "play.py", files.player(mechanism.arm, "excitation.csv", rate)))
    written.append(pairs.save(output / "pairs.npz"))
    _show(identified.cables, anchored(cables, joint_friction(mechanism)))
    show_written(written)
    typer.echo("Next: record measured_js and the tracker's poses in a bag while play.py runs, then")
    typer.echo("  trocar identify-wrist BAG -o my_wrist.toml (to try it out, use pairs.npz).")


def _show(identified: WristCables, true: WristCables) -> None:
    """Print true and identified numbers with the distance between them in standard deviations."""
    import numpy as np

    from trocar.identification.wrist.cable_numbers import RESULTS
    from trocar.identification.wrist.figures import parameter_rows

    sigma = np.sqrt(np.diag(identified.covariance))[RESULTS]
    z = (identified.numbers - true.numbers)[RESULTS] / sigma
    names = [parameter_rows(identified)[k] for k in RESULTS]
    rows = [
        (name, f"{value:.4g}", estimate, interval, f"{score:.1f}")
        for (name, estimate, interval), value, score in zip(names, true.numbers[RESULTS], z, strict=True)
    ]
    show_table("cables, SI units", ("", "true", "identified", "95 % +-", "z"), rows)
    typer.echo(f"{np.mean(np.abs(z) < 1.96):.0%} of {len(z)} numbers lie within their 95 % interval.")
