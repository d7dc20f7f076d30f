"""`trocar excite`: a motion that shows an arm's parameters, rehearsed in simulation, as files a dVRK can play."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from trocar.commands.terminal import plain_errors, progress_bar
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from collections.abc import Callable

    from trocar.arms import Arm
    from trocar.control.trajectories import Fourier, PeriodicRun
    from trocar.identification.excitation import Excitation
    from trocar.identification.excitation_limits import ExcitationLimits
    from trocar.recording import Recording
    from trocar.spatial import Array


class ObjectiveName(StrEnum):
    condition = "condition"
    determinant = "determinant"


class Links(StrEnum):
    reduced = "reduced"
    all = "all"


def excite(
    arm: Annotated[str, typer.Option(metavar="ARM", help="PSM, PSM_Si, ECM, ECM_Si, MTML or MTMR.")] = "PSM",
    harmonics: Annotated[int, typer.Option(metavar="N", help="Of the Fourier series.")] = 6,
    frequency: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Of the first harmonic; 0.18 without, MTM 0.1.", show_default=False),
    ] = None,
    periods: Annotated[int, typer.Option(metavar="N", help="At full speed.", min=1)] = 5,
    objective: Annotated[
        ObjectiveName, typer.Option(help="Least condition number, or largest determinant (D-optimal).")
    ] = ObjectiveName.condition,
    links: Annotated[
        Links, typer.Option(help="Which inertias count; reduced leaves out those hardly told apart (PSM: two bars).")
    ] = Links.reduced,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINT=LOW,HIGH,SPEED", help="Other limits for a joint; repeat for more.", show_default=False
        ),
    ] = None,
    effort: Annotated[
        float, typer.Option(metavar="PART", help="Of each motor's effort that the motion may need, by the arm's model.")
    ] = 0.75,
    starts: Annotated[int, typer.Option(metavar="N", help="Random motions to start from; the best end is kept.")] = 4,
    seconds: Annotated[float, typer.Option(metavar="S", help="Most time to search.")] = 120.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the random motions.", min=0)] = 0,
    go_on: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Go on from an earlier excitation.json.", show_default=False),
    ] = None,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Rows per second of excitation.csv.")] = 200.0,
    parameters: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Parameter set or file; the arm's best without.", show_default=False),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results.")] = Path(
        "trocar-excite"
    ),
) -> None:
    """Find a motion that shows the dynamic parameters of an arm, rehearse it in simulation, write it to be played.

    Example: [bold]trocar excite --arm PSM -o excitation[/bold], then look at excitation/rehearsal.png and, next to the
    robot, [bold]python3 excitation/play.py --arm PSM1 --scale 0.3[/bold].

    The motion is a Fourier series within limits of position and velocity, those of coupled motors included, at all
    times, and needs no more than 75 % of any motor's effort (--effort) by the arm's own model: weight, inertia and
    friction. Each start takes up to 160 iterations, some 20 s for the PSM, a minute for an MTM. The search ends after
    --seconds and can be continued: [bold]trocar excite --from excitation/excitation.json --seed 1 -o better[/bold].

    Writes excitation.json (coefficients, figures), rehearsal.npz and rehearsal.png (the dVRK's own PID in simulation);
    and, if the motors have the effort and the joints keep their limits there, excitation.csv (t, q, dq, ddq, dVRK
    joint order) and play.py. The first two say what each motor needs and has. Exit status 1 if the rehearsal fails.
    """
    with plain_errors("--seconds ends the search early and keeps the best motion"):
        from trocar.control.trajectories import PeriodicRun
        from trocar.files import check_writable, write_whole
        from trocar.identification import excitation_file as files
        from trocar.identification.excitation import excite as search
        from trocar.identification.excitation_criterion import Criterion
        from trocar.identification.excitation_limits import excitation_limits
        from trocar.mechanics import load_mechanism
        from trocar.plots import save

        check_writable(output / "excitation.json")
        if not (math.isfinite(rate) and rate > 0):
            raise TrocarError(f"--rate must be positive [Hz], got {rate}")
        mechanism = load_mechanism(arm, parameters)
        facts = mechanism.arm
        without = facts.excitation.redundant_links if links is Links.reduced else ()
        limits = excitation_limits(facts, _changes(limit or []), effort)
        if frequency is None:
            frequency = facts.excitation.frequency
        first = None if go_on is None else files.load_coefficients(go_on, facts)
        criterion = Criterion(mechanism, without, objective.value)
        with progress_bar(f"{arm}, {len(criterion)} parameters") as progress:
            found = search(
                criterion,
                limits,
                harmonics=harmonics,
                frequency=frequency,
                starts=starts,
                seconds=seconds,
                seed=seed,
                first=first,
                progress=lambda fraction, _: progress(fraction),
            )
        written = [files.save_coefficients(output / "excitation.json", facts, found, limits)]
        run = PeriodicRun(found.motion, periods, facts.home)
        with progress_bar(f"rehearsal, {run.duration:.0f} s") as progress:
            recording = _rehearsal(arm, parameters, run, progress)
        written.append(recording.save(output / "rehearsal.npz"))
        from trocar.commands.recording_figure import recording_figure

        title = f"{arm}: excitation rehearsed, condition number {found.condition_number:.0f}"
        written.append(save(recording_figure(recording, title), output / "rehearsal.png"))
        rehearsed = _largest_efforts(facts, recording)
        files.save_coefficients(output / "excitation.json", facts, found, limits, rehearsed)
        complaints = _complaints(facts, recording, rehearsed)
        if not complaints:
            efforts = files.effort_table(facts, found, rehearsed)
            written.append(files.rows(facts, run, rate, efforts).save(output / "excitation.csv"))
            written.append(write_whole(output / "play.py", files.player(facts, "excitation.csv", rate)))

    console = Console()
    console.print(_table(facts, limits, recording))
    console.print(_effort_table(facts, found, rehearsed))
    typer.echo(
        f"Condition number {found.condition_number:.1f} of {found.parameters} parameters; starts ended at "
        f"{', '.join(f'{value:.0f}' for value in found.starts)}; {found.iterations} iterations, {found.seconds:.0f} s."
    )
    shown = criterion.unexcited(*_period(found.motion))
    typer.echo(f"Least well shown: {', '.join(shown)}.")
    typer.echo("Written:")
    for path in written:
        typer.echo(f"  {path}")
    for complaint in complaints:
        typer.echo(f"rehearsal failed: {complaint}", err=True)
    if not complaints:
        typer.echo(f"Then: trocar identify measured.csv --arm {arm} (rehearsal.npz will do, for a trial).")
    else:
        typer.echo("No excitation.csv and no play.py: lower --effort, --frequency or the speeds (--limit).", err=True)
        raise typer.Exit(1)


def _changes(texts: list[str]) -> dict[str, tuple[float, float, float]]:
    changes = {}
    for text in texts:
        name, _, numbers = text.partition("=")
        try:
            low, high, speed = (float(number) for number in numbers.split(","))
        except ValueError:
            raise TrocarError(f"--limit is JOINT=LOW,HIGH,SPEED such as yaw=-1,1,1.5, got {text!r}") from None
        changes[name.strip()] = (low, high, speed)
    return changes


def _period(motion: Fourier) -> tuple[Array, Array, Array]:
    from trocar.identification.excitation import sampled

    return sampled(motion, 200)


def _rehearsal(arm: str, parameters: str | None, run: PeriodicRun, progress: Callable[[float], None]) -> Recording:
    """The run under the dVRK's own controller, with its delay and its motors' limits."""
    from trocar.control import JointPID
    from trocar.simulation import Simulator
    from trocar.simulation.run import simulate

    engine = Simulator(arm, parameters, timestep=1 / 1500, motor_limits=True)
    engine.reset(engine.arm.home)
    controller = JointPID(engine.arm, delay=1)
    return simulate(engine, controller, run, run.duration, progress, every=5)


def _largest_efforts(arm: Arm, recording: Recording) -> Array:
    """(n,) largest effort of each motor [N m, N]; the start from rest, under a PID, left out."""
    import numpy as np

    assert recording.tau is not None
    return np.asarray(np.abs(recording.tau[recording.t > 0.1] @ arm.motors.coupling).max(0))


def _complaints(arm: Arm, recording: Recording, rehearsed: Array) -> list[str]:
    found = [
        f"motor {name} is at its limit of {limit:.3g}"
        for name, limit, largest in zip(arm.motors.names, arm.motors.effort, rehearsed, strict=True)
        if largest >= limit * (1.0 - 1e-9)
    ]
    for j, joint in enumerate(arm.joints):
        low, high = recording.q[:, j].min(), recording.q[:, j].max()
        if low < joint.lower - 1e-3 or high > joint.upper + 1e-3:
            found.append(
                f"{joint.name} moves from {low:.4g} to {high:.4g}, allowed {joint.lower:.4g} to {joint.upper:.4g}"
            )
    return found


def _table(arm: Arm, limits: ExcitationLimits, recording: Recording) -> Table:
    import numpy as np

    table = Table(title=f"{arm.name}: rehearsal under the dVRK's PID (rad, m, s)")
    for title in ("joint", "range", "allowed", "top speed", "error"):
        table.add_column(title, justify="left" if title == "joint" else "right", no_wrap=True)
    error = np.abs(recording.q - recording.commands["q"]).max(0)
    for j, name in enumerate(arm.joint_names):
        q, dq = recording.commands["q"][:, j], recording.commands["dq"][:, j]
        table.add_row(
            name,
            f"{q.min():.2f} {q.max():.2f}",
            f"{limits.lower[j]:.2f} {limits.upper[j]:.2f}",
            f"{np.abs(dq).max():.2f}/{limits.velocity[j]:.2f}",
            f"{error[j]:.1g}",
        )
    return table


def _effort_table(arm: Arm, found: Excitation, rehearsed: Array) -> Table:
    """What each motor needs, as planned and as rehearsed, beside what it has."""
    coupled = "A motor also bears what the coupling brings it from other joints." if _coupled(arm) else None
    table = Table(title=f"{arm.name}: largest efforts of the motors (N m, N)", caption=coupled)
    for title in ("joint", "motor", "limit", "model", "rehearsal", "of limit"):
        table.add_column(title, justify="left" if title in ("joint", "motor") else "right", no_wrap=True)
    for j, limit in enumerate(arm.motors.effort):
        table.add_row(
            arm.joint_names[j],
            arm.motors.names[j],
            f"{limit:.3g}",
            f"{found.effort[j]:.3g}",
            f"{rehearsed[j]:.3g}",
            f"{rehearsed[j] / limit:.0%}",
        )
    return table


def _coupled(arm: Arm) -> bool:
    import numpy as np

    return bool((arm.motors.coupling != np.diag(np.diag(arm.motors.coupling))).any())
