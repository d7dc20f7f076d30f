"""`trocar sim` and `trocar follow`: one arm under a controller; a recording, a plot and a picture."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import trocar as tr
from trocar.commands import options, terminal
from trocar.commands.options import argument, flag, option
from trocar.commands.terminal import drawn, plain_errors, progress_bar, show_table, show_written
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable

if TYPE_CHECKING:
    from trocar.control import Controller, Reference

    Engine = tr.Simulator | tr.ReducedSimulator

BANDWIDTH = 30.0  # bandwidth of the critically damped error dynamics under computed torque [rad/s]
REMEDY = "a shorter --duration takes less time"

ControllerName = Literal["pid", "pd", "gravity", "computed-torque", "velocity", "effort"]
TrajectoryName = Literal["hold", "step", "sinusoid", "quintic"]
ControllerOption = Annotated[ControllerName, option("NAME", "Controller; see above.", "--controller", "-c")]
Friction = Annotated[bool, flag("Simulate joint friction.")]
Settings = Annotated[
    list[str] | None,
    option(
        "KEY=VALUE",
        "engine=reduced (compiled equations), timestep=S (default: 0.001; pid: 1/1500), accuracy=fast|exact|discrete, "
        "mounting=DEG, transmission=rigid|mirrored; repeatable.",
        "--set",
        "-s",
    ),
]


@plain_errors(REMEDY)
def sim(
    arm: options.ArmArgument = "PSM",
    controller: ControllerOption = "pid",
    trajectory: Annotated[
        TrajectoryName, option("NAME", "Motion to follow: hold, step, sinusoid or quintic.", "--trajectory", "-t")
    ] = "sinusoid",
    joint: Annotated[list[str] | None, option("NAME", "Joint to move; can be repeated. Default: all joints.")] = None,
    amplitude: options.Amplitude = 0.1,
    frequency: options.Frequency = 0.5,
    duration: options.Duration = 2.0,
    start: Annotated[
        str | None,
        option("Q1,Q2,...", "Joint positions to move about, in rad and m. Default: home, away from the limits."),
    ] = None,
    push: Annotated[str | None, option("FX,FY,FZ", "Constant force on the tip in N, in base axes.")] = None,
    parameters: options.ParameterSet = None,
    instrument: options.Instrument = None,
    counterweight: options.Counterweight = True,
    friction: Friction = True,
    settings: Settings = None,
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
    [bold]trocar sim -c effort -t quintic --set accuracy=exact[/bold] (how fast does open loop drift?);
    [bold]trocar sim -t hold --push 0,0,2[/bold] (how stiff is the controller?);
    [bold]trocar sim ECM -i up --set mounting=-30[/bold] (another endoscope on a tilted arm).

    Writes recording.npz, recording.csv, recording.png and, with MuJoCo and if rendering works on this machine,
    picture.png. A recorded motion: [bold]trocar follow[/bold].
    """
    check_writable(output / "recording.npz")
    options.check_amplitude(amplitude)
    options.check_positive(frequency=frequency, duration=duration)
    run = SimulatedRun.of(arm, controller, settings, parameters, instrument, counterweight, friction)
    options.check_rows(duration / run.timestep, "Choose a shorter --duration")
    simulator = run.simulator()
    about = _start(simulator.mechanism, start)
    reference = _reference(trajectory, simulator.arm, about, joint or [], amplitude, frequency, duration)
    wrench = None if push is None else [*options.numbers("push", push, (3,), "a force in N"), 0.0, 0.0, 0.0]
    recording, wall = run.recorded(simulator, reference, duration, trajectory, wrench)
    run.show(simulator, recording, wall, trajectory, output)


@plain_errors(REMEDY)
def follow(
    motion: Annotated[Path, argument("RECORDING", "Recorded motion: csv, npz, table or ROS bag.")],
    arm: options.ArmOption = "PSM",
    namespace: options.Namespace = None,
    controller: ControllerOption = "pid",
    duration: Annotated[
        float | None, option("S", "Simulated time. Default: all of the recording.", "--duration", "-d")
    ] = None,
    parameters: options.ParameterSet = None,
    instrument: options.Instrument = None,
    counterweight: options.Counterweight = True,
    friction: Friction = True,
    settings: Settings = None,
    output: options.Folder = Path("trocar-sim"),
) -> None:
    """Simulate one arm along a recorded motion.

    Example: [bold]trocar follow one.bag --arm PSM -c computed-torque[/bold] (the efforts that the model needs for the
    motion), then [bold]trocar compare one.bag trocar-sim/recording.npz[/bold].

    Controllers, settings and files are those of [bold]trocar sim[/bold].
    """
    from trocar.robot.settings import ArmSettings
    from trocar.robot.track import Track
    from trocar.robot.track import motion as followed

    check_writable(output / "recording.npz")
    recorded = Track.load(motion, ArmSettings(arm=arm), namespace)
    duration = recorded.duration if duration is None else duration
    options.check_positive(duration=duration)
    if duration > recorded.duration:
        raise TrocarError(f"--duration {duration:g} s is longer than {motion}, which has {recorded.duration:.4g} s")
    run = SimulatedRun.of(arm, controller, settings, parameters, instrument, counterweight, friction)
    options.check_rows(duration / run.timestep, "Choose a shorter --duration")
    simulator = run.simulator()
    reference, title = followed(recorded, simulator.arm.lower, simulator.arm.upper), f"motion of {recorded.name}"
    recording, wall = run.recorded(simulator, reference, duration, title)
    run.show(simulator, recording, wall, title, output)


@dataclass(frozen=True, kw_only=True)
class SimulatedRun:
    """An arm, its engine and its controller, as the command line describes them.

    Attributes:
        model: options of the arm that its recording names. engine: class of the simulator. timestep: [s].
        mounting: pitch of the base [rad].
    """

    arm: str
    controller: ControllerName
    parameters: str | None
    model: Mapping[str, Any]
    engine: str
    timestep: float
    accuracy: str
    mounting: float | None

    @classmethod
    def of(
        cls,
        arm: str,
        controller: ControllerName,
        settings: list[str] | None,
        parameters: str | None,
        instrument: str | None,
        counterweight: bool,
        friction: bool,
    ) -> SimulatedRun:
        """A run from the values of the command line, which are checked."""
        from trocar.arms.arm import CONTROL_RATE

        chosen = _settings(settings or [])
        timestep = chosen.get("timestep", 1 / CONTROL_RATE if controller == "pid" else 1e-3)
        options.check_positive(timestep=timestep)
        model: dict[str, Any] = {"counterweight": counterweight, "friction": friction}
        model |= {} if instrument is None else {"instrument": instrument}
        model |= {} if chosen.get("transmission", "rigid") == "rigid" else {"transmission": chosen["transmission"]}
        return cls(
            arm=arm,
            controller=controller,
            parameters=parameters,
            model=model,
            engine=chosen.get("engine", "mujoco"),
            timestep=timestep,
            accuracy=chosen.get("accuracy", "fast"),
            mounting=math.radians(chosen["mounting"]) if "mounting" in chosen else None,
        )

    def simulator(self) -> Engine:
        """The simulated arm."""
        engine = tr.ReducedSimulator if self.engine == "reduced" else tr.Simulator
        settings: Any = {"timestep": self.timestep, "accuracy": self.accuracy, "mounting": self.mounting}
        return engine(self.arm, self.parameters, **settings, **self.model)

    def recorded(
        self,
        simulator: Engine,
        reference: Reference,
        duration: float,
        title: str,
        wrench: Sequence[float] | None = None,
    ) -> tuple[tr.Recording, float]:
        """The recording of a motion of a duration [s] under a constant wrench on the tip, and the real time [s]."""
        first = reference(0.0)
        simulator.reset(first.q, first.dq)
        if wrench is not None:
            simulator.apply_wrench(wrench)
        law = _controller(self.controller, simulator.mechanism, reference, self.model["friction"])
        with progress_bar(f"{self.arm}, {duration:g} s") as progress:
            began = time.perf_counter()
            recording = tr.simulate(simulator, law, reference, duration, progress, diagnostics=True)
            wall = time.perf_counter() - began
        pushed = {} if wrench is None else {"tip_force": list(wrench[:3])}
        about = {**recording.provenance, "trajectory": title, **self.model, **pushed}
        return replace(recording, provenance=about), wall

    def show(self, simulator: Engine, recording: tr.Recording, wall: float, motion: str, output: Path) -> None:
        """Write the files of a run and print its errors and efforts."""
        import numpy as np

        from trocar.plots import save
        from trocar.recording.figure import recording_figure

        title = f"{self.arm} ({simulator.parameters.name}), {self.controller} controller, {motion}"
        written = [recording.save(output / f"recording{suffix}") for suffix in (".npz", ".csv")]
        written.append(save(recording_figure(recording, title), output / "recording.png"))
        if self.engine == "mujoco":
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


CHOICES = {
    "engine": ("mujoco", "reduced"),
    "accuracy": ("fast", "exact", "discrete"),
    "transmission": ("rigid", "mirrored"),
}


def _settings(texts: list[str]) -> dict[str, Any]:
    """Values of --set by key."""
    values: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        check_known("setting", (*CHOICES, "timestep", "mounting"), key)
        if not sign:
            raise TrocarError(f"--set takes KEY=VALUE, such as {key}=..., got {text!r}")
        if key in CHOICES:
            check_known(key, CHOICES[key], value)
            values[key] = value
        else:
            [values[key]] = options.numbers(f"set {key}", value, (1,), "degrees" if key == "mounting" else "seconds")
    return values


def _start(mechanism: tr.Mechanism, text: str | None) -> Sequence[float]:
    """Joint positions of --start. Default: home."""
    import numpy as np

    if text is None:
        return mechanism.arm.home
    q = tuple(options.numbers("start", text, (mechanism.n,), ", ".join(mechanism.arm.joint_names)))
    mechanism.arm.check_within_limits(np.array(q), "--start")
    return q


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
