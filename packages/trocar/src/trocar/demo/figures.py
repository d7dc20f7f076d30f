"""Figures of the demo: the rendered PSM, its step response and poses, and the six arms."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from trocar.appearance import render
from trocar.appearance.figures import draw
from trocar.arms import ARMS
from trocar.control import JointPID
from trocar.control.trajectories import step_to
from trocar.mechanics import load_mechanism
from trocar.plots import COLOURS, panels, style
from trocar.simulation import Simulator, simulate
from trocar.spatial import Array


@style()
def pictures() -> Figure:
    """The PSM in MuJoCo, as a whole and close to the tip."""
    sim = Simulator("PSM")
    sim.reset([0.3, 0.25, 0.15, 0.4, 0.3, 0.2, 0.6])
    figure, grid = panels((11.0, 4.4), 1, 2)
    for axes, camera in zip(grid, ("iso", "tip"), strict=True):
        axes.imshow(render(sim, camera, (900, 720)))
        axes.axis("off")
    return figure


@style()
def step_responses() -> Figure:
    """A step of every joint under the dVRK's PID."""
    sim = Simulator("PSM", timestep=1 / 1500, motor_limits=True)
    start, step = _psm(), np.array([0.05, 0.05, 0.005, 0.1, 0.1, 0.1, 0.1])
    sim.reset(start)
    recording = simulate(sim, JointPID(sim.arm, delay=1), step_to(start, start + step, 0.05), 0.5)
    figure, grid = panels((11.0, 2.6), 1, 7)
    for j, axes in enumerate(grid):
        axes.plot(recording.t, recording.q[:, j] - start[j])
        axes.axhline(step[j], color="k", lw=0.6, ls="--")
        axes.set(title=f"{sim.arm.joint_names[j]} [{recording.joint_units[j]}]", xlabel="t [s]")
    return figure


@style()
def psm_poses() -> Figure:
    """The double parallelogram at several pitch angles, and the reach of the tip."""
    mechanism = load_mechanism("PSM")
    figure = Figure(figsize=(11.0, 5.2))
    side = figure.add_subplot(1, 2, 1)
    for pitch in (-0.75, -0.4, 0.4, 0.75, 0.0):
        draw(side, mechanism, _psm(pitch=pitch, insertion=0.12), alpha=1.0 if pitch == 0.0 else 0.22)
    side.plot(0, 0, "o", color="k", ms=6, zorder=10)
    side.annotate("RCM (trocar)", (0, 0), (10, 4), textcoords="offset points")
    side.set(title="Pitch from -43 to 43 deg: every link, side view", xlabel="y [m]", ylabel="z [m]", aspect="equal")
    space = figure.add_subplot(1, 2, 2, projection="3d")
    q = np.random.default_rng(0).uniform(mechanism.arm.lower, mechanism.arm.upper, (4000, 7))
    tips = mechanism.forward_kinematics(q)[:, :3, 3]
    space.scatter(*tips.T, s=5.0, color=COLOURS[0], alpha=0.5, linewidths=0, label="tip positions")
    for yaw, pitch, insertion in ((0.0, 0.0, 0.12), (0.9, 0.4, 0.2), (-0.9, -0.4, 0.05)):
        draw(space, mechanism, _psm(yaw=yaw, pitch=pitch, insertion=insertion), alpha=0.95, width=2.2)
    title = "Three configurations and the workspace of the tip"
    space.set(title=title, xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    space.set_aspect("equal")
    space.set_box_aspect(None, zoom=1.2)
    space.legend(loc="upper left", fontsize="small")
    space.view_init(elev=18, azim=-32)
    return figure


@style()
def six_arms() -> Figure:
    """Every arm in its home position, side view."""
    figure, grid = panels((11.0, 6.0), 2, 3)
    for axes, name in zip(grid.flat, ARMS, strict=True):
        mechanism = load_mechanism(name)
        draw(axes, mechanism, np.array(mechanism.arm.home), width=2.8)
        axes.plot(0, 0, "o", color="k", ms=5, zorder=10)
        axes.annotate("RCM" if mechanism.arm.has_rcm else "base", (0, 0), (6, 4), textcoords="offset points")
        axes.set(title=f"{name} ({mechanism.arm.geometry})", xlabel="y [m]", ylabel="z [m]", aspect="equal")
        axes.margins(0.12)
    return figure


def _psm(yaw: float = 0.0, pitch: float = 0.0, insertion: float = 0.12) -> Array:
    return np.array([yaw, pitch, insertion, 0.0, 0.3, 0.2, 0.4])
