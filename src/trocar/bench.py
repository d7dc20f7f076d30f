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
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain

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
from trocar.simulation import Scene, Simulator, load_scene
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
    """Figures by name, with units in the names: `_us` microseconds per call, `_us_per_...` per item, `_over_` ratios.

    Args:
        rounds: repetitions; the median is reported.
        steps: calls per round of functions of one state. batch: batch size of functions of many states or poses.
        progress: function called with the completed fraction.
    """
    if min(rounds, steps, batch) < 1:
        raise TrocarError(f"rounds, steps and batch must be 1 or more, got {rounds}, {steps} and {batch}")
    mech = load_mechanism(arm)
    calls = _simulation_calls(mech, steps) | _friction_calls(mech, steps) | _mechanics_calls(mech, steps, batch)
    us = _timed(calls, rounds, progress)
    us["pinocchio_bare"] = us["pinocchio"]
    return _figures(chain(*FIGURES), us, arm.lower())


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
    tau = {}
    for key, arm in scene.arms.items():
        tau[key] = _held(load_mechanism(arm.arm.name, gravity=arm.gravity_vector), arm.q)
    bare = mujoco.MjData(scene.model)

    def prepare() -> None:
        scene.reset()
        scene.step(tau)
        mujoco.mj_copyData(bare, scene.model, scene.data)

    calls = {
        "psm_step": _simulation_calls(load_mechanism("PSM"), steps)["step"],
        "mj_step": _repeated(partial(mujoco.mj_step, scene.model, bare), steps, prepare),
        "step": _repeated(partial(scene.step, tau), steps, prepare),
    }
    stereo = _stereo(scene)
    if stereo is not None:
        calls["stereo_pair"] = TimedCall(stereo.pair, 1)
    us = _timed(calls, rounds)
    names = ["mj_step_us", "step_us", "step_over_mj_step", "step_over_psm_step", "real_time_factor"]
    if stereo is not None:
        names += ["stereo_pair_us", "real_time_factor_with_stereo"]
        steps_per_pair = 1.0 / (STEREO_RATE * TIMESTEP)
        median = {case: float(np.median(us[case])) for case in ("step", "stereo_pair")}
        us["step_with_stereo"] = np.array([median["step"] + median["stereo_pair"] / steps_per_pair])
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
    calls = {"mj_step": _simulation_calls(mech, steps)["mj_step"]}
    q = np.array(mech.arm.home)
    q[mech.arm.tip_joints :] = 0.5
    tau = _held(mech, q)
    many = np.tile(q[:, None], arms)
    one = batch.load(arm)
    state = one.state(q)
    calls["c_call"] = _repeated(lambda: one.step(state, tau, TIMESTEP), steps)
    calls["c_step"] = TimedCall(lambda: one.rollout(state, tau, TIMESTEP, 10 * steps, log=False), 10 * steps)
    for name, threads in (("c_batch", 1), ("c_batch_two_threads", 2)):
        loaded = batch.load(arm, threads=threads)
        calls[name] = _rollout(loaded, many, tau, max(1, steps // 2))  # long enough to start a second thread
    us = _timed(calls, rounds)
    values = _figures(("mj_step_us", "c_step_us", "c_call_us", "c_batch_us_per_step", "c_batch_over_mj_step"), us)
    values["c_step_over_mj_step"] = float(np.median(us["c_call"] / us["mj_step"]))
    values["c_two_threads_speedup"] = float(np.median(us["c_batch"] / us["c_batch_two_threads"]))
    if jax and find_spec("jax") is not None:
        values |= _jax_figures(arm, q, tau, arms, 20, rounds)
    if gpu:
        values |= gpu_figures(arm)
    return values


def _jax_figures(arm: str, q: Array, tau: Array, arms: int, steps: int, rounds: int) -> dict[str, float]:
    """Steps of all arms per second in float32, and the time to the first result."""
    call = _rollout(batch.load(arm, backend="jax", precision="float32"), np.tile(q[:, None], arms), tau, steps)
    start = time.perf_counter()
    call.run()
    seconds = time.perf_counter() - start
    us = _timed({"run": call}, rounds)["run"]
    return {"jax_compile_s": seconds, f"jax_steps_per_s_{arms}": float(1e6 / np.median(us))}


def _rollout(arms: batch.BatchArms, q: Array, tau: Array, steps: int) -> TimedCall:
    """A timed rollout of a batch that is held in place."""
    state = arms.state(q)
    return TimedCall(lambda: arms.rollout(state, tau, TIMESTEP, steps, log=False), steps * q.shape[1])


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
            for turn, span in enumerate(_turns(seconds)):
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


def _turns(seconds: float) -> list[float]:
    """Intervals between the reversals of moving arms [s]."""
    whole = int(seconds / TURN)
    return [TURN] * whole + ([seconds - whole * TURN] if seconds > whole * TURN else [])


def _swing(robot: Robot, turn: int) -> None:
    """Command the first joint of all arms to the other side."""
    way = SWING if turn == 0 else 2.0 * SWING
    for name in robot.arms:
        robot.arm(name).move_jr(way * (-1.0) ** turn * np.eye(robot.readings(name).arm.tip_joints)[0])


def _cycle_us(robot: Robot, seconds: float, *, moving: bool) -> float:
    """Microseconds per control cycle of all arms."""
    cycles, elapsed = 0, 0.0
    for turn, span in enumerate(_turns(seconds)):
        if moving:
            _swing(robot, turn)
        count = max(1, round(span * FREQUENCY))
        start = time.perf_counter()
        robot.step(count)
        elapsed += time.perf_counter() - start
        cycles += count
    return 1e6 * elapsed / cycles


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


def _stereo(scene: Scene) -> StereoEndoscope | None:
    """The endoscope of a scene; None if there is none or this machine cannot render."""
    try:
        stereo = StereoEndoscope(scene)
        stereo.pair()
    except TrocarError:
        return None
    return stereo


def _timed(
    calls: dict[str, TimedCall], rounds: int, progress: Callable[[float], None] | None = None
) -> dict[str, Array]:
    """Microseconds per unit of every call, one value per round, after a warm-up round."""
    us = {name: np.empty(rounds) for name in calls}
    for i in range(-1, rounds):
        for name, call in calls.items():
            call.prepare()
            start = time.perf_counter()
            call.run()
            duration = time.perf_counter() - start
            if i >= 0:
                us[name][i] = duration * 1e6 / call.size
        if progress is not None:
            progress((i + 2) / (rounds + 1))
    return us


def _repeated(call: Call, count: int, prepare: Call = lambda: None) -> TimedCall:
    """A function that repeats a call in a loop."""

    def run() -> None:
        for _ in range(count):
            call()

    return TimedCall(run, count, prepare)


def _held(mech: Mechanism, q: Array) -> Array:
    """Efforts (n,) that hold an arm at rest."""
    return mech.gravity(q) + mech.friction(q, np.zeros_like(q))


def _simulation_calls(mech: Mechanism, steps: int) -> dict[str, TimedCall]:
    """Steps of the engine with the arm held in place and jaws open; the bare call does the same on the same model."""
    name = mech.arm.name
    sim = Simulator(name, timestep=TIMESTEP)
    exact = Simulator(name, timestep=TIMESTEP, accuracy="exact")
    q = np.array(mech.arm.home)
    q[mech.arm.tip_joints :] = 0.5
    tau, M = _held(mech, q), np.diag(mech.mass_matrix(q))
    kp, kd = M * 30.0**2, M * 60.0
    bare, bare_exact = (mujoco.MjData(s.model) for s in (sim, exact))

    def copy(simulator: Simulator, data: mujoco.MjData) -> Call:
        """Set `data` to the simulator's start: after one step, so that efforts and loads are set."""

        def prepare() -> None:
            simulator.reset(q)
            simulator.step(tau)
            mujoco.mj_copyData(data, simulator.model, simulator.data)

        return prepare

    start, start_exact = copy(sim, bare), copy(exact, bare_exact)
    run = partial(simulate, sim, JointPD(kp, kd), hold(q), steps * TIMESTEP)
    return {
        "mj_step": _repeated(partial(mujoco.mj_step, sim.model, bare), steps, start),
        "step": _repeated(partial(sim.step, tau), steps, start),
        "step_with_joint_pd": _repeated(lambda: sim.step(kp * (q - sim.q) - kd * sim.dq), steps, start),
        "simulate": TimedCall(run, steps, start),
        "mj_step_runge_kutta": _repeated(partial(mujoco.mj_step, exact.model, bare_exact), steps, start_exact),
        "exact_step": _repeated(partial(exact.step, tau), steps, start_exact),
    }


def _friction_calls(mech: Mechanism, steps: int) -> dict[str, TimedCall]:
    """Steps of the arm with three Dahl elements instead of Coulomb friction, and also with load-dependent friction."""

    def with_memory(drive: Drive) -> Drive:
        elements = (Dahl(delta, drive.Fc / 3.0) for delta in (2e-3, 1e-2, 5e-2))
        return replace(drive, Fc=0.0, hysteresis=tuple(elements) if drive.Fc else ())

    def with_load(drive: Drive) -> Drive:
        on_one = len(drive.joints) == 1 and drive.hysteresis
        return replace(drive, mu=0.01, terms=(*drive.terms, "mu")) if on_one else drive

    q = np.array(mech.arm.home)
    tau = _held(mech, q)

    def step(parameters: Parameters) -> TimedCall:
        sim = Simulator(mech.arm.name, parameters, timestep=TIMESTEP)
        return _repeated(partial(sim.step, tau), steps, partial(sim.reset, q))

    parameters = load_parameters(mech.arm.name)
    drives = [with_memory(drive) for drive in parameters.drives]
    return {
        "step_with_hysteresis": step(replace(parameters, drives=tuple(drives))),
        "step_with_load_friction": step(replace(parameters, drives=tuple(with_load(drive) for drive in drives))),
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
