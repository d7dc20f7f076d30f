"""Benchmarks of trocar against the bare library calls, timed in the same run.

Ratios are comparable between machines: rounds of all calls are interleaved, each ratio is computed within a round, and
the median over the rounds is reported. The name of a figure defines its relation to the timed calls:

    A_us, A_us_per_state    time of a call A, or per item of its batch [us]
    A_over_B                ratio of two calls
    real_time_factor, real_time_factor_with_X    simulated over elapsed time of the calls `step` and `step_with_X`
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

from trocar import batch
from trocar.appearance.endoscope_camera import StereoEndoscope
from trocar.arms.parameters import Dahl, Drive, Parameters, load_parameters
from trocar.batch.speed import gpu_figures
from trocar.control import JointPD, hold
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.pinocchio_tree import PinocchioTree
from trocar.robot import Robot
from trocar.robot.controller.constants import FREQUENCY, PERIOD
from trocar.robot.pace import Pace
from trocar.simulation import Simulator, load_scene
from trocar.simulation.run import simulate
from trocar.spatial import Array

Call = Callable[[], object]

TIMESTEP = 1e-3  # [s]
STEREO_RATE = 30.0  # pairs of images [1/s]
TURN = 0.25  # time between reversals of the moving arms of a dVRK [s]
SWING = 0.1  # amplitude of their first joint [rad]
FIGURES = (
    ("mj_step_us", "step_us", "step_over_mj_step", "real_time_factor"),
    ("step_with_joint_pd_us", "step_with_joint_pd_over_mj_step", "real_time_factor_with_joint_pd"),
    ("step_with_hysteresis_us", "step_with_hysteresis_over_mj_step"),
    ("step_with_load_friction_us", "step_with_load_friction_over_mj_step"),
    ("simulate_us_per_step", "simulate_over_mj_step"),
    ("mj_step_runge_kutta_us", "exact_step_us", "exact_step_over_mj_step_runge_kutta"),
    ("pinocchio_bare_us", "terms_us", "terms_over_pinocchio"),
    ("terms_batch_us_per_state", "terms_batch_over_terms", "terms_batch_over_pinocchio"),
    ("inverse_dynamics_us", "regressor_us", "regressor_batch_us_per_state"),
    ("pinocchio_fk_us", "fk_us", "fk_batch_us_per_state", "fk_batch_over_pinocchio_fk"),
    ("ik_us", "ik_batch_us_per_pose"),
)


@dataclass(frozen=True)
class TimedCall:
    """A call to time: `run` does the work of `size` units; `prepare` resets everything and is not timed."""

    run: Call
    size: int
    prepare: Call = lambda: None


def figures(
    rounds: int = 15,
    steps: int = 400,
    batch: int = 10_000,
    arm: str = "PSM",
    progress: Callable[[float], None] | None = None,
) -> dict[str, float]:
    """Figures of an arm by name.

    Args:
        rounds: repetitions. steps: calls per round of functions of one state. batch: batch size of the others.
        progress: function called with the completed fraction.
    """
    if min(rounds, steps, batch) < 1:
        raise TrocarError(f"rounds, steps and batch must be 1 or more, got {rounds}, {steps} and {batch}")
    mech = load_mechanism(arm)
    calls = _simulation_calls(mech, steps) | _friction_calls(mech, steps) | _mechanics_calls(mech, steps, batch)
    us = _timed(calls, rounds, progress)
    return _figures(chain(*FIGURES), us | {"pinocchio_bare": us["pinocchio"]}, arm.lower())


def step_figures(arm: str, rounds: int = 15, steps: int = 400) -> dict[str, float]:
    """The step figures of `figures` for another arm."""
    calls = _simulation_calls(load_mechanism(arm), steps)
    return _figures(FIGURES[0], _timed({name: calls[name] for name in ("mj_step", "step")}, rounds), arm.lower())


def scene_figures(name: str = "cart_classic", rounds: int = 15, steps: int = 400) -> dict[str, float]:
    """Speed of a scene with all arms held at their start, compared with one PSM and the bare engine in the same run.

    With stereo: 33 steps of 1 ms, then both images of an endoscope, 640 x 480, without shadows and multisampling;
    skipped if this machine cannot render.
    """
    scene = load_scene(name, timestep=TIMESTEP)
    held = {key: _held(load_mechanism(a.arm.name, gravity=a.gravity_vector), a.q) for key, a in scene.arms.items()}
    calls = _steps(scene, scene.reset, held, steps)
    calls["psm_step"] = _simulation_calls(load_mechanism("PSM"), steps)["step"]
    names = ["mj_step_us", "step_us", "step_over_mj_step", "step_over_psm_step", "real_time_factor"]
    with suppress(TrocarError):  # no endoscope, or no rendering
        stereo = StereoEndoscope(scene)
        stereo.pair()
        calls["stereo_pair"] = TimedCall(stereo.pair, 1)
        names += ["stereo_pair_us", "real_time_factor_with_stereo"]
    us = _timed(calls, rounds)
    if "stereo_pair" in us:
        us["step_with_stereo"] = np.median(us["step"]) + np.median(us["stereo_pair"]) * STEREO_RATE * TIMESTEP
    return _figures(names, us, f"scene_{name}")


def batch_figures(
    rounds: int = 15, steps: int = 400, arms: int = 4096, arm: str = "PSM", *, jax: bool = True, gpu: bool = False
) -> dict[str, float]:
    """Speed of generated steps of one arm and of many, compared with MuJoCo's step of the closed chain in the same run.

    c_step_us is a step within a rollout of one arm; c_call_us and c_step_over_mj_step are the call `step` of one arm
    from Python; c_batch figures are a step of one arm in a batch, on one core; c_two_threads_speedup compares one
    thread with two.

    Args:
        arms: batch size on the CPU. jax: also time JAX if it is installed. gpu: also run
            `trocar.batch.speed.gpu_figures`.
    """
    mech = load_mechanism(arm)
    q = _jaws_open(mech)
    tau, one = _held(mech, q), batch.load(arm)
    state = one.state(q)

    def rollout(loaded: batch.BatchArms, steps: int) -> TimedCall:
        states = loaded.state(np.tile(q[:, None], arms))
        return TimedCall(lambda: loaded.rollout(states, tau, TIMESTEP, steps, log=False), steps * arms)

    enough = max(1, steps // 2)  # to start a second thread
    calls = {
        "mj_step": _simulation_calls(mech, steps)["mj_step"],
        "c_call": _repeated(lambda: one.step(state, tau, TIMESTEP), steps),
        "c_step": TimedCall(lambda: one.rollout(state, tau, TIMESTEP, 10 * steps, log=False), 10 * steps),
        "c_batch": rollout(batch.load(arm, threads=1), enough),
        "c_batch_two_threads": rollout(batch.load(arm, threads=2), enough),
    }
    us = _timed(calls, rounds)
    values = _figures(("mj_step_us", "c_step_us", "c_call_us", "c_batch_us_per_step", "c_batch_over_mj_step"), us)
    values["c_step_over_mj_step"] = float(np.median(us["c_call"] / us["mj_step"]))
    values["c_two_threads_speedup"] = float(np.median(us["c_batch"] / us["c_batch_two_threads"]))
    if jax and find_spec("jax") is not None:
        call = rollout(batch.load(arm, backend="jax", precision="float32"), 20)
        values["jax_compile_s"] = _seconds(call.run)  # to the first result
        values[f"jax_steps_per_s_{arms}"] = float(1e6 / np.median(_timed({"jax": call}, rounds)["jax"]))
    return values | gpu_figures(arm) if gpu else values


def crtk_figures(
    name: str = "dvrk", rounds: int = 5, seconds: float = 2.0, progress: Callable[[float], None] | None = None
) -> dict[str, float]:
    """Speed of a dVRK under its 1500 Hz controllers, and the share of late cycles in real time.

    Every round times `seconds` of simulated time while all arms hold and while all move, then runs the moving robot and
    an empty loop in real time for the same duration each. A cycle is late if it begins more than a period after it was
    due. Speeds are medians over the rounds; shares of late cycles are over all rounds. `real_time_priority` is 1 if the
    system granted both loops real-time priority.
    """
    if rounds < 1 or not (np.isfinite(seconds) and seconds >= PERIOD):
        raise TrocarError(f"rounds must be 1 or more and seconds {PERIOD:.2g} or more, got {rounds} and {seconds}")
    scene = load_scene(name, timestep=PERIOD)
    us: dict[str, list[float]] = {"holding": [], "moving": []}
    paces: dict[str, list[Pace]] = {"dvrk": [], "bare_loop": []}
    for i in range(rounds):
        for state, times in us.items():
            scene.reset()
            robot = Robot(scene, start="ready", speed="stepped")
            times.append(_cycle_us(robot, seconds, moving=state == "moving"))
        scene.reset()
        with Robot(scene, start="ready", speed="real") as robot:
            for turn, span in enumerate(_spans(seconds)):
                _swing(robot, turn)
                time.sleep(span)
        if robot.error is not None:
            raise TrocarError(f"the robot stopped: {robot.error!r}")
        paces["dvrk"].append(robot.pace)
        paces["bare_loop"].append(_bare_pace(seconds))
        if progress is not None:
            progress((i + 1) / rounds)
    late = {case: 100.0 * sum(p.late for p in of) / max(1, sum(p.cycles for p in of)) for case, of in paces.items()}
    median = {state: float(np.median(times)) for state, times in us.items()}
    values = {f"cycle_{state}_us": value for state, value in median.items()}
    values |= {f"real_time_factor_{state}": PERIOD * 1e6 / value for state, value in median.items()}
    values |= {"late_cycles_percent": late["dvrk"], "bare_loop_late_cycles_percent": late["bare_loop"]}
    values["late_cycles_above_bare_loop_percentage_points"] = late["dvrk"] - late["bare_loop"]
    values["real_time_priority"] = float(all(pace.prioritised for of in paces.values() for pace in of))
    return {f"crtk_{name}_{figure}": value for figure, value in values.items()}


def _spans(seconds: float) -> list[float]:
    """Intervals between the reversals of moving arms [s]."""
    return np.diff([*np.arange(0.0, seconds, TURN), seconds]).tolist()


def _swing(robot: Robot, turn: int) -> None:
    """Command the first joint of all arms to the other side."""
    way = SWING if turn == 0 else 2.0 * SWING
    for name in robot.arms:
        robot.arm(name).move_jr(way * (-1.0) ** turn * np.eye(robot.readings(name).arm.tip_joints)[0])


def _cycle_us(robot: Robot, seconds: float, *, moving: bool) -> float:
    counts = [max(1, round(span * FREQUENCY)) for span in _spans(seconds)]
    elapsed = 0.0
    for turn, count in enumerate(counts):
        if moving:
            _swing(robot, turn)
        elapsed += _seconds(partial(robot.step, count))
    return 1e6 * elapsed / sum(counts)


def _bare_pace(seconds: float) -> Pace:
    """An empty loop at the controllers' rate, in a separate thread."""
    pace, closing = Pace(), threading.Event()
    thread = threading.Thread(target=pace.keep, args=(lambda: None, closing), daemon=True)
    thread.start()
    time.sleep(seconds)
    closing.set()
    thread.join()
    return pace


def _figures(names: Iterable[str], us: dict[str, Array], prefix: str = "") -> dict[str, float]:
    """Compute figures from their names (see above) and the times by call and round."""

    def figure(name: str) -> float:
        if name.startswith("real_time_factor"):
            return float(TIMESTEP * 1e6 / np.median(us["step" + name.removeprefix("real_time_factor")]))
        call, over, bare = name.partition("_over_")
        return float(np.median(us[call] / us[bare])) if over else float(np.median(us[name.partition("_us")[0]]))

    return {f"{prefix}_{name}" if prefix else name: figure(name) for name in names}


def _timed(
    calls: dict[str, TimedCall], rounds: int, progress: Callable[[float], None] | None = None
) -> dict[str, Array]:
    """Microseconds per unit of every call, one value per round, after a warm-up round."""
    us = {name: np.empty(rounds) for name in calls}
    for i in range(-1, rounds):
        for name, call in calls.items():
            call.prepare()
            us[name][i] = _seconds(call.run) * 1e6 / call.size  # the last round replaces the warm-up at -1
        if progress is not None:
            progress((i + 2) / (rounds + 1))
    return us


def _seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _repeated(call: Call, count: int, prepare: Call = lambda: None) -> TimedCall:
    def run() -> None:
        for _ in range(count):
            call()

    return TimedCall(run, count, prepare)


def _held(mech: Mechanism, q: Array) -> Array:
    """Efforts (n,) that hold an arm at rest."""
    return mech.gravity(q) + mech.friction(q, np.zeros_like(q))


def _jaws_open(mech: Mechanism) -> Array:
    return np.concatenate([mech.arm.home[: mech.arm.tip_joints], np.full(mech.n - mech.arm.tip_joints, 0.5)])


def _steps(engine: Any, reset: Call, tau: Any, steps: int) -> dict[str, TimedCall]:
    """Steps of a simulator or scene under constant efforts, and MuJoCo's bare steps on the same model."""
    bare = mujoco.MjData(engine.model)

    def prepare() -> None:  # one step first, so that efforts and loads are set
        reset()
        engine.step(tau)
        mujoco.mj_copyData(bare, engine.model, engine.data)

    return {
        "mj_step": _repeated(partial(mujoco.mj_step, engine.model, bare), steps, prepare),
        "step": _repeated(partial(engine.step, tau), steps, prepare),
    }


def _simulation_calls(mech: Mechanism, steps: int) -> dict[str, TimedCall]:
    """Steps of the engine with the arm held in place and jaws open."""
    sim, exact = (Simulator(mech.arm.name, timestep=TIMESTEP, accuracy=accuracy) for accuracy in ("fast", "exact"))
    q = _jaws_open(mech)
    tau, M = _held(mech, q), np.diag(mech.mass_matrix(q))
    kp, kd = M * 30.0**2, M * 60.0
    fast, slow = (_steps(engine, partial(engine.reset, q), tau, steps) for engine in (sim, exact))
    start = fast["step"].prepare
    run = partial(simulate, sim, JointPD(kp, kd), hold(q), steps * TIMESTEP)
    return {
        **fast,
        "step_with_joint_pd": _repeated(lambda: sim.step(kp * (q - sim.q) - kd * sim.dq), steps, start),
        "simulate": TimedCall(run, steps, start),
        "mj_step_runge_kutta": slow["mj_step"],
        "exact_step": slow["step"],
    }


def _friction_calls(mech: Mechanism, steps: int) -> dict[str, TimedCall]:
    """Steps of the arm with three Dahl elements instead of Coulomb friction, and also with load-dependent friction."""

    def with_memory(drive: Drive) -> Drive:
        elements = tuple(Dahl(delta, drive.Fc / 3.0) for delta in (2e-3, 1e-2, 5e-2))
        return replace(drive, Fc=0.0, hysteresis=elements if drive.Fc else ())

    def with_load(drive: Drive) -> Drive:
        on_one = len(drive.joints) == 1 and drive.hysteresis
        return replace(drive, mu=0.01, terms=(*drive.terms, "mu")) if on_one else drive

    q = np.array(mech.arm.home)
    tau = _held(mech, q)

    def step(parameters: Parameters) -> TimedCall:
        sim = Simulator(mech.arm.name, parameters, timestep=TIMESTEP)
        return _repeated(partial(sim.step, tau), steps, partial(sim.reset, q))

    parameters = load_parameters(mech.arm.name)
    drives = tuple(map(with_memory, parameters.drives))
    return {
        "step_with_hysteresis": step(replace(parameters, drives=drives)),
        "step_with_load_friction": step(replace(parameters, drives=tuple(map(with_load, drives)))),
    }


def _mechanics_calls(mech: Mechanism, steps: int, batch: int) -> dict[str, TimedCall]:
    """Calls of the equations for one state and for a batch; the bare calls are Pinocchio's on the same tree."""
    rng = np.random.default_rng(0)
    arm = mech.arm
    # the reference is the whole tree; the mechanism omits massless links
    tree = PinocchioTree(arm.bodies, mech.tree_inertia, arm.E, mech.gravity_vector, whole=True)
    # in the middle of the limits, where every pose is reachable and singularities are far
    q = rng.uniform(0.7 * arm.lower + 0.3 * arm.upper, 0.3 * arm.lower + 0.7 * arm.upper, (batch, arm.n))
    dq, ddq = rng.normal(size=(2, batch, arm.n))
    T = mech.forward_kinematics(q)
    one, d_one, dd_one, T_one = q[0], dq[0], ddq[0], T[0]
    q_tree, dq_tree = arm.E @ one, arm.E @ d_one
    fewer = max(1, steps // 20)  # slow calls are repeated less often

    def pinocchio() -> None:
        pin.crba(tree.model, tree.data, q_tree)
        pin.nonLinearEffects(tree.model, tree.data, q_tree, dq_tree)
        pin.computeGeneralizedGravity(tree.model, tree.data, q_tree)

    return {
        "pinocchio": _repeated(pinocchio, steps),
        "terms": _repeated(lambda: mech.terms(one, d_one), steps),
        "terms_batch": TimedCall(lambda: mech.terms(q, dq), batch),
        "inverse_dynamics": _repeated(lambda: mech.inverse_dynamics(one, d_one, dd_one), steps),
        "regressor": _repeated(lambda: mech.regressor(one, d_one, dd_one), fewer),
        "regressor_batch": TimedCall(lambda: mech.regressor(q, dq, ddq), batch),
        "pinocchio_fk": _repeated(lambda: pin.forwardKinematics(tree.model, tree.data, q_tree), steps),
        "fk": _repeated(lambda: mech.forward_kinematics(one), fewer),
        "fk_batch": TimedCall(lambda: mech.forward_kinematics(q), batch),
        "ik": _repeated(lambda: mech.inverse_kinematics(T_one, one), fewer),
        "ik_batch": TimedCall(lambda: mech.inverse_kinematics(T, q), batch),
    }
