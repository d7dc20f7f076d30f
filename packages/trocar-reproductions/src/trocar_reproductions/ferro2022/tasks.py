"""The four tasks of Ferro et al. 2022 on this engine: regulation, line, spiral and excitation.

Timing is that of their program and scene: in each control period the program reads the joints, computes a command and
sends it; the command acts in the next period, and the effort of that period is read after it. Line, spiral and
regulation run at 10 ms, the excitation at 5 ms, the physics at 5 ms. Under kinematic control the motors reach the
commanded joint velocities; under torque control yaw, pitch and insertion take efforts and the wrist is held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trocar.checks import positive
from trocar.control import CartesianKinematic, State
from trocar.control.trajectories import CartesianPath
from trocar.control.trajectories.paths import TipMotion
from trocar.demo import torque_control
from trocar.demo.torque_control import ARM, R_WORLD_BASE, R_WORLD_TIP, SETTLED, START, rms
from trocar.errors import TrocarError, check_known
from trocar.mechanics import Mechanism, load_mechanism
from trocar.recording import Recording
from trocar.simulation import Mirror, Simulator
from trocar.spatial import Array, pose
from trocar_reproductions.ferro2022 import runs
from trocar_reproductions.ferro2022.logs import PHYSICS, MeasuredMotion
from trocar_reproductions.ferro2022.motors import EffortMotors, VelocityMotors
from trocar_reproductions.ferro2022.program import GAINS, PERIOD, TorqueProgram, low_pass
from trocar_reproductions.ferro2022.runs import KI_CODE, KP, WRIST_STOP

TASKS = ("regulation", "line", "spiral", "excitation")
CONTROLS = ("kinematic", "torque")
TRANSMISSIONS = ("rigid", "mirrored")
EXCITATION_PERIOD = 5e-3  # [s]
EXCITATION_GAINS = 100.0, 20.0  # torque control of the joints: ours, the paper has none [1/s^2, 1/s]
REGULATION = np.array([0.06146, 0.10648, -0.01811])  # from the tip at rest to the scene's eeRef_regulation [m]
REST = np.array([-1.52951, -0.141452, 0.717809])  # tip at rest in the scene, logs 1 to 4 [m]
MODEL = "wang2019"  # the controllers' model


class Target(NamedTuple):
    """What a row should reach: pose of their tip with its twist and acceleration, or joints (7,)."""

    motion: TipMotion | None
    q: Array
    dq: Array
    ddq: Array


@dataclass(frozen=True, kw_only=True)
class TaskRun:
    """Rows of a run, as the program sees them; efforts in the model's sign [N m, N m, N].

    Attributes:
        t: (N,) [s]. q, velocity: joints and their velocities in the engine (N, 7).
        rates, efforts: commanded joint velocities (N, 7) and efforts (N, 3); zero under the other control.
        engine: effort of the engine in the period before the row (N, 7).
        model: effort of the controllers' model (N, 3). gravity: its gravity (N, 3).
        dq, ddq: differences of q, and of the velocity that the model uses, low-passed (N, 7).
        wanted: desired pose of their tip (N, 4, 4), base axes. mechanism: the controllers' model, with their tip.
        about: task, control and options.
    """

    t: Array
    q: Array
    velocity: Array
    rates: Array
    efforts: Array
    engine: Array
    model: Array
    gravity: Array
    dq: Array
    ddq: Array
    wanted: Array
    mechanism: Mechanism
    about: dict[str, Any]

    def tip(self) -> tuple[Array, Array]:
        """Position (N, 3) and rotation (N, 3, 3) of their tip in the axes of their scene."""
        return _in_scene(self.mechanism, self.mechanism.forward_kinematics(self.q))

    def desired(self) -> tuple[Array, Array]:
        """Desired position (N, 3) and rotation (N, 3, 3) of their tip in the axes of their scene."""
        return _in_scene(self.mechanism, self.wanted)

    def tip_errors(self) -> Array:
        """Desired minus actual position of their tip (N, 3), axes of their scene [m]."""
        return self.desired()[0] - self.tip()[0]

    def torque_errors(self) -> Array:
        """RMS (3,) of the engine's minus the model's effort after the transient, as the paper compares them."""
        return rms((self.engine[:, ARM] - self.model)[self.t >= SETTLED])

    def recording(self) -> Recording:
        """The run as a recording: efforts of the engine act in the period that starts at a row."""
        arm = self.mechanism.arm
        acting = np.vstack([self.engine[1:], self.engine[-1:]])
        extra = {"model_tau": np.pad(self.model, ((0, 0), (0, 4))), "tip_error": self.tip_errors()}
        return Recording(
            t=self.t,
            q=self.q,
            dq=self.velocity,
            tau=acting,
            joints=arm.joint_names,
            joint_units=[joint.unit for joint in arm.joints],
            commands={"dq": self.rates, "tau": np.pad(self.efforts, ((0, 0), (0, 4)))},
            extra=extra,
            extra_units={"tip_error": "m"},
            provenance={"arm": arm.name, **self.about},
        )


def run_task(
    task: str,
    control: str = "kinematic",
    *,
    parameters: str | None = None,
    counterweight: bool = True,
    friction: bool = False,
    transmission: str = "rigid",
    duration: float | None = None,
    excitation: MeasuredMotion | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> TaskRun:
    """Run a task of the paper.

    Args:
        task: one of `TASKS`. control: "kinematic" or "torque".
        parameters, counterweight, friction, transmission: of the engine. The controllers' model is wang2019 with
            counterweight and without friction.
        duration: [s]. Default: 10 s, or all of the excitation.
        excitation: the motion of task "excitation".
        progress: called with the fraction done.
    """
    check_known("task", TASKS, task)
    check_known("control", CONTROLS, control)
    check_known("transmission", TRANSMISSIONS, transmission)
    model = runs.at_their_tip(load_mechanism("PSM", MODEL))
    period = EXCITATION_PERIOD if task == "excitation" else PERIOD
    target, longest = _target(task, control, model, period, excitation)
    duration = longest if duration is None else positive("duration", duration)
    if duration > longest + 1e-9:
        raise TrocarError(f"duration {duration:g} s is longer than the task '{task}', which has {longest:g} s")
    rows, steps = max(2, round(duration / period)), round(period / PHYSICS)
    if transmission == "mirrored" and not counterweight:
        raise TrocarError("the mirrored transmission needs the counterweight; choose the rigid one without it")
    options: dict[str, Any] = {"friction": friction, "contacts": False, "limits": False, "timestep": PHYSICS}
    mirror: str | Mirror = Mirror(period=period) if transmission == "mirrored" else "rigid"
    sim = Simulator("PSM", parameters, counterweight=counterweight, transmission=mirror, **options)
    first = target(0.0)
    sim.reset(first.q)
    law: _Kinematic | _Torque
    if control == "kinematic":
        felt = load_mechanism("PSM", sim.parameters, counterweight=counterweight and transmission == "rigid")
        law = _Kinematic(sim, model, felt)
    else:
        law = _Torque(sim, model, task, first.q)
    q, velocity, rates, engine, moving = (np.zeros((rows, 7)) for _ in range(5))
    efforts, wanted = np.zeros((rows, 3)), np.empty((rows, 4, 4))
    effort = np.pad(model.gravity(first.q)[ARM], (0, 4))
    for k in range(rows):
        goal = target(k * period)
        q[k], velocity[k], engine[k] = sim.q, sim.dq, effort
        wanted[k] = model.forward_kinematics(goal.q) if goal.motion is None else goal.motion.T
        rates[k], efforts[k], moving[k] = law.command(k * period, sim, goal)
        effort = np.mean([law.act() for _ in range(steps)], axis=0)
        law.send()
        progress((k + 1) / rows)
    t = np.arange(rows) * period
    ddq = low_pass(np.diff(moving, axis=0, prepend=0.0 * moving[:1]) / period)
    return TaskRun(
        t=t,
        q=q,
        velocity=velocity,
        rates=rates,
        efforts=efforts,
        engine=engine,
        model=model.inverse_dynamics(_arm(q), _arm(moving), _arm(ddq))[:, ARM],
        gravity=model.gravity(_arm(q))[:, ARM],
        dq=low_pass(np.diff(q, axis=0, prepend=q[:1]) / period),
        ddq=ddq,
        wanted=wanted,
        mechanism=model,
        about={
            "task": task,
            "control": control,
            "parameters": sim.parameters.name,
            "counterweight": counterweight,
            "friction": friction,
            "transmission": transmission,
            "period": period,
        },
    )


def _target(
    task: str, control: str, model: Mechanism, period: float, excitation: MeasuredMotion | None
) -> tuple[Callable[[float], Target], float]:
    """Target of each time, and the longest duration [s]."""
    zero = np.zeros(7)
    if task == "excitation":
        if excitation is None:
            raise TrocarError("the task 'excitation' follows a recorded motion: give one as `excitation`")
        reference = excitation.reference(period)

        def joints(t: float) -> Target:
            setpoint, ahead, behind = reference(t), reference(t + period), reference(max(t - period, 0.0))
            ddq = (ahead.dq - behind.dq) / (2 * period)
            q = setpoint.q.copy()
            q[3:] = START[3:]
            return Target(None, q, setpoint.dq, ddq)

        return joints, excitation.duration
    path = _path(task, control, model)
    return lambda t: Target(path(t), START, zero, zero), path.duration


def _path(task: str, control: str, model: Mechanism) -> CartesianPath:
    """Path of the program: the line of torque control is shorter and starts elsewhere."""
    if task == "spiral":
        return torque_control.spiral(model, torque_control.SPIRAL_OF_CODE)
    if task == "line":
        if control == "torque":
            return runs.rectilinear(model, runs.TORQUE_LENGTH, step=torque_control.CENTRE)
        return runs.rectilinear(model)
    rest = model.forward_kinematics(START)[:3, 3]
    T = pose(R_WORLD_BASE.T @ R_WORLD_TIP, rest + R_WORLD_BASE.T @ REGULATION)
    return CartesianPath(lambda s: (T, np.zeros(6), np.zeros(6)), torque_control.DURATION, "constant")


class _Kinematic:
    """Joint velocities from the tip's pose error, or those of the excitation; they act one period later."""

    def __init__(self, sim: Simulator, model: Mechanism, felt: Mechanism) -> None:
        self._law = CartesianKinematic(model, kp=KP, joints=6, ki=KI_CODE, kp_orientation=KP)
        self._motors, self._sim = VelocityMotors(sim, felt), sim
        self._motors.reset()
        self._sent = self._acting = np.zeros(7)

    def command(self, t: float, sim: Simulator, goal: Target) -> tuple[Array, Array, Array]:
        """Commanded velocities (7,), no efforts (3,), and the velocities that the model uses (7,)."""
        if goal.motion is None:
            self._sent = goal.dq.copy()
        else:
            self._sent = self._law.rate(State(t, sim.q, np.zeros(7)), goal.motion)
        return self._sent, np.zeros(3), self._sent

    def act(self) -> Array:
        """Take a physics step; the wrist yaw has a stop. Returns the efforts (7,)."""
        rates, sim = self._acting.copy(), self._sim
        rates[5] = max(rates[5], (WRIST_STOP - sim.q[5]) / sim.timestep)
        return self._motors.step(rates)

    def send(self) -> None:
        """End the period: the new command acts from now on."""
        self._acting = self._sent


class _Torque:
    """Efforts from the tip's position error, or from the joints of the excitation; they act one period later."""

    def __init__(self, sim: Simulator, model: Mechanism, task: str, q: Array) -> None:
        gains = GAINS["rectilinear" if task == "line" else task] if task != "excitation" else GAINS["regulation"]
        self._program, self._model = TorqueProgram(model, *gains), model
        self._motors, self._wrist = EffortMotors(sim), q[3:]
        self._last = q
        self._sent = self._acting = model.gravity(q)[ARM]

    def command(self, t: float, sim: Simulator, goal: Target) -> tuple[Array, Array, Array]:
        """No velocities (7,), efforts (3,), and the joint velocities by differences (7,)."""
        q = sim.q
        if goal.motion is not None:
            motion = goal.motion
            self._sent, dq, _ = self._program.command(q, motion.T[:3, 3], motion.twist[:3], motion.acceleration[:3])
            return np.zeros(7), self._sent, dq
        dq = np.zeros(7)
        dq[ARM] = (q - self._last)[ARM] / EXCITATION_PERIOD
        self._last = q
        kp, kd = EXCITATION_GAINS
        M, c, g = self._model.terms(_arm(q), dq)
        a = goal.ddq + kd * (goal.dq - dq) + kp * (goal.q - q)
        self._sent = M[ARM, ARM] @ a[ARM] + (c + g)[ARM]
        return np.zeros(7), self._sent, dq

    def act(self) -> Array:
        """Take a physics step; returns the efforts (7,)."""
        return self._motors.step(self._acting, self._wrist)

    def send(self) -> None:
        """End the period: the new command acts from now on."""
        self._acting = self._sent


def _arm(values: Array) -> Array:
    """Joints (..., 7) with the wrist at zero: the paper's model has none."""
    arm = np.zeros_like(values)
    arm[..., ARM] = values[..., ARM]
    return arm


def _in_scene(mechanism: Mechanism, T: Array) -> tuple[Array, Array]:
    """Position (N, 3) and rotation (N, 3, 3) in their scene of poses (N, 4, 4) of their tip in base axes."""
    rest = mechanism.forward_kinematics(START)[:3, 3]
    return REST + (T[..., :3, 3] - rest) @ R_WORLD_BASE.T, R_WORLD_BASE @ T[..., :3, :3] @ R_WORLD_TIP.T
