"""`trocar sim`: one arm, one controller, one reference; recording, plot and picture."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from trocar.commands.terminal import plain_errors, progress_bar
from trocar.errors import TrocarError, UnknownName

if TYPE_CHECKING:
    from trocar.control import Controller, Reference
    from trocar.mechanics import Mechanism
    from trocar.recording import Recording
    from trocar.simulation import Simulator

BANDWIDTH = 30.0  # [rad/s] of computed torque: critically damped error dynamics


class ControllerName(StrEnum):
    pid = "pid"
    pd = "pd"
    gravity = "gravity"
    computed_torque = "computed-torque"
    velocity = "velocity"
    effort = "effort"


class TrajectoryName(StrEnum):
    hold = "hold"
    step = "step"
    sinusoid = "sinusoid"
    quintic = "quintic"


class Accuracy(StrEnum):
    fast = "fast"
    exact = "exact"
    discrete = "discrete"


def sim(
    arm: Annotated[str, typer.Argument(metavar="ARM", help="PSM, PSM_Si, ECM, ECM_Si, MTML, MTMR.")] = "PSM",
    controller: Annotated[
        ControllerName, typer.Option("--controller", "-c", help="What drives the joints; see above.")
    ] = ControllerName.pid,
    trajectory: Annotated[
        TrajectoryName, typer.Option("--trajectory", "-t", help="What the controller is to follow.")
    ] = TrajectoryName.sinusoid,
    joint: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Joint that moves; repeat for more; all without.", show_default=False),
    ] = None,
    amplitude: Annotated[
        float, typer.Option(metavar="FRACTION", help="Size of the motion, as a fraction of the joint's range.")
    ] = 0.1,
    frequency: Annotated[float, typer.Option(metavar="HZ", help="Of the sinusoid.")] = 0.5,
    duration: Annotated[float, typer.Option("--duration", "-d", metavar="S", help="Simulated time, in seconds.")] = 2.0,
    timestep: Annotated[
        float | None,
        typer.Option(metavar="S", help="In seconds; 1/1500 for pid, otherwise 0.001.", show_default=False),
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Parameter set or file; the arm's best without.", show_default=False),
    ] = None,
    counterweight: Annotated[
        bool, typer.Option("--counterweight/--no-counterweight", help="Whether it has its mass.")
    ] = True,
    friction: Annotated[bool, typer.Option("--friction/--no-friction", help="Whether the joints rub.")] = True,
    accuracy: Annotated[Accuracy, typer.Option(help="Integration of the engine.")] = Accuracy.fast,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results.")] = Path(
        "trocar-sim"
    ),
) -> None:
    """Simulate an arm under a controller; save the recording, a plot and a picture.

    Example: [bold]trocar sim PSM --controller pid --trajectory sinusoid[/bold],
    then look at trocar-sim/recording.png.

    Controllers: [bold]pid[/bold], the dVRK's own (1500 Hz, on the actuators, published gains);
    [bold]pd[/bold], a quarter of them joint by joint; [bold]gravity[/bold], the arm floats;
    [bold]computed-torque[/bold], with the full model; [bold]velocity[/bold], follows speeds and lets
    positions drift; [bold]effort[/bold], the efforts of the motion computed beforehand, open loop.

    More: [bold]trocar sim -t step --joint insertion -d 1[/bold] (a step of one joint);
    [bold]trocar sim -c gravity -t hold --no-friction[/bold] (does it float?);
    [bold]trocar sim -c effort -t quintic --accuracy exact[/bold] (how fast does open loop drift?).

    Writes recording.npz, recording.csv, recording.png and, where a picture can be drawn, picture.png.
    """
    with plain_errors("a shorter --duration takes less time"):
        from trocar.files import check_writable
        from trocar.plots import save
        from trocar.simulation import Simulator
        from trocar.simulation.run import simulate

        check_writable(output / "recording.npz")
        if timestep is None:
            timestep = 1 / 1500 if controller is ControllerName.pid else 1e-3
        engine = Simulator(
            arm,
            parameters,
            counterweight=counterweight,
            friction=friction,
            timestep=timestep,
            accuracy=accuracy.value,
        )
        mechanism = _mechanism(arm, parameters, counterweight)
        reference = _reference(trajectory, mechanism, joint or [], amplitude, frequency, duration)
        start = reference(0.0)
        engine.reset(start.q, start.dq)
        made = _controller(controller, mechanism, reference, friction)
        with progress_bar(f"{arm}, {duration:g} s") as progress:
            began = time.perf_counter()
            recording = simulate(engine, made, reference, duration, progress, diagnostics=True)
            wall = time.perf_counter() - began
        recording = replace(
            recording,
            provenance={
                **recording.provenance,
                "trajectory": trajectory.value,
                "counterweight": counterweight,
                "friction": friction,
            },
        )
        title = f"{arm} ({engine.parameters.name}), {controller.value} controller, {trajectory.value}"
        written = [recording.save(output / f"recording{suffix}") for suffix in (".npz", ".csv")]
        from trocar.commands.recording_figure import recording_figure

        written.append(save(recording_figure(recording, title), output / "recording.png"))
        written += _picture(engine, output / "picture.png")
        simulated = len(recording) * engine.timestep

    Console().print(_table(recording, title))
    if "rcm_error" in recording.extra:
        typer.echo(f"Largest RCM error: {recording.extra['rcm_error'].max():.3g} m")
    typer.echo(f"Real-time factor, recording included: {simulated / wall:.3g}")
    typer.echo("Written:")
    for path in written:
        typer.echo(f"  {path}")


def _mechanism(arm: str, parameters: str | None, counterweight: bool) -> Mechanism:
    from trocar.mechanics import load_mechanism

    return load_mechanism(arm, parameters, counterweight=counterweight)


def _reference(
    name: TrajectoryName,
    mechanism: Mechanism,
    joints: list[str],
    amplitude: float,
    frequency: float,
    duration: float,
) -> Reference:
    """Motion about home, moved inwards where that is near a limit; the jaw stays open."""
    import numpy as np

    from trocar.control import hold, quintic, sinusoid, step_to

    arm = mechanism.arm
    for joint in joints:
        if joint not in arm.joint_names:
            raise UnknownName(f"joint of {arm.name}", joint, arm.joint_names)
    if not 0 <= amplitude <= 0.5:
        raise TrocarError(f"--amplitude is a fraction of the joint range, 0 to 0.5, got {amplitude}")
    if not (np.isfinite(frequency) and frequency > 0):
        raise TrocarError(f"--frequency must be positive [Hz], got {frequency}")
    if not (np.isfinite(duration) and duration > 0):
        raise TrocarError(f"--duration must be positive and finite [s], got {duration}")
    moving = np.array([not joints or joint in joints for joint in arm.joint_names])
    way = np.where(moving, amplitude * (arm.upper - arm.lower), 0.0)
    closed = np.array([0.05 if joint == "jaw" else -np.inf for joint in arm.joint_names])  # the fingers touch at 0
    lower = np.where(moving, np.maximum(arm.lower, closed), arm.lower)
    centre = np.clip(np.array(arm.home), lower + way, np.maximum(lower, arm.upper - way))
    match name:
        case TrajectoryName.hold:
            return hold(arm.home)
        case TrajectoryName.step:
            return step_to(centre, centre + way, 0.1 * duration)
        case TrajectoryName.sinusoid:
            return sinusoid(centre, way, frequency)
        case TrajectoryName.quintic:
            return quintic(centre - way, centre + way, duration)


def _controller(name: ControllerName, mechanism: Mechanism, reference: Reference, friction: bool) -> Controller:
    import numpy as np

    from trocar import control

    arm = mechanism.arm
    motor_from_joint = np.linalg.inv(arm.motors.coupling)
    # The actuators' published gains as each joint feels them. A quarter: without the coupling between the joints the
    # full gains would be unstable on the light wrist.
    kp, kd = (0.25 * np.array(gain) @ motor_from_joint**2 for gain in (arm.gains.kp, arm.gains.kd))

    def effort(t: float) -> Any:
        s = reference(t)
        return mechanism.inverse_dynamics(s.q, s.dq, s.ddq, friction=friction)

    makers: dict[ControllerName, Callable[[], Controller]] = {
        ControllerName.pid: lambda: control.JointPID(arm, clamp=True),
        ControllerName.pd: lambda: control.JointPD(kp, kd),
        ControllerName.gravity: lambda: control.GravityCompensation(mechanism, offset=friction),
        ControllerName.computed_torque: lambda: control.ComputedTorque(
            mechanism, BANDWIDTH**2, 2 * BANDWIDTH, friction=friction
        ),
        ControllerName.velocity: lambda: control.VelocityServo(kd),
        ControllerName.effort: lambda: control.EffortFunction(effort),
    }
    return makers[name]()


def _picture(engine: Simulator, path: Path) -> list[Path]:
    """The arm where the simulation ended; where it cannot be drawn, a line on stderr says why."""
    try:
        from trocar.appearance import render, save_png

        return [save_png(path, render(engine))]
    except (TrocarError, ImportError) as error:
        typer.echo(f"no picture: {error}", err=True)
        return []


def _table(recording: Recording, title: str) -> Table:
    import numpy as np

    table = Table(title=title, title_justify="left")
    for heading, justify in (
        ("joint", "left"),
        ("RMS tracking error", "right"),
        ("", "left"),
        ("max |tau|", "right"),
        ("", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    error = np.sqrt(((recording.commands["q"] - recording.q) ** 2).mean(axis=0))
    assert recording.tau is not None  # `simulate` records efforts
    largest = np.abs(recording.tau).max(axis=0)
    for j, joint in enumerate(recording.joints):
        unit = recording.joint_units[j]
        table.add_row(joint, f"{error[j]:.3g}", unit, f"{largest[j]:.3g}", {"rad": "N m", "m": "N"}[unit])
    return table
