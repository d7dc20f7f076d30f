"""`trocar teleop`: teleoperation with input devices, until Ctrl-C or for a given time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from trocar.commands.masters import chosen_masters
from trocar.commands.options import JsonFile, check_positive, flag, option
from trocar.commands.pages import announce
from trocar.commands.teleop_live import LiveOptions, check_files, checked_arms, run_live
from trocar.commands.terminal import plain_errors
from trocar.errors import TrocarError, check_known

MAX_DELAY = 5000.0  # [ms]
MASTERS = (
    "gamepad, spacemouse, keyboard, mouse, scripted; phone or vr, with @ADDRESS[:PORT] for a phone in the network; "
    "ros1:MTMR or ros2:MTMR, a master in ROS, with @URI or @INTERFACE."
)

Masters = Annotated[list[str] | None, option("DEVICE", f"{MASTERS} Repeat it for two hands.", "--master")]
Scale = Annotated[
    float | None, option("S", "Motion of the PSM per motion of the hand, at most 1. Default: 0.2; mouse: 1.")
]
Delay = Annotated[float, option("MS", "One-way delay of the network, in milliseconds.")]


@plain_errors()
def teleop(
    context: typer.Context,
    master: Masters = None,
    arm: Annotated[list[str] | None, option("PSM", "PSM that a master drives. Default: PSM1, then PSM2.")] = None,
    task: Annotated[
        str, option("NAME", "practice (plate, block, needle), suture, none, or another package's scene: peg_transfer.")
    ] = "practice",
    seed: Annotated[int | None, option("K", "Seed of a scene that is drawn at random. Default: 0.")] = None,
    scale: Scale = None,
    delay: Delay = 0.0,
    scheme: Annotated[
        str | None,
        option("NAME", "Bilateral control: position-force, position-position, four-channel or none. Default: none."),
    ] = None,
    passivity: Annotated[
        str, option("NAME", "Passivity control of the delayed loop: none, damping, wave or time-domain.")
    ] = "none",
    duration: Annotated[float | None, option("S", "Time by the robot's clock. Default: until Ctrl-C.")] = None,
    record: Annotated[
        Path | None,
        option(
            "PATH", "Record masters and PSMs: .npz, .bag, .mcap, .db3; or a folder, with PSM1.npz.", "--record", "-o"
        ),
    ] = None,
    allow_motion: Annotated[bool, flag("Send forces to a master in ROS, which moves it.", "--allow-motion")] = False,
    page: Annotated[bool, flag("Serve a page with the endoscope's picture.", "--page/--no-page")] = True,
    bench: Annotated[bool, flag("Measure stability and transparency: the same as teleop bench.", "--bench")] = False,
    json_file: JsonFile = None,
) -> None:
    """Teleoperate a simulated PSM.

    Example: [bold]trocar teleop --master gamepad[/bold], then open the address that it prints.
    The command prints how to begin with your device. Clutch, camera pedal and scale are on its buttons.

    More: [bold]trocar teleop --master keyboard[/bold] (keys in the page; or [bold]mouse[/bold]);
    [bold]trocar teleop --master gamepad --master spacemouse[/bold] (two hands, PSM1 and PSM2);
    [bold]trocar teleop --master gamepad --delay 250 --record results[/bold] (a slow network; recordings at the end);
    [bold]trocar teleop --master phone@0.0.0.0[/bold] (a phone; [bold]vr@0.0.0.0[/bold]: a headset);
    [bold]trocar teleop --task suture --master gamepad --master spacemouse[/bold] (needle, thread and tissue);
    [bold]trocar teleop --task peg_transfer --master keyboard --master keyboard[/bold] (keys 1 and 2 choose the hand);
    [bold]trocar teleop --master keyboard --scheme position-force --passivity time-domain --delay 100[/bold] (live
    bilateral control); [bold]trocar teleop --master ros2:MTMR --allow-motion[/bold] (a real MTM or haptic device by its
    CRTK topics); [bold]trocar teleop --master scripted[/bold] (a demonstration). Gamepad and SpaceMouse need
    pip install 'trocar\\[teleop]', phone and headset 'trocar\\[vr]'.
    """
    if context.invoked_subcommand is not None:
        return
    if bench and master:
        raise TrocarError("--bench and --master do not go together")
    if bench:
        _bench(context, json_file)
        return
    if not master:
        from trocar.teleoperation.devices import DEVICES

        raise TrocarError(f"nothing to do: give --master {', '.join(DEVICES)}; or teleop bench")
    announce("building the scene")
    chosen = chosen_masters(master, forces=allow_motion, page=page)
    _check(scheme, passivity, duration, page)
    arms = checked_arms(arm or [], len(master))
    check_files(record, arms)
    run_live(
        LiveOptions(
            masters=chosen,
            arms=arms,
            task=checked_task(task, seed),
            seed=seed or 0,
            scales=checked_scales(scale, [kind.scale for kind in chosen.kinds]),
            delay=checked_delay(delay),
            scheme=scheme,
            passivity=passivity,
            duration=duration,
            record=record,
            page=page,
            json_file=json_file,
        )
    )


def _bench(context: typer.Context, json_file: Path | None) -> None:
    """Run `teleop bench`, which another package adds."""
    group: Any = context.command
    _, command, _ = group.resolve_command(context, ["bench"])  # an error names its package if it is missing
    arguments = [] if json_file is None else ["--json", str(json_file)]
    with command.make_context("bench", arguments, parent=context) as inner:
        command.invoke(inner)


def _check(scheme: str | None, passivity: str, duration: float | None, page: bool) -> None:
    from trocar.teleoperation.coupling import PASSIVITIES, SCHEMES

    check_known("scheme", SCHEMES, scheme or "none")
    check_known("passivity control", PASSIVITIES, passivity)
    if duration is not None:
        check_positive(duration=duration)
    elif not page:
        raise TrocarError("--no-page needs --duration: there is nothing to look at")


def checked_task(task: str, seed: int | None) -> str:
    """A task of `teleop`: practice, or another package's scene, which alone has a seed."""
    from trocar.plugins import names
    from trocar.simulation.scene_file import PLUGINS
    from trocar.teleoperation.devices import TASKS

    check_known("task", (*TASKS, *names(PLUGINS)), task)
    if seed is not None and (seed < 0 or task in TASKS):
        raise TrocarError(f"--seed is at least 0 and goes with a task that is drawn at random, got {seed} with {task}")
    return task


def checked_scales(scale: float | None, usual: list[float]) -> list[float]:
    """Motion of each PSM per motion of its hand. Default: the usual one of its device."""
    if scale is not None and not (math.isfinite(scale) and 0 < scale <= 1):
        raise TrocarError(f"--scale must be above 0 and at most 1, got {scale}")
    return usual if scale is None else [scale] * len(usual)


def checked_delay(delay: float) -> float:
    """One-way delay of the network [s], from milliseconds."""
    if not 0 <= delay <= MAX_DELAY:
        raise TrocarError(f"--delay must be 0 to {MAX_DELAY:g} ms, got {delay}")
    return 1e-3 * delay
