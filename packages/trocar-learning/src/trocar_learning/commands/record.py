"""`trocar record`: episodes of scripted policies or of policies from outside, as a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trocar.commands.options import argument, option, pixels
from trocar.commands.terminal import plain_errors, show_table, status_line
from trocar.errors import TrocarError
from trocar_learning.commands.task_names import task_name

FORMATS = "lerobot3, lerobot2.1, robomimic or npz."


@plain_errors("the finished episodes are kept: run it again with the same options to continue")
def record(
    task: Annotated[str, argument("TASK", "Task, such as Reach; trocar score lists them.")],
    output: Annotated[Path, option("DIR", "New folder for the data set.", "-o", "--output")],
    count: Annotated[int, option("N", "Episodes.", "--count", "-n")] = 100,
    format: Annotated[str, option("FORMAT", FORMATS)] = "lerobot3",
    policy: Annotated[
        str,
        option(
            "NAME | FILE | DIR | HOST:PORT",
            "expert, pid or random; or any policy of trocar score: a file (.py, which is executed, or "
            ".npz), the folder of a LeRobot policy, or the address of a policy server.",
        ),
    ] = "expert",
    level: Annotated[str, option("LEVEL", "Randomisation of the robot: nominal, 1sigma, 3sigma or real.")] = "nominal",
    seed: Annotated[int, option("N", "Seed of the first episode; the others follow.")] = 0,
    recovery: Annotated[float, option("SHARE", "Share of episodes that begin after a disturbance.")] = 0.1,
    stereo: Annotated[str | None, option("WxH", "Record stereo pictures, for example 640x480.")] = None,
    pictures: Annotated[
        str | None, option("KIND", "With --stereo: mp4 or png. Default: mp4; robomimic and npz: png.")
    ] = None,
    fps: Annotated[
        int, option("N", "Frames per second, at most 50. Below 50, numbers are interpolated. GR00T-H has 30.", "--fps")
    ] = 50,
    workers: Annotated[int | None, option("N", "Processes. Default: one per core.")] = None,
) -> None:
    """Record episodes of a task as a data set: LeRobot v3.0 or v2.1 (Open-H), robomimic, npz.

    Example: [bold]trocar record NeedlePick -n 100 -o needle --format lerobot2.1 --stereo 640x480[/bold]

    State and action have the names of Open-H; efforts, velocities, true wrenches at tip and trocar, contact forces, the
    drawn robot, seed and measured success are stored with them. Demonstrations are split into train, val and test;
    recoveries and failures are splits of their own. The same options give the same files, unless a policy
    decides at random. An interrupted recording continues; nothing is overwritten.
    """
    from trocar_learning.episodes import EpisodeRecipe
    from trocar_learning.episodes import record as run
    from trocar_learning.episodes.recipe import usual_pictures

    if pictures is not None and stereo is None:
        raise TrocarError("--pictures requires --stereo WxH; omit it")
    options: Any = {"policy": policy, "level": level, "seed": seed, "recovery": recovery, "fps": fps}
    pictured: Any = {}
    if stereo is not None:
        pictured = {"size": pixels("--stereo", stereo), "pictures": pictures or usual_pictures(format)}
    task = task_name(task)
    recipe = EpisodeRecipe(task=task, count=count, format=format, **options, **pictured)
    with status_line(f"record {task}: starting") as line:

        def progress(state: Any) -> None:
            line(f"record {task}: {state.done} of {state.rows} episodes, about {state.seconds_left:.0f} s left")

        new = run(recipe, output, workers=workers, progress=progress)
    _show(output, recipe.format)
    typer.echo(f"Written: {output}" if new else f"{output} holds this data set already; nothing was changed")


def _show(folder: Path, format: str) -> None:
    from trocar.files import read_json
    from trocar_learning.episodes.recording_run import done_file

    splits = read_json(done_file(folder, format), "description")["splits"]
    rows = []
    for name, text in splits.items():
        start, stop = map(int, text.split(":"))
        rows.append((name, str(stop - start), text))
    show_table("Episodes", ("split", "count", "range"), rows)
