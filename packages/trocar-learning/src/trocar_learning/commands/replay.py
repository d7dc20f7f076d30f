"""`trocar replay`: an episode of a data set in the simulator, compared with the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trocar.commands.options import argument, flag, option
from trocar.commands.terminal import figure_text, plain_errors, progress_bar, show_table, show_written
from trocar.commands.view import Shown
from trocar.errors import TrocarError
from trocar.files import check_writable
from trocar_learning.view.data_set import VIEW


@plain_errors()
def replay(
    data: Annotated[Path, argument("DATA", "Data set: LeRobot, robomimic, npz or JIGSAWS.")],
    episode: Annotated[int, option("K", "Number of the episode, from 0.")] = 0,
    arm: Annotated[str | None, option("NAME", "Arm of the data, such as psm2. Default: the first.")] = None,
    parameters: Annotated[
        str | None,
        option(
            "SET",
            "Parameter set or file of the twin. Default: that of the task for data of trocar, else the arm's best.",
            "--parameters",
            "-p",
        ),
    ] = None,
    output: Annotated[
        Path | None, option("DIR", "Write DIR/data.npz and DIR/twin.npz, recordings of both.", "--output", "-o")
    ] = None,
    view: Annotated[bool, flag("Show the episode in the browser instead, beside its twin.", "--view")] = False,
) -> None:
    """Replay an episode of a data set in the simulator, and compare it with the data.

    Example: [bold]trocar replay demos --episode 3 -o results[/bold], then
    [bold]trocar view results/data.npz --compare results/twin.npz[/bold]

    The simulated arm follows the recorded motion freely; the table gives the differences of positions, velocities and
    efforts. Efforts that the data does not have are predicted by the identified model, which is stated. Joints of data
    with tip poses are computed by inverse kinematics, if the poses are in the base of the arm. To choose and play
    episodes in a page: [bold]trocar view demos[/bold].
    """
    import numpy as np

    from trocar_learning.episodes import load_episodes
    from trocar_learning.episodes.replay import replay as run

    if view:
        VIEW.show(str(data), Shown(), episode)
        return
    if output is not None:
        check_writable(output / "data.npz", output / "twin.npz")
    episodes = load_episodes(data)
    if not 0 <= episode < len(episodes):
        raise TrocarError(f"{data} has the episodes 0 to {len(episodes) - 1}, got --episode {episode}")
    chosen = episodes[episode]
    with progress_bar("replay") as progress:
        result = run(chosen, arm, parameters=parameters, progress=progress)
    recording = result.recording
    rows = [
        (joint, unit, *(figure_text(float(x[j]), 2) for x in result.rms.values()))
        for j, (joint, unit) in enumerate(zip(recording.joints, recording.joint_units, strict=True))
    ]
    title = f"{recording.provenance['arm']}, {len(recording)} frames, {np.ptp(recording.t):.3g} s: twin minus data, RMS"
    show_table(title, ("joint", "unit", *result.rms), rows, left=(0, 1))
    typer.echo(f"{chosen.instruction or 'no instruction'}; success: {_word(chosen.success)}; {result.effort}")
    if output is not None:
        show_written([recording.save(output / "data.npz"), result.twin.save(output / "twin.npz")])


def _word(success: bool | None) -> str:
    return "not stated" if success is None else "yes" if success else "no"
