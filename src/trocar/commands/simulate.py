"""`trocar sim` and `trocar scene`: one arm, or several in one model, under a controller; recordings and pictures."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import trocar as tr
from trocar.commands import options, terminal
from trocar.commands.options import argument, option
from trocar.commands.task import Control, TaskName, Transmission
from trocar.commands.task import run as run_task
from trocar.commands.terminal import drawn, plain_errors, progress_bar, show_table, show_written
from trocar.errors import check_known
from trocar.files import check_writable

if TYPE_CHECKING:
    from trocar.control import Controller, Reference

BANDWIDTH = 30.0  # bandwidth of the critically damped error dynamics under computed torque [rad/s]

ControllerName = Literal["pid", "pd", "gravity", "computed-torque", "velocity", "effort"]
TrajectoryName = Literal["hold", "step", "sinusoid", "quintic"]
Accuracy = Literal["fast", "exact", "discrete"]
Engine = Literal["mujoco", "reduced"]


@plain_errors("a shorter --duration takes less time")
def sim(
    arm: options.ArmArgument = "PSM",
    controller: Annotated[ControllerName, option("NAME", "Controller; see above.", "--controller", "-c")] = "pid",
    trajectory: Annotated[
        TrajectoryName, option("NAME", "Motion to follow: hold, step, sinusoid or quintic.", "--trajectory", "-t")
    ] = "sinusoid",
    along: Annotated[Path | None, option("FILE", "Follow a recorded motion: csv, npz, table or ROS bag.")] = None,
    namespace: options.Namespace = None,
    joint: Annotated[list[str] | None, option("NAME", "Joint to move; can be repeated. Default: all joints.")] = None,
    amplitude: options.Amplitude = 0.1,
    frequency: options.Frequency = 0.5,
    duration: Annotated[
        float | None, option("S", "Simulated time. Default: 2 s, or all of the recording.", "--duration", "-d")
    ] = None,
    timestep: Annotated[float | None, option("S", "Time step in seconds. Default: 0.001; pid: 1/1500.")] = None,
    parameters: options.ParameterSet = None,
    instrument: options.Instrument = None,
    mounting: options.Mounting = None,
    start: Annotated[
        str | None,
        option("Q1,Q2,...", "Joint positions to move about, in rad and m. Default: home, away from the limits."),
    ] = None,
    push: Annotated[str | None, option("FX,FY,FZ", "Constant force on the tip in N, in base axes.")] = None,
    counterweight: options.Counterweight = True,
    friction: Annotated[bool | None, options.flag("Simulate joint friction. Default: yes; no with --task.")] = None,
    task: Annotated[
        TaskName | None,
        option("NAME", "Task of Ferro et al. 2022: regulation, line, spiral or excitation; see above."),
    ] = None,
    control: Annotated[Control, option("NAME", "Control of a task: kinematic or torque.")] = "kinematic",
    transmission: Annotated[
        Transmission,
        option("NAME", "Link to the counterweight: rigid, or mirrored by a motor as in Ferro et al. 2022."),
    ] = "rigid",
    log: Annotated[Path | None, option("DIR", "Also write the logs of a task in the format of its authors.")] = None,
    accuracy: Annotated[Accuracy, option("NAME", "Integration scheme: fast, exact or discrete.")] = "fast",
    engine: Annotated[
        Engine, option("NAME", "mujoco: closed kinematic chain; reduced: compiled equations in joint coordinates.")
    ] = "mujoco",
    output: options.Folder = Path("trocar-sim"),
) -> None:
    """Simulate one arm under a controller.

    Example: [bold]trocar sim PSM --controller pid --trajectory sinusoid[/bold],
    then look at trocar-sim/recording.png.

    Controllers: [bold]pid[/bold], the dVRK's own (1500 Hz, on the actuators, published gains);
    [bold]pd[/bold], a quarter of these gains, joint by joint; [bold]gravity[/bold], gravity compensation only;
    [bold]computed-torque[/bold], with the full model; [bold]velocity[/bold], tracks velocities and lets
    positions drift; [bold]effort[/bold], open loop with precomputed efforts.

    More: [bold]trocar sim -t step --joint insertion -d 1[/bold] (a step of one joint);
    [bold]trocar sim -c gravity -t hold --no-friction[/bold] (does the arm float?);
    [bold]trocar sim -c effort -t quintic --accuracy exact[/bold] (how fast does open loop drift?);
    [bold]trocar sim -t hold --push 0,0,2[/bold] (how stiff is the controller?);
    [bold]trocar sim ECM -i up --mounting -30[/bold] (another endoscope on a tilted arm);
    [bold]trocar sim PSM --along one.bag -c computed-torque[/bold] (the efforts that the model needs for a recorded
    motion; then [bold]trocar compare one.bag trocar-sim/recording.npz[/bold]).

    Tasks of Ferro et al. 2022: [bold]--task[/bold] runs the PSM as their program does, with its paths, gains and timing
    (control 10 ms, commands one period late, physics 5 ms, no friction), under [bold]--control kinematic[/bold] (joint
    velocities) or [bold]torque[/bold] (feedback linearisation).
    [bold]trocar sim PSM --task spiral --control torque[/bold];
    [bold]trocar sim PSM --task line -p ferro2022_scene --transmission mirrored --log logs[/bold] (with the masses and
    the counterweight of their published scene, logs as theirs: qmsr.txt, tauMsr.txt, ...);
    [bold]trocar sim PSM --task excitation --no-counterweight[/bold] (the motion of the real robot, from
    [bold]trocar fetch[/bold] or [bold]--along[/bold]).

    Writes recording.npz, recording.csv, recording.png and, with the mujoco engine and if rendering works on this
    machine, picture.png.
    """
    import numpy as np

    from trocar.arms.arm import CONTROL_RATE
    from trocar.plots import save
    from trocar.recording.figure import recording_figure
    from trocar.robot.settings import ArmSettings
    from trocar.robot.track import Track
    from trocar.robot.track import motion as followed

    if task is not None:
        own = {"--controller": controller != "pid", "--trajectory": trajectory != "sinusoid", "--joint": bool(joint)}
        own |= {"--start": start is not None, "--push": push is not None, "--timestep": timestep is not None}
        own |= {"--instrument": instrument is not None, "--mounting": mounting is not None}
        own |= {"--accuracy": accuracy != "fast", "--engine": engine != "mujoco"}
        if conflicting := [name for name, used in own.items() if used]:
            own_parts = "its own motion, controller and timing"
            raise tr.TrocarError(f"--task has {own_parts}: leave out {', '.join(conflicting)}")
        settings: Any = {"control": control, "transmission": transmission, "duration": duration}
        settings |= {"parameters": parameters, "counterweight": counterweight, "friction": bool(friction)}
        run_task(arm, task, output, log, along, **settings)
        return
    if log is not None or control != "kinematic":
        raise tr.TrocarError("--log and --control belong to a task: add --task regulation, line, spiral or excitation")
    friction = friction is not False
    check_writable(output / "recording.npz")
    options.check_amplitude(amplitude)
    if along is not None and (joint or start is not None or trajectory != "sinusoid"):
        raise tr.TrocarError("--along gives the whole motion: leave out --trajectory, --joint and --start")
    recorded = None if along is None else Track.load(along, ArmSettings(arm=arm), namespace)
    longest = 2.0 if recorded is None else recorded.duration
    duration = longest if duration is None else duration
    options.check_positive(frequency=frequency, duration=duration)
    if recorded is not None and duration > longest:
        raise tr.TrocarError(f"--duration {duration:g} s is longer than {along}, which has {longest:.4g} s")
    if timestep is None:
        timestep = 1 / CONTROL_RATE if controller == "pid" else 1e-3
    options.check_positive(timestep=timestep)
    options.check_rows(duration / timestep, "Choose a shorter --duration")
    model: dict[str, Any] = {"counterweight": counterweight, "friction": friction}
    if transmission != "rigid":
        model["transmission"] = transmission
    if instrument is not None:
        model["instrument"] = instrument
    tilt = None if mounting is None else math.radians(mounting)
    wrench = None if push is None else [*options.numbers("push", push, (3,), "a force in N"), 0.0, 0.0, 0.0]
    simulator_class: Any = tr.ReducedSimulator if engine == "reduced" else tr.Simulator
    simulator = simulator_class(arm, parameters, mounting=tilt, timestep=timestep, accuracy=accuracy, **model)
    mechanism = simulator.mechanism
    about = mechanism.arm.home
    if start is not None:
        about = tuple(options.numbers("start", start, (mechanism.n,), ", ".join(mechanism.arm.joint_names)))
        mechanism.arm.check_within_limits(np.array(about), "--start")
    if recorded is None:
        reference = _reference(trajectory, mechanism.arm, about, joint or [], amplitude, frequency, duration)
        motion = str(trajectory)
    else:
        reference = followed(recorded, mechanism.arm.lower, mechanism.arm.upper)
        motion = f"motion of {recorded.name}"
    first = reference(0.0)
    simulator.reset(first.q, first.dq)
    if wrench is not None:
        simulator.apply_wrench(wrench)
    law = _controller(controller, mechanism, reference, friction)
    with progress_bar(f"{arm}, {duration:g} s") as progress:
        began = time.perf_counter()
        recording = tr.simulate(simulator, law, reference, duration, progress, diagnostics=True)
        wall = time.perf_counter() - began
    pushed = {} if wrench is None else {"tip_force": wrench[:3]}
    recording = replace(recording, provenance={**recording.provenance, "trajectory": motion, **model, **pushed})
    title = f"{arm} ({simulator.parameters.name}), {controller} controller, {motion}"
    written = [recording.save(output / f"recording{suffix}") for suffix in (".npz", ".csv")]
    written.append(save(recording_figure(recording, title), output / "recording.png"))
    if engine == "mujoco":
        written += drawn(terminal.save_picture, output / "picture.png", simulator)
    error = np.sqrt(((recording.commands["q"] - recording.q) ** 2).mean(axis=0))
    largest = np.abs(recording.extra["applied_tau"]).max(axis=0)
    rows = [
        (joint, terminal.figure_text(e), unit, terminal.figure_text(tau), {"rad": "N m", "m": "N"}[unit])
        for joint, unit, e, tau in zip(recording.joints, recording.joint_units, error, largest, strict=True)
    ]
    show_table(title, ("joint", "RMS tracking error", "", "max |tau|", ""), rows, left=(0, 2, 4))
    if "rcm_error" in recording.extra:
        typer.echo(f"Largest RCM error: {recording.extra['rcm_error'].max():.3g} m")
    typer.echo(f"Real-time factor, including recording: {len(recording) * simulator.timestep / wall:.3g}")
    show_written(written)


def _reference(
    name: TrajectoryName,
    arm: tr.Arm,
    about: Sequence[float],
    joints: list[str],
    amplitude: float,
    frequency: float,
    duration: float,
) -> Reference:
    """Motion about the joint positions `about`, shifted inwards near a limit; the jaw stays open."""
    import numpy as np

    from trocar.control import quintic, sinusoid, step_to

    check_known(f"joint of {arm.name}", arm.joint_names, *joints)
    moving = np.array([not joints or joint in joints for joint in arm.joint_names])
    way = np.where(moving, amplitude * (arm.upper - arm.lower), 0.0)
    closed = np.array([0.05 if joint == "jaw" else -np.inf for joint in arm.joint_names])  # the fingers touch at 0
    lower = np.where(moving, np.maximum(arm.lower, closed), arm.lower)
    centre = np.clip(np.array(about), lower + way, np.maximum(lower, arm.upper - way))
    if name == "hold":
        return tr.hold(about)
    if name == "step":
        return step_to(centre, centre + way, 0.1 * duration)
    if name == "sinusoid":
        return sinusoid(centre, way, frequency)
    return quintic(centre - way, centre + way, duration)


def _controller(name: ControllerName, mechanism: tr.Mechanism, reference: Reference, friction: bool) -> Controller:
    import numpy as np

    from trocar.control import EffortFunction, VelocityServo

    arm = mechanism.arm
    # The published actuator gains converted to joint gains. A quarter of them: without the coupling between the joints,
    # the full gains would be unstable on the light wrist.
    gain = 0.25 * np.linalg.inv(arm.motors.coupling) ** 2
    kp, kd = np.array(arm.gains.kp) @ gain, np.array(arm.gains.kd) @ gain

    def effort(t: float) -> Any:
        s = reference(t)
        return mechanism.inverse_dynamics(s.q, s.dq, s.ddq, friction=friction)

    makers: dict[ControllerName, Callable[[], Controller]] = {
        "pid": lambda: tr.JointPID(arm, clamp=True),
        "pd": lambda: tr.JointPD(kp, kd),
        "gravity": lambda: tr.GravityCompensation(mechanism),
        "computed-torque": lambda: tr.ComputedTorque(mechanism, BANDWIDTH**2, 2 * BANDWIDTH, friction=friction),
        "velocity": lambda: VelocityServo(kd),
        "effort": lambda: EffortFunction(effort),
    }
    return makers[name]()


@plain_errors("a shorter --duration takes less time")
def scene(
    source: Annotated[
        str, argument("SCENE", "psm, cart_classic, cart_si, masters, dvrk, dvrk_si, suture, or a .toml file.")
    ] = "cart_classic",
    duration: options.Duration = 1.0,
    amplitude: options.Amplitude = 0.01,
    frequency: options.Frequency = 0.5,
    touch: options.Touch = False,
    output: options.Folder = Path("trocar-scene"),
) -> None:
    """Simulate several arms in one model.

    Example: [bold]trocar scene cart_classic -d 2 --touch[/bold], then look at trocar-scene/picture.png and stereo.png.

    Every arm follows a small sinusoid about its initial position, under the dVRK's PID (1500 Hz, published gains)
    with gravity compensation. If the scene file sets a time step, the PID period is the nearest multiple of it.
    docs/scenes.md documents the scene files.

    Writes ARM.npz for every arm and, if rendering works on this machine, picture.png and, with an ECM, stereo.png.
    """
    import numpy as np

    from trocar.arms.arm import CONTROL_RATE
    from trocar.control import sinusoid
    from trocar.simulation.scene_file import timestep_of

    check_writable(output / "picture.png")
    options.check_amplitude(amplitude)
    options.check_positive(frequency=frequency, duration=duration)
    timestep = timestep_of(source) or 1 / CONTROL_RATE
    loaded = tr.load_scene(source, timestep=timestep)
    if touch:
        from trocar.simulation.objects.solid import practice_objects

        loaded = tr.load_scene(source, timestep=timestep, objects=practice_objects(loaded))
    options.check_rows(duration / loaded.timestep * len(loaded.arms), "Choose a shorter --duration")
    controllers, references = {}, {}
    for name, arm in loaded.arms.items():
        way = amplitude * (arm.arm.upper - arm.arm.lower)
        centre = np.clip(arm.q, arm.arm.lower + way, arm.arm.upper - way)
        references[name] = sinusoid(centre, way, frequency)
        pid = tr.JointPID(arm.arm, clamp=True)
        pid.period = max(1, round(pid.period / loaded.timestep)) * loaded.timestep  # whole time steps
        controllers[name] = pid + tr.GravityCompensation(arm.mechanism)
    start = {name: reference(0.0) for name, reference in references.items()}
    loaded.reset({name: s.q for name, s in start.items()}, {name: s.dq for name, s in start.items()})
    with progress_bar(f"{source}, {duration:g} s") as progress:
        began = time.perf_counter()
        recordings = tr.simulate(loaded, controllers, references, duration, progress, diagnostics=True)
        wall = time.perf_counter() - began
    written = [recording.save(output / f"{name}.npz") for name, recording in recordings.items()]
    written += drawn(_pictures, loaded, output)

    rows = []
    for name, recording in recordings.items():
        error = recording.commands["q"] - recording.q
        slides = np.array([unit == "m" for unit in recording.joint_units])
        rms = [f"{np.sqrt((error[:, kind] ** 2).mean()):.2g}" if kind.any() else "" for kind in (~slides, slides)]
        centre_error = recording.extra.get("rcm_error")
        last = "" if centre_error is None else f"{centre_error.max():.1g}"
        rows.append((name, loaded.arms[name].arm.name, loaded.arms[name].parameters.name, *rms, last))
    headings = ("arm", "kind", "parameters", "RMS error (rad)", "sliding joints (m)", "RCM error (m)")
    show_table(f"{source}, {duration:g} s", headings, rows, left=range(6))
    deepest = {(contact.first, contact.second): contact for contact in reversed(loaded.touching())}
    for contact in sorted(deepest.values(), key=lambda contact: contact.distance)[:3]:
        typer.echo(f"In contact at the end: {contact}")
    typer.echo(f"Real-time factor, including control and recording: {loaded.time / wall:.3g}")
    show_written(written)


def _pictures(loaded: tr.Scene, output: Path) -> list[Path]:
    from trocar.appearance import StereoEndoscope, render, save_png

    written = [save_png(output / "picture.png", render(loaded, labels=len(loaded.arms) > 1))]
    ecm = next((name for name, arm in loaded.arms.items() if arm.arm.carries == "endoscope"), None)
    if ecm is not None:
        written.append(save_png(output / "stereo.png", StereoEndoscope(loaded, ecm, samples=4).side_by_side()))
    return written
