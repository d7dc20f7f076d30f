"""The first thing a newcomer runs: the PSM under torque control beside published figures, arms checked, pictures."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from trocar.appearance import render
from trocar.arms import ARMS
from trocar.control import JointPID
from trocar.control.trajectories import step_to
from trocar.errors import NearSingular, TrocarError
from trocar.experiments import demo_spiral
from trocar.experiments.skeleton import draw
from trocar.mechanics import Mechanism, load_mechanism
from trocar.plots import style
from trocar.report import Claim, Report
from trocar.simulation import Simulator, simulate
from trocar.spatial import Array, pose_error

STATES = 2000
RESIDUALS = {  # what it is: allowed, unit
    "tip, closed chain = serial": (1e-12, "m"),
    "loop closure": (1e-12, "m"),
    "insertion axis from RCM": (1e-12, "m"),
    "inverse kinematics": (1e-9, "m"),
    "inverse kinematics, rotation": (1e-9, "rad"),
}


def run(output: Path, progress: Callable[[float], None] = lambda fraction: None) -> Report:
    """The PSM on a spiral under torque control, checks of all six arms, and pictures.

    The film is written into `output`; the report is the caller's to write.
    """
    report = Report("trocar: the da Vinci Research Kit, simulated", figures_first=True)
    report.paragraphs.append(
        "The PSM, a closed chain in MuJoCo, follows the spiral of Ferro et al. 2022 by feedback linearisation, once "
        "with and once without its counterweight, which the controller's model always has. Torque errors are RMS of "
        "engine less model from 0.5 s on, beside those printed there. The arms are checked in "
        f"{STATES} random states within the joint limits."
    )
    for claim in demo_spiral.show(report, output, lambda fraction: progress(0.7 * fraction)):
        report.add_claim(claim)
    for claim in (*_engine_against_equations(), *_checks()):
        report.add_claim(claim)
    progress(0.9)
    try:
        report.add_figure(_pictures(), "The PSM in MuJoCo, every link of its closed chain a body of its own.")
    except TrocarError as error:
        report.paragraphs.append(f"Not rendered: {error}")
    report.add_figure(
        _step_responses(),
        "A step of every joint (dashed) under the dVRK's own controller: published PID gains, 1500 Hz, one sample of "
        "delay.",
    )
    rng = np.random.default_rng(0)
    report.add_figure(_psm_figure(rng), "PSM: the double parallelogram turns about a fixed point, the trocar (RCM).")
    report.add_figure(_arms_figure(), "The six arms at home, drawn from the same tables.")
    progress(1.0)
    return report


def _checks() -> list[Claim]:
    """Closed chain against the dVRK's serial table, and inverse against forward kinematics, the worst of all arms."""
    rng, worst = np.random.default_rng(0), dict[str, float]()
    for name in ARMS:
        for label, value in _residuals(load_mechanism(name), rng).items():
            worst[label] = max(worst.get(label, 0.0), value)
    source = "own check: two descriptions of the same arm agree"
    return [
        _check(f"six arms: {label}", value, *(RESIDUALS[label]), source, "largest of all arms")
        for label, value in worst.items()
    ]


def _residuals(mechanism: Mechanism, rng: np.random.Generator) -> dict[str, float]:
    """Largest residual of each kind over random states."""
    arm = mechanism.arm
    q = rng.uniform(arm.lower, arm.upper, (STATES, arm.n))
    T = mechanism.forward_kinematics(q)
    with warnings.catch_warnings():  # random states include singular ones, which the solver points out
        warnings.simplefilter("ignore", NearSingular)
        error = pose_error(T, mechanism.forward_kinematics(mechanism.inverse_kinematics(T, q + 0.01)))
    values = (
        np.linalg.norm((mechanism.pose(q) - T)[:, :3, 3], axis=-1),
        mechanism.loop_residual(q),
        mechanism.rcm_residual(q) if arm.has_rcm else np.zeros(1),
        np.linalg.norm(error[:, :3], axis=-1),
        np.linalg.norm(error[:, 3:], axis=-1),
    )
    return {label: float(value.max()) for label, value in zip(RESIDUALS, values, strict=True)}


def _engine_against_equations() -> list[Claim]:
    """One second of free motion: the closed chain in MuJoCo against the reduced equations, integrated to 1e-10."""
    mechanism = load_mechanism("PSM")
    sim = Simulator("PSM", friction=False, limits=False, contacts=False, accuracy="exact")
    q, dq = np.array([0.6, -0.5, 0.05, 0, 0, 0, 0]), np.array([-1.0, 1.0, 0.1, 0, 0, 0, 0])
    sim.reset(q, dq)
    start = mechanism.kinetic_energy(q, dq) + mechanism.potential_energy(q)
    rcm = 0.0
    for _ in range(1000):
        sim.step(np.zeros(7))
        rcm = max(rcm, sim.rcm_error())

    def rate(_: float, x: Array) -> Array:
        return np.concatenate([x[7:], mechanism.forward_dynamics(x[:7], x[7:], np.zeros(7))])

    end = solve_ivp(rate, (0.0, 1.0), np.concatenate([q, dq]), method="DOP853", rtol=1e-10, atol=1e-12).y[:7, -1]
    energy = mechanism.kinetic_energy(sim.q, sim.dq) + mechanism.potential_energy(sim.q) - start
    rows = (
        ("angle", np.abs(sim.q - end)[[0, 1]].max(), 1e-6, "rad"),
        ("insertion", abs(sim.q[2] - end[2]), 1e-7, "m"),
        ("RCM", rcm, 1e-7, "m"),
        ("energy", abs(float(energy)), 1e-5, "J"),
    )
    source = "own check: closed chain in MuJoCo against equations in reduced coordinates"
    return [_check(f"PSM: two engines, 1 s, {label}", value, bound, unit, source) for label, value, bound, unit in rows]


def _check(name: str, value: float, bound: float, unit: str, source: str, note: str = "") -> Claim:
    """A difference that has to be zero, up to a bound."""
    return Claim(
        id=name,
        published=0.0,
        ours=float(value),
        unit=unit,
        relation="at_most",
        tolerance=bound,
        source=source,
        note=note,
    )


def _pictures() -> Figure:
    sim = Simulator("PSM")
    sim.reset([0.3, 0.25, 0.15, 0.4, 0.3, 0.2, 0.6])
    with style():
        figure = Figure(figsize=(11.0, 4.4))
        for axes, camera in zip(figure.subplots(1, 2), ("iso", "tip"), strict=True):
            axes.imshow(render(sim, camera, (900, 720)))
            axes.axis("off")
    return figure


def _step_responses() -> Figure:
    sim = Simulator("PSM", timestep=1 / 1500, motor_limits=True)
    start, step = _psm(), np.array([0.05, 0.05, 0.005, 0.1, 0.1, 0.1, 0.1])
    sim.reset(start)
    recording = simulate(sim, JointPID(sim.arm, delay=1), step_to(start, start + step, 0.05), 0.5)
    with style():
        figure = Figure(figsize=(11.0, 2.6))
        for j, axes in enumerate(figure.subplots(1, 7)):
            axes.plot(recording.t, recording.q[:, j] - start[j])
            axes.axhline(step[j], color="k", lw=0.6, ls="--")
            axes.set(title=f"{sim.arm.joint_names[j]} [{recording.joint_units[j]}]", xlabel="t [s]")
    return figure


def _psm_figure(rng: np.random.Generator) -> Figure:
    mechanism = load_mechanism("PSM")
    with style():
        figure = Figure(figsize=(11.0, 5.2))
        side = figure.add_subplot(1, 2, 1)
        for pitch in (-0.75, -0.4, 0.4, 0.75, 0.0):
            draw(side, mechanism, _psm(pitch=pitch, insertion=0.12), alpha=1.0 if pitch == 0.0 else 0.22)
        side.plot(0, 0, "o", color="k", ms=6, zorder=10)
        side.annotate("RCM (trocar)", (0, 0), (10, 4), textcoords="offset points")
        side.set(
            title="Pitch from -43 to 43 deg: every link, side view",
            xlabel="y [m]",
            ylabel="z [m]",
            aspect="equal",
        )
        space = figure.add_subplot(1, 2, 2, projection="3d")
        q = rng.uniform(mechanism.arm.lower, mechanism.arm.upper, (4000, 7))
        tips = mechanism.forward_kinematics(q)[:, :3, 3]
        space.scatter(*tips.T, s=1.2, c=tips[:, 2], cmap="viridis", alpha=0.35, linewidths=0)
        for yaw, pitch, insertion in ((0.0, 0.0, 0.12), (0.9, 0.4, 0.2), (-0.9, -0.4, 0.05)):
            draw(space, mechanism, _psm(yaw=yaw, pitch=pitch, insertion=insertion), alpha=0.95, width=2.2)
        space.set(
            title="Three configurations and the reach of the tip",
            xlabel="x [m]",
            ylabel="y [m]",
            zlabel="z [m]",
        )
        space.set_aspect("equal")
        space.set_box_aspect(None, zoom=1.2)
        space.view_init(elev=18, azim=-32)
    return figure


def _arms_figure() -> Figure:
    with style():
        figure = Figure(figsize=(11.0, 6.0))
        for axes, name in zip(figure.subplots(2, 3).flat, ARMS, strict=True):
            mechanism = load_mechanism(name)
            draw(axes, mechanism, np.array(mechanism.arm.home), width=2.8)
            axes.plot(0, 0, "o", color="k", ms=5, zorder=10)
            axes.annotate("RCM" if mechanism.arm.has_rcm else "base", (0, 0), (6, 4), textcoords="offset points")
            axes.set(title=f"{name} ({mechanism.arm.geometry})", xlabel="y [m]", ylabel="z [m]", aspect="equal")
            axes.margins(0.12)
    return figure


def _psm(yaw: float = 0.0, pitch: float = 0.0, insertion: float = 0.12) -> Array:
    return np.array([yaw, pitch, insertion, 0.0, 0.3, 0.2, 0.4])
