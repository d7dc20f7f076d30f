"""Figures of the report on Patel et al. 2018."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from trocar.appearance.figures import draw
from trocar.arms import Arm
from trocar.control.trajectories import Following, Polynomial
from trocar.mechanics import Mechanism
from trocar.plots import panels, style
from trocar.spatial import Array


@style()
def convergence(curves: Mapping[str, Array]) -> Figure:
    """Position error over iterations."""
    figure, axes = panels((7.0, 3.6))
    for label, errors in curves.items():
        axes.semilogy(np.arange(len(errors)), errors, label=label)
    axes.axhline(1e-15, color="k", lw=0.8, ls="--", label="closed form")
    axes.set(xlabel="iteration", ylabel="position error [m]", ylim=(1e-17, 1.0))
    axes.legend()
    return figure


@style()
def motion(reference: Polynomial, arm: Arm) -> Figure:
    """Position, velocity and acceleration of yaw, pitch and insertion."""
    t = np.linspace(0.0, reference.duration, 200)
    setpoints = [reference(s) for s in t]
    figure = Figure(figsize=(10.0, 3.0))
    titles = ("position [rad, m]", "velocity [rad/s, m/s]", "acceleration [rad/s², m/s²]")
    for axes, key, title in zip(figure.subplots(1, 3), ("q", "dq", "ddq"), titles, strict=True):
        values = np.array([getattr(s, key) for s in setpoints])
        for j in range(3):
            axes.plot(t, values[:, j], label=arm.joint_names[j])
        axes.set(title=title, xlabel="t [s]")
    axes.legend()
    return figure


@style()
def straight_line(mechanism: Mechanism, reference: Following) -> Figure:
    """The arm while its tip follows a line, and the joint positions."""
    t = np.linspace(0.0, reference.duration, 120)
    q = np.array([reference(s).q for s in t])
    tip = mechanism.forward_kinematics(q)[:, :3, 3]
    figure = Figure(figsize=(10.0, 4.2))
    space = figure.add_subplot(1, 2, 1, projection="3d")
    for k in (0, 40, 80, 119):
        draw(space, mechanism, q[k], alpha=0.35 + 0.15 * k / 40, width=1.8)
    space.plot(*tip.T, color="#D55E00", lw=2.5)
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", xticks=(-0.1, 0.0, 0.1))
    space.set_aspect("equal")
    space.view_init(elev=18, azim=-32)
    axes = figure.add_subplot(1, 2, 2)
    for j in range(3):
        axes.plot(t, q[:, j], label=mechanism.arm.joint_names[j])
    axes.set(xlabel="t [s]", ylabel="joint [rad, m]")
    axes.legend()
    return figure


@style()
def torques(t: Array, curves: Sequence[tuple[Array, Array]], arm: Arm) -> Figure:
    """Effort of the moving joint along t^3: point masses and identified parameters."""
    figure = Figure(figsize=(10.0, 5.0))
    for j, (axes, (points, identified)) in enumerate(zip(figure.subplots(2, 3).flat, curves, strict=True)):
        axes.plot(t, points[:, j], label="point masses")
        axes.plot(t, identified[:, j], label="identified")
        unit = arm.joints[j].effort_unit
        axes.set(title=f"{arm.joint_names[j]} [{unit}]", xlabel="t [s]")
    axes.legend()
    return figure


@style()
def workspace(mechanism: Mechanism) -> Figure:
    """Tip positions over yaw, and over yaw and insertion, from the limits of the arm."""
    arm = mechanism.arm
    yaw = np.linspace(arm.lower[0], arm.upper[0], 60)
    insertion = np.linspace(arm.lower[2], arm.upper[2], 25)
    figure = Figure(figsize=(9.0, 2.9))
    for k, depths in enumerate((np.array([0.12]), insertion)):
        q = np.zeros((len(yaw) * len(depths), 7))
        q[:, 0], q[:, 2] = np.repeat(yaw, len(depths)), np.tile(depths, len(yaw))
        p = mechanism.forward_kinematics(q)[:, :3, 3]
        axes = figure.add_subplot(1, 2, k + 1)
        axes.scatter(p[:, 0], p[:, 2], s=4)
        axes.plot(0, 0, "o", color="k")
        axes.annotate("RCM", (0, 0), (6, 6), textcoords="offset points")
        axes.set(title="yaw" if k == 0 else "yaw and insertion", xlabel="x [m]", ylabel="z [m]", aspect="equal")
    return figure
