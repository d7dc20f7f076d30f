"""The demo: the PSM under torque control compared with published errors, checks of all arms, pictures."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy

from trocar.arms import ARMS
from trocar.demo import figures, spiral
from trocar.demo.spiral import TABLE
from trocar.errors import NearSingular, TrocarError
from trocar.mechanics import Mechanism, load_mechanism
from trocar.report import Claim, Report
from trocar.simulation import Simulator
from trocar.spatial import Array, pose_error

STATES = 2000
NEXT_STEPS = [
    ("trocar view PSM", "drive an arm in the browser: drag its tip, switch off the counterweight, push it"),
    ("trocar run my_script.py", "run a Python script for the dVRK without ROS or a robot"),
    ("trocar excite --arm PSM -o excitation", "find a motion that identifies an arm, and rehearse it"),
    ("trocar teleop --master keyboard", "move the instruments with a keyboard; gamepads and phones are masters too"),
    ("trocar reproduce", "compute the results of six publications again"),
    ("trocar --help", "list all commands"),
]


def run(output: Path, progress: Callable[[float], None] = lambda fraction: None) -> Report:
    """Simulate the PSM on a spiral under torque control, check all six arms and draw pictures.

    The film is written to `output`; the caller writes the report.
    """
    report = Report("trocar: a simulation of the da Vinci Research Kit")
    report.paragraphs.append(TABLE.text("introduction", states=STATES))
    report.next_steps += NEXT_STEPS
    report.add_claims(spiral.show(report, output, lambda fraction: progress(0.7 * fraction)))
    report.add_claims([*engine_against_equations(), *checks()])
    progress(0.9)
    try:
        report.add_figure(figures.pictures(), TABLE.text("pictures"))
    except TrocarError as error:
        report.paragraphs.append(f"Not rendered: {error}")
    report.add_figure(figures.step_responses(), TABLE.text("step"))
    report.add_figure(figures.psm_poses(), TABLE.text("poses"))
    report.add_figure(figures.six_arms(), TABLE.text("arms"))
    progress(1.0)
    return report


def checks() -> list[Claim]:
    """Claims: closed chain against the dVRK's serial table, inverse against forward kinematics; worst of all arms."""
    rng = np.random.default_rng(0)
    worst = np.max([_residuals(load_mechanism(name), rng) for name in ARMS], axis=0)
    return TABLE.claims("six arms: {row}", worst)


def _residuals(mechanism: Mechanism, rng: np.random.Generator) -> list[float]:
    """Largest residual of each kind over random states, in the order of the table."""
    arm = mechanism.arm
    q = rng.uniform(arm.lower, arm.upper, (STATES, arm.n))
    T = mechanism.forward_kinematics(q)
    with warnings.catch_warnings():  # the solver warns of singular states, which random ones include
        warnings.simplefilter("ignore", NearSingular)
        error = pose_error(T, mechanism.forward_kinematics(mechanism.inverse_kinematics(T, q + 0.01)))
    values = (
        np.linalg.norm((mechanism.pose(q) - T)[:, :3, 3], axis=-1),
        mechanism.loop_residual(q),
        mechanism.rcm_residual(q) if arm.has_rcm else np.zeros(1),
        np.linalg.norm(error[:, :3], axis=-1),
        np.linalg.norm(error[:, 3:], axis=-1),
    )
    return [float(value.max()) for value in values]


def engine_against_equations() -> list[Claim]:
    """One second of free motion: the closed chain in MuJoCo against the reduced equations, integrated to 1e-10."""
    sim = Simulator("PSM", friction=False, limits=False, contacts=False, accuracy="exact")
    mechanism = sim.mechanism
    q, dq = np.array([0.6, -0.5, 0.05, 0, 0, 0, 0]), np.array([-1.0, 1.0, 0.1, 0, 0, 0, 0])
    sim.reset(q, dq)
    start = mechanism.kinetic_energy(q, dq) + mechanism.potential_energy(q)
    rcm = 0.0
    for _ in range(1000):
        sim.step(np.zeros(7))
        rcm = max(rcm, sim.rcm_error())

    def rate(_: float, x: Array) -> Array:
        return np.concatenate([x[7:], mechanism.forward_dynamics(x[:7], x[7:], np.zeros(7))])

    end = scipy.integrate.solve_ivp(
        rate, (0.0, 1.0), np.concatenate([q, dq]), method="DOP853", rtol=1e-10, atol=1e-12
    ).y[:7, -1]
    energy = mechanism.kinetic_energy(sim.q, sim.dq) + mechanism.potential_energy(sim.q) - start
    differences = (np.abs(sim.q - end)[[0, 1]].max(), abs(sim.q[2] - end[2]), rcm, abs(float(energy)))
    return TABLE.claims("PSM: two engines, 1 s, {row}", differences)
