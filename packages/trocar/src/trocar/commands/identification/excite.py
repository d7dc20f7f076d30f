"""`trocar excite`: find an excitation motion, rehearse it in simulation and write files that a dVRK can play."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import trocar as tr
from trocar.commands.options import ArmOption, Folder, ParameterSet, check_positive, check_rows, flag, numbers, option
from trocar.commands.terminal import plain_errors, progress_bar, show_table, show_written
from trocar.files import check_writable, write_whole

if TYPE_CHECKING:
    from trocar.control.trajectories import PeriodicRun
    from trocar.identification.excitation.criterion import Criterion
    from trocar.identification.excitation.limits import ExcitationLimits
    from trocar.identification.excitation.search import Excitation
    from trocar.robot.rehearsal import Rehearsal
    from trocar.spatial import Array

Objective = Literal["condition", "determinant"]


@plain_errors("--seconds ends the search early and keeps the best motion")
def excite(
    arm: ArmOption = "PSM",
    harmonics: Annotated[int, option("N", "Number of harmonics in the Fourier series.")] = 6,
    frequency: Annotated[float | None, option("HZ", "Frequency of the first harmonic. Default: 0.18; MTM 0.1.")] = None,
    periods: Annotated[int, option("N", "Number of periods at full speed.", min=1)] = 5,
    objective: Annotated[
        Objective, flag("condition: smallest condition number; determinant: largest determinant (D-optimal).")
    ] = "condition",
    limit: Annotated[
        list[str] | None, option("JOINT=LOW,HIGH,SPEED", "Limits of a joint; can be repeated. Default: the arm's.")
    ] = None,
    effort: Annotated[
        float, option("FRACTION", "Largest fraction of a motor's effort limit to use, computed from the arm's model.")
    ] = 0.75,
    starts: Annotated[int, option("N", "Number of random starts; the best result is kept.")] = 4,
    seconds: Annotated[float, option("S", "Time limit of the search, in seconds.")] = 120.0,
    seed: Annotated[int, option("N", "Seed of the random motions.", min=0)] = 0,
    go_on: Annotated[Path | None, option("FILE", "Continue from an earlier excitation.json.", "--from")] = None,
    rate: Annotated[float, option("HZ", "Rows per second of excitation.csv.")] = 200.0,
    parameters: ParameterSet = None,
    output: Folder = Path("trocar-excite"),
) -> None:
    """Find a motion that excites the dynamic parameters of an arm.

    Example: [bold]trocar excite --arm PSM -o excitation[/bold], then look at excitation/rehearsal.png and, next to the
    robot, [bold]python3 excitation/play.py --arm PSM1 --scale 0.3[/bold].

    The motion is a Fourier series. It always respects the limits of position and velocity, including those of coupled
    motors, and uses at most 75 % of any motor's effort limit (--effort), computed from the arm's model of gravity,
    inertia and friction. Each start takes up to 160 iterations: about 20 s for the PSM, a minute for an MTM. The search
    stops after --seconds and can be continued:
    [bold]trocar excite --from excitation/excitation.json --seed 1 -o better[/bold].

    Writes excitation.json (coefficients, figures), rehearsal.npz and rehearsal.png (played on the simulated robot and
    recorded with its sensors).
    If the rehearsal stays within motor and joint limits, also writes excitation.csv (t, q, dq, ddq, dVRK joint order)
    and play.py. excitation.json and excitation.csv list the effort each motor needs and its limit. Exit status 1 if
    the rehearsal fails.
    """
    from trocar.identification.excitation import file as files
    from trocar.identification.excitation.criterion import Criterion
    from trocar.identification.excitation.limits import excitation_limits
    from trocar.identification.excitation.search import excite as search

    check_writable(output / "excitation.json")
    check_positive(rate=rate)
    mechanism = tr.load_mechanism(arm, parameters)
    facts = mechanism.arm
    limits = excitation_limits(facts, _changes(limit or []), effort)
    if frequency is None:
        frequency = facts.excitation.frequency
    check_positive(frequency=frequency)
    check_rows(periods / frequency * max(rate, facts.gains.rate), "Choose fewer --periods or a lower --rate")
    first = None if go_on is None else files.load_coefficients(go_on, facts)
    criterion = Criterion(mechanism, facts.excitation.redundant_links, objective)
    with progress_bar(f"{arm}, {len(criterion)} parameters") as progress:
        options: Any = {"harmonics": harmonics, "frequency": frequency, "starts": starts, "seconds": seconds}
        excitation = search(criterion, limits, **options, seed=seed, first=first, progress=progress)
    _rehearse(arm, parameters, excitation, limits, criterion, (periods, rate), output)


def _rehearse(
    arm: str,
    parameters: str | None,
    excitation: Excitation,
    limits: ExcitationLimits,
    criterion: Criterion,
    plan: tuple[int, float],
    output: Path,
) -> None:
    """Play a motion on the simulated robot, write and print the results. plan: periods, rows per second."""
    from trocar.arms.arm import CONTROL_RATE
    from trocar.control.trajectories import PeriodicRun
    from trocar.identification.excitation import file as files
    from trocar.plots import save
    from trocar.recording.figure import recording_figure
    from trocar.robot.rehearsal import rehearse

    (periods, rate), facts = plan, criterion.mechanism.arm
    written = [files.save_coefficients(output / "excitation.json", facts, excitation, limits)]
    run = PeriodicRun(excitation.motion, periods, facts.home)
    engine = tr.Simulator(arm, parameters, timestep=1 / CONTROL_RATE, motor_limits=True)
    rows = files.rows(facts, run, rate)
    with progress_bar(f"rehearsal, {run.duration:.0f} s") as progress:
        rehearsal = rehearse(engine, rows, progress=progress)
    recording, rehearsed = rehearsal.recording, rehearsal.motor_efforts
    written.append(recording.save(output / "rehearsal.npz"))
    title = f"{arm}: excitation rehearsed, condition number {excitation.condition_number:.0f}"
    written.append(save(recording_figure(recording, title), output / "rehearsal.png"))
    files.save_coefficients(output / "excitation.json", facts, excitation, limits, rehearsed)
    complaints = _complaints(facts, rehearsal)
    if not complaints:
        efforts = files.effort_table(facts, excitation, rehearsed)
        written.append(files.rows(facts, run, rate, efforts).save(output / "excitation.csv"))
        written.append(write_whole(output / "play.py", files.player(facts, "excitation.csv", rate)))
    _show_motion(facts, limits, rows, recording)
    _show_efforts(facts, excitation, rehearsed)
    _show_result(excitation, criterion)
    show_written(written)
    if complaints:
        for complaint in complaints:
            typer.echo(f"rehearsal failed: {complaint}", err=True)
        remedy = "lower --effort, --frequency or the speeds (--limit)"
        typer.echo(f"excitation.csv and play.py were not written; {remedy}.", err=True)
        raise typer.Exit(1)
    _show_next(arm, facts, run, output)


def _show_result(excitation: Excitation, criterion: Criterion) -> None:
    from trocar.identification.excitation.search import sampled

    number = f"Condition number {excitation.condition_number:.1f} of {excitation.parameters} parameters"
    ends = ", ".join(f"{value:.0f}" for value in excitation.starts)
    effort_spent = f"{excitation.iterations} iterations, {excitation.seconds:.0f} s"
    typer.echo(f"{number}; starts ended at {ends}; {effort_spent}.")
    typer.echo(f"Least excited parameters: {', '.join(criterion.unexcited(*sampled(excitation.motion, 200)))}.")


def _show_next(arm: str, facts: tr.Arm, run: PeriodicRun, output: Path) -> None:
    """Print what to do with the written motion."""
    begin, end = run.full_speed
    parts = f"{begin:.1f} s, {end - begin:.1f} s at full speed, and back home in {run.duration - end:.1f} s"
    typer.echo(f"excitation.csv takes {run.duration:.1f} s: from home to the motion in {parts}.")
    typer.echo(f"Next, here: trocar run --scene {arm} --speed fast {output / 'play.py'} --arm {arm}")
    typer.echo(f"  or at the robot: python3 {output / 'play.py'} --arm {facts.dvrk_name} --scale 0.3")
    typer.echo(f"Then: trocar identify measured.csv --arm {arm} -o mine.toml (to try it out, use rehearsal.npz).")


def _changes(texts: list[str]) -> dict[str, tuple[float, float, float]]:
    changes = {}
    for text in texts:
        name, _, values = text.partition("=")
        low, high, speed = numbers("limit", values, (3,), "JOINT=LOW,HIGH,SPEED such as yaw=-1,1,1.5")
        changes[name.strip()] = (low, high, speed)
    return changes


def _complaints(arm: tr.Arm, rehearsal: Rehearsal) -> list[str]:
    recording, off = rehearsal.recording, rehearsal.switched_off
    complaints = [] if off is None else [f"the controller switched the arm off after {off:.2f} s"]
    complaints += [
        f"motor {name} reaches its limit of {limit:.3g}"
        for name, limit, largest in zip(arm.motors.names, arm.motors.effort, rehearsal.motor_efforts, strict=True)
        if largest >= limit * (1.0 - 1e-9)
    ]
    for j, joint in enumerate(arm.joints):
        low, high = recording.q[:, j].min(), recording.q[:, j].max()
        if low < joint.lower - 1e-3 or high > joint.upper + 1e-3:
            allowed = f"allowed {joint.lower:.4g} to {joint.upper:.4g}"
            complaints.append(f"{joint.name} moves from {low:.4g} to {high:.4g}, {allowed}")
    return complaints


def _show_motion(arm: tr.Arm, limits: ExcitationLimits, plan: tr.Recording, recording: tr.Recording) -> None:
    """Print range and top speed of the planned motion, and the largest tracking error of its rehearsal."""
    import numpy as np

    q, top = plan.q, np.abs(plan.dq).max(0)
    error = np.abs(recording.q - recording.commands["q"]).max(0)
    columns = arm.joint_names, q.min(0), q.max(0), limits.lower, limits.upper, top, limits.velocity, error
    rows = [
        (name, f"{low:.2f} {high:.2f}", f"{lower:.2f} {upper:.2f}", f"{v:.2f}/{most:.2f}", f"{e:.1g}")
        for name, low, high, lower, upper, v, most, e in zip(*columns, strict=False)  # the limits also include motors
    ]
    title = f"{arm.name}: rehearsal on the simulated robot (rad, m, s)"
    show_table(title, ("joint", "range", "allowed", "top speed", "error"), rows)


def _show_efforts(arm: tr.Arm, excitation: Excitation, rehearsed: Array) -> None:
    """Print the largest effort of each motor, as planned and as rehearsed, and its limit."""
    import numpy as np

    motors, C = arm.motors, arm.motors.coupling
    largest = zip(arm.joint_names, motors.names, motors.effort, excitation.effort, rehearsed, strict=True)
    rows = [
        (joint, motor, f"{limit:.3g}", f"{planned:.3g}", f"{seen:.3g}", f"{seen / limit:.0%}")
        for joint, motor, limit, planned, seen in largest
    ]
    coupled = "Coupled motors also drive other joints." if (np.diag(np.diag(C)) != C).any() else ""
    headings = ("joint", "motor", "limit", "model", "rehearsal", "of limit")
    title = f"{arm.name}: largest efforts of the motors (N m, N)"
    show_table(title, headings, rows, left=(0, 1), caption=coupled)
