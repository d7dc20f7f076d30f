"""How fast trocar is, beside the bare library calls it stands on, timed in the same run.

A ratio compares like with like on any machine: rounds of all calls are interleaved, each ratio is taken within a round,
and the median over the rounds is reported.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

from trocar.appearance.endoscope_camera import StereoEndoscope
from trocar.arms.parameter_file import to_toml
from trocar.arms.parameters import Dahl, Drive, Parameters, load_parameters
from trocar.control import JointPD, hold
from trocar.errors import TrocarError
from trocar.files import write_whole
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.pinocchio_tree import PinocchioTree
from trocar.simulation import Scene, Simulator, load_scene
from trocar.simulation.run import simulate
from trocar.spatial import Array

Call = Callable[[], object]

TIMESTEP = 1e-3  # [s]
STEREO_RATE = 30.0  # pairs of images [1/s]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing to time: `run` does the work of `size` units; `prepare` puts everything back, untimed."""

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
    """Named figures, units in the names: `_us` microseconds per call, `_us_per_...` per item, `_over_` ratios.

    Args:
        rounds: how often everything is timed; the median counts.
        steps: calls per round of what handles one state. batch: states or poses of what handles many.
        progress: called with the fraction done.
    """
    if min(rounds, steps, batch) < 1:
        raise TrocarError(f"rounds, steps and batch must be 1 or more, got {rounds}, {steps} and {batch}")
    mech = load_mechanism(arm)
    cases = _simulation_cases(mech, steps) | _friction_cases(mech, steps) | _mechanics_cases(mech, steps, batch)
    us = _timed(cases, rounds, progress)
    median = {name: float(np.median(values)) for name, values in us.items()}

    def ratio(name: str, bare: str) -> float:
        return float(np.median(us[name] / us[bare]))

    found = {
        "mj_step_us": median["mj_step"],
        "step_us": median["step"],
        "step_over_mj_step": ratio("step", "mj_step"),
        "real_time_factor": TIMESTEP * 1e6 / median["step"],
        "step_with_joint_pd_us": median["step_with_joint_pd"],
        "step_with_joint_pd_over_mj_step": ratio("step_with_joint_pd", "mj_step"),
        "real_time_factor_with_joint_pd": TIMESTEP * 1e6 / median["step_with_joint_pd"],
        "step_with_hysteresis_us": median["step_with_hysteresis"],
        "step_with_hysteresis_over_mj_step": ratio("step_with_hysteresis", "mj_step"),
        "step_with_load_friction_us": median["step_with_load_friction"],
        "step_with_load_friction_over_mj_step": ratio("step_with_load_friction", "mj_step"),
        "simulate_us_per_step": median["simulate"],
        "simulate_over_mj_step": ratio("simulate", "mj_step"),
        "mj_step_runge_kutta_us": median["mj_step_runge_kutta"],
        "exact_step_us": median["exact_step"],
        "exact_step_over_mj_step_runge_kutta": ratio("exact_step", "mj_step_runge_kutta"),
        "pinocchio_bare_us": median["pinocchio"],
        "terms_us": median["terms"],
        "terms_over_pinocchio": ratio("terms", "pinocchio"),
        "terms_batch_us_per_state": median["terms_batch"],
        "terms_batch_over_terms": ratio("terms_batch", "terms"),
        "terms_batch_over_pinocchio": ratio("terms_batch", "pinocchio"),
        "inverse_dynamics_us": median["inverse_dynamics"],
        "regressor_us": median["regressor"],
        "regressor_batch_us_per_state": median["regressor_batch"],
        "pinocchio_fk_us": median["pinocchio_fk"],
        "fk_us": median["fk"],
        "fk_batch_us_per_state": median["fk_batch"],
        "fk_batch_over_pinocchio_fk": ratio("fk_batch", "pinocchio_fk"),
        "ik_us": median["ik"],
        "ik_batch_us_per_pose": median["ik_batch"],
    }
    return {f"{arm.lower()}_{name}": value for name, value in found.items()}


def step_figures(arm: str, rounds: int = 15, steps: int = 400) -> dict[str, float]:
    """The figures of `figures` that say how fast the simulator steps, for another arm."""
    cases = _simulation_cases(load_mechanism(arm), steps)
    us = _timed({name: cases[name] for name in ("mj_step", "step")}, rounds, None)
    step = float(np.median(us["step"]))
    found = {
        "mj_step_us": float(np.median(us["mj_step"])),
        "step_us": step,
        "step_over_mj_step": float(np.median(us["step"] / us["mj_step"])),
        "real_time_factor": TIMESTEP * 1e6 / step,
    }
    return {f"{arm.lower()}_{name}": value for name, value in found.items()}


def scene_figures(name: str = "cart_classic", rounds: int = 15, steps: int = 400) -> dict[str, float]:
    """How fast a scene steps, all arms held where they start, beside one PSM and the bare engine in the same run.

    With stereo: 33 steps of 1 ms, then both images of an endoscope, 640 x 480, without shadows and multisampling; left
    out where nothing can be rendered.
    """
    scene = load_scene(name, timestep=TIMESTEP)
    tau = {}
    for key, arm in scene.arms.items():
        mech = load_mechanism(arm.arm.name, gravity=arm.gravity_vector)
        tau[key] = mech.gravity(arm.q) + mech.friction(arm.q, np.zeros(arm.n))
    bare = mujoco.MjData(scene.model)

    def prepare() -> None:
        scene.reset()
        scene.step(tau)
        mujoco.mj_copyData(bare, scene.model, scene.data)

    def step() -> None:
        for _ in range(steps):
            scene.step(tau)

    def mj_step() -> None:
        for _ in range(steps):
            mujoco.mj_step(scene.model, bare)

    cases = {
        "psm_step": _simulation_cases(load_mechanism("PSM"), steps)["step"],
        "mj_step": Case(run=mj_step, size=steps, prepare=prepare),
        "step": Case(run=step, size=steps, prepare=prepare),
    }
    stereo = _stereo(scene)
    if stereo is not None:
        cases["stereo_pair"] = Case(run=stereo.pair, size=1)
    us = _timed(cases, rounds, None)
    median = {case: float(np.median(values)) for case, values in us.items()}
    found = {
        "mj_step_us": median["mj_step"],
        "step_us": median["step"],
        "step_over_mj_step": float(np.median(us["step"] / us["mj_step"])),
        "step_over_psm_step": float(np.median(us["step"] / us["psm_step"])),
        "real_time_factor": TIMESTEP * 1e6 / median["step"],
    }
    if stereo is not None:
        period = 1e6 / STEREO_RATE
        found["stereo_pair_us"] = median["stereo_pair"]
        found["real_time_factor_with_stereo"] = period / (
            median["stereo_pair"] + period * 1e-6 / TIMESTEP * median["step"]
        )
    return {f"scene_{name}_{key}": value for key, value in found.items()}


def _stereo(scene: Scene) -> StereoEndoscope | None:
    """The endoscope of a scene that has one, if anything can be rendered here."""
    try:
        stereo = StereoEndoscope(scene)
        stereo.pair()
    except TrocarError:
        return None
    return stereo


def _timed(cases: dict[str, Case], rounds: int, progress: Callable[[float], None] | None) -> dict[str, Array]:
    """Microseconds per unit of every case, one value per round; a round before the first warms up."""
    us = {name: np.empty(rounds) for name in cases}
    for i in range(-1, rounds):
        for name, case in cases.items():
            case.prepare()
            start = time.perf_counter()
            case.run()
            duration = time.perf_counter() - start
            if i >= 0:
                us[name][i] = duration * 1e6 / case.size
        if progress is not None:
            progress((i + 2) / (rounds + 1))
    return us


def _simulation_cases(mech: Mechanism, steps: int) -> dict[str, Case]:
    """The engine, the arm held in place, jaws open; the bare call does the same steps on the same model."""
    name = mech.arm.name
    sim = Simulator(name, timestep=TIMESTEP)
    exact = Simulator(name, timestep=TIMESTEP, accuracy="exact")
    q = np.array(mech.arm.home)
    q[mech.arm.tip_joints :] = 0.5
    tau = mech.gravity(q) + mech.friction(q, np.zeros_like(q))
    kp, kd = np.diag(mech.mass_matrix(q)) * 30.0**2, np.diag(mech.mass_matrix(q)) * 60.0
    bare, bare_exact = (mujoco.MjData(s.model) for s in (sim, exact))

    def step() -> None:
        for _ in range(steps):
            sim.step(tau)

    def step_with_joint_pd() -> None:
        qd = q
        for _ in range(steps):
            sim.step(kp * (qd - sim.q) - kd * sim.dq)

    def exact_step() -> None:
        for _ in range(steps):
            exact.step(tau)

    def mj_step(model: mujoco.MjModel, data: mujoco.MjData) -> Call:
        def run() -> None:
            for _ in range(steps):
                mujoco.mj_step(model, data)

        return run

    def copy(simulator: Simulator, data: mujoco.MjData) -> Call:
        """Bring `data` to where the simulator starts: one step taken, so that efforts and loads are set."""

        def prepare() -> None:
            simulator.reset(q)
            simulator.step(tau)
            mujoco.mj_copyData(data, simulator.model, simulator.data)

        return prepare

    return {
        "mj_step": Case(run=mj_step(sim.model, bare), size=steps, prepare=copy(sim, bare)),
        "step": Case(run=step, size=steps, prepare=copy(sim, bare)),
        "step_with_joint_pd": Case(run=step_with_joint_pd, size=steps, prepare=copy(sim, bare)),
        "simulate": Case(
            run=lambda: simulate(sim, JointPD(kp, kd), hold(q), steps * TIMESTEP),
            size=steps,
            prepare=copy(sim, bare),
        ),
        "mj_step_runge_kutta": Case(run=mj_step(exact.model, bare_exact), size=steps, prepare=copy(exact, bare_exact)),
        "exact_step": Case(run=exact_step, size=steps, prepare=copy(exact, bare_exact)),
    }


def _friction_cases(mech: Mechanism, steps: int) -> dict[str, Case]:
    """The same arm with three Dahl elements for every Coulomb friction; and with friction of the arm by load too."""

    def with_memory(drive: Drive) -> Drive:
        elements = (Dahl(delta, drive.Fc / 3.0) for delta in (2e-3, 1e-2, 5e-2))
        return replace(drive, Fc=0.0, hysteresis=tuple(elements) if drive.Fc else ())

    def with_load(drive: Drive) -> Drive:
        on_one = len(drive.joints) == 1 and drive.hysteresis
        return replace(drive, mu=0.01, terms=(*drive.terms, "mu")) if on_one else drive

    q = np.array(mech.arm.home)
    tau = mech.gravity(q) + mech.friction(q, np.zeros_like(q))

    def case(parameters: Parameters) -> Case:
        with tempfile.TemporaryDirectory() as folder:
            path = write_whole(Path(folder) / "bench.toml", to_toml(parameters))
            sim = Simulator(mech.arm.name, path, timestep=TIMESTEP)

        def run() -> None:
            for _ in range(steps):
                sim.step(tau)

        return Case(run=run, size=steps, prepare=lambda: sim.reset(q))

    parameters = load_parameters(mech.arm.name)
    drives = [with_memory(drive) for drive in parameters.drives]
    return {
        "step_with_hysteresis": case(replace(parameters, drives=tuple(drives))),
        "step_with_load_friction": case(replace(parameters, drives=tuple(with_load(drive) for drive in drives))),
    }


def _mechanics_cases(mech: Mechanism, steps: int, batch: int) -> dict[str, Case]:
    """The equations, for one state at a time and for a batch; the bare calls are Pinocchio's on the same tree."""
    rng = np.random.default_rng(0)
    arm = mech.arm
    # the yardstick is the whole tree; the mechanism itself leaves massless links out
    tree = PinocchioTree(arm.bodies, mech.tree_inertia, arm.E, mech.gravity_vector, whole=True)
    # in the middle of the limits, where every pose can be reached and no singularity is near
    q = rng.uniform(0.7 * arm.lower + 0.3 * arm.upper, 0.3 * arm.lower + 0.7 * arm.upper, (batch, arm.n))
    dq, ddq = rng.normal(size=(2, batch, arm.n))
    T = mech.forward_kinematics(q)
    one, d_one, dd_one, T_one = q[0], dq[0], ddq[0], T[0]
    q_tree, dq_tree = arm.E @ one, arm.E @ d_one

    def pinocchio() -> None:
        pin.crba(tree.model, tree.data, q_tree)
        pin.nonLinearEffects(tree.model, tree.data, q_tree, dq_tree)
        pin.computeGeneralizedGravity(tree.model, tree.data, q_tree)

    def repeated(call: Call) -> Case:
        def run() -> None:
            for _ in range(steps):
                call()

        return Case(run=run, size=steps)

    return {
        "pinocchio": repeated(pinocchio),
        "terms": repeated(lambda: mech.terms(one, d_one)),
        "terms_batch": Case(run=lambda: mech.terms(q, dq), size=batch),
        "inverse_dynamics": repeated(lambda: mech.inverse_dynamics(one, d_one, dd_one)),
        "regressor": _fewer(lambda: mech.regressor(one, d_one, dd_one), steps),
        "regressor_batch": Case(run=lambda: mech.regressor(q, dq, ddq), size=batch),
        "pinocchio_fk": repeated(lambda: pin.forwardKinematics(tree.model, tree.data, q_tree)),
        "fk": _fewer(lambda: mech.forward_kinematics(one), steps),
        "fk_batch": Case(run=lambda: mech.forward_kinematics(q), size=batch),
        "ik": _fewer(lambda: mech.inverse_kinematics(T_one, one), steps),
        "ik_batch": Case(run=lambda: mech.inverse_kinematics(T, q), size=batch),
    }


def _fewer(call: Call, steps: int) -> Case:
    """Calls that take longer are repeated less."""
    count = max(1, steps // 20)

    def run() -> None:
        for _ in range(count):
            call()

    return Case(run=run, size=count)
