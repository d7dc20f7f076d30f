"""`trocar convert`: recordings and bags as a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trocar.commands.options import argument, option
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError

MAX_ARMS = 2  # PSMs of Open-H's state


@plain_errors()
def convert(
    files: Annotated[list[Path], argument("FILE", "Recordings or bags, one per episode.")],
    output: Annotated[Path, option("DIR", "New folder for the data set.", "-o", "--output")],
    instruction: Annotated[str, option("TEXT", "The task in words.", "--instruction")],
    arm: Annotated[
        list[str] | None, option("NAME", "PSM in the bags; can be repeated. Default: PSM1.", "--arm")
    ] = None,
    format: Annotated[str, option("FORMAT", "lerobot3, lerobot2.1 or npz.")] = "lerobot3",
    fps: Annotated[int, option("N", "Frames per second.")] = 30,
) -> None:
    """Convert recordings of a robot or of teleoperation to a data set for LeRobot.

    Example: [bold]trocar convert one.bag two.bag --arm PSM1 --arm PSM2 -o demos --instruction "tie a knot"[/bold]

    State and action are tip poses and jaws with Open-H's names, in the base of each arm; joints, velocities and efforts
    are stored with them. The action is the commanded position if the file has it, otherwise the next measured one.
    Bags require pip install 'trocar\\[bags]'.
    """
    from trocar.recording import load_recording
    from trocar.recording.bag_file import is_bag
    from trocar_learning.episodes.conversion import convert as run

    episodes, names = [], arm or ["PSM1"]
    if len(names) > MAX_ARMS or len(set(names)) < len(names):
        raise TrocarError(f"a data set has one or two different PSMs, got --arm {', '.join(names)}")
    if arm and not any(is_bag(file) for file in files):
        raise TrocarError(f"--arm selects arms in a bag, and {files[0]} is not a bag; omit it")
    if len(names) > 1 and (single := [file for file in files if not is_bag(file)]):
        raise TrocarError(f"{single[0]} holds one arm: several --arm are for bags")
    for file in files:
        parts = {}
        for number, name in enumerate(names, start=1):
            parts[f"psm{number}"] = load_recording(file, "PSM", namespace=name if is_bag(file) else None)
        episodes.append(parts)
    run(episodes, output, instruction, format=format, fps=fps)
    typer.echo(f"Written: {output}, {len(episodes)} episode{'s' * (len(episodes) > 1)}")
