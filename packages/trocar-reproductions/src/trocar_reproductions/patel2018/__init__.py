"""Patel et al. 2018: kinematic and dynamic analysis of the PSM (their "MATLAB-based robot analysis")."""

from __future__ import annotations

from functools import cache

import numpy as np

from trocar.appearance.figures import cloud_figure
from trocar.control.trajectories import Following, Polynomial, cubic, line, through
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.singularities import singularity
from trocar.report import Claim, Report
from trocar.report.claim_table import ClaimTable
from trocar.spatial import Array
from trocar_reproductions.experiment import Context, Experiment
from trocar_reproductions.patel2018 import figures, model
from trocar_reproductions.patel2018.model import (
    JOINTS,
    RCM,
    gradient_descent,
    point_mass_parameters,
    table,
    torque_along,
)

TABLE = ClaimTable("trocar_reproductions.patel2018")
# Start and goal of the inverse kinematics by gradient descent [rad, m]
START, GOAL = np.array([0.0, 0.0, 0.1, 0, 0, 0, 0]), np.array([0.4, -0.3, 0.16, 0, 0, 0, 0])
ENDS = np.array([[0.6, 0.4, 10.0], [1.6, 0.4, 0.0]])  # of the trajectory of section II-B, in their base [m]
TABLE_I = np.array([[2.2322, 0.3428, 2.0459], [2.2293, 0.3424, 1.9459]])  # tip without and with the joint error [m]
TABLE_II = np.array([37.6800e-3, -78.3657e-3, -1.8340, 37.6800e-3, 29.3871e-3, 37.6800e-3])  # [N m, N]


def run(context: Context) -> Report:
    """Sections II and III, Tables I and II."""
    report = Report("Patel et al. 2018: kinematics and dynamics of the PSM")
    mechanism = load_mechanism("PSM")
    q = np.random.default_rng(0).uniform(mechanism.arm.lower, mechanism.arm.upper, (2000, 7))
    for text, claims in (
        ("forward kinematics by their table", lambda: _table_claims(mechanism, q[:300])),
        ("counterweight of their table", lambda: _counterweight_claims(q[:300])),
        ("inverse kinematics by gradient, and in closed form", lambda: _inverse_claims(mechanism, q)),
        ("Jacobian and singularities", lambda: _jacobian_claims(mechanism, q)),
        ("trajectories", lambda: _trajectory_claims(mechanism)),
        ("0.1 rad experiment", lambda: _error_claims(mechanism)),
        ("torques", lambda: _torque_claims(q)),
    ):
        context.progress(text)
        report.add_claims(claims())
    context.progress("figures")
    for name, figure in _figures(mechanism).items():
        report.add_figure(figure, TABLE.text(name))
    return report


def _table_claims(mechanism: Mechanism, states: Array) -> list[Claim]:
    def miss(corrected: bool) -> float:
        """Largest distance of the insertion axis from the RCM [m]."""
        T = np.array([table(q, corrected)[6] for q in states])
        return float(np.linalg.norm(np.cross(T[:, :3, 2], T[:, :3, 3] - RCM), axis=-1).max())

    # their x is the dVRK's y, their y its -x; frame 9 is the wrist yaw axis, the dVRK's tip
    x, y, z = np.array([table(q, corrected=True)[8][:3, 3] - RCM for q in states]).T
    off = np.linalg.norm(np.stack([-y, x, z], axis=-1) - mechanism.forward_kinematics(states)[:, :3, 3], axis=-1)
    return [
        TABLE.claim("fk/insertion axis meets the RCM, as printed", None, miss=miss(corrected=False)),
        TABLE.claim("fk/insertion axis meets the RCM, corrected", miss(corrected=True)),
        TABLE.claim("fk/tip equals the dVRK's, corrected", off.max()),
    ]


def _counterweight_claims(states: Array) -> list[Claim]:
    mechanism = load_mechanism("PSM", "gondokaryono2019")  # the geometry with their lengths
    back = mechanism.pose(states, "back")

    def in_theirs(v: Array) -> Array:
        """Vectors (N, 3) of the dVRK's base in their axes: their x is its y, their y its -x."""
        return np.stack([v[:, 1], -v[:, 0], v[:, 2]], axis=-1)

    poses = {
        corrected: [np.array(T) for T in zip(*(model.counterweight(q, corrected) for q in states), strict=True)]
        for corrected in (False, True)
    }
    C1, C2 = poses[True]
    apart = np.linalg.norm(C1[:, :3, 3] - RCM - in_theirs(back[:, :3, 3]), axis=-1).max()
    axis = np.linalg.norm(np.cross(C1[:, :3, 2], in_theirs(back[:, :3, 2])), axis=-1).max()
    insertion = np.array([table(q, corrected=True)[6][:3, 2] for q in states])

    def tilt(T: Array) -> float:
        """Largest angle between the sliding direction of C2 and the opposite of the insertion axis [rad]."""
        return float(np.arccos(np.clip(-np.sum(T[:, :3, 2] * insertion, axis=-1), -1.0, 1.0)).max())

    slides = in_theirs(mechanism.pose(states, "counterweight")[:, :3, 2])
    along = np.linalg.norm(np.cross(C2[:, :3, 2], slides), axis=-1)
    return [
        TABLE.claim("fk/C1 lies on the pitch axis", apart),
        TABLE.claim("fk/C1 turns about the pitch axis", axis),
        TABLE.claim("fk/C2 slides against the insertion, as printed", None, tilt=tilt(poses[False][1])),
        TABLE.claim("fk/C2 slides against the insertion, corrected", tilt(C2)),
        TABLE.claim("fk/C2 slides as the counterweight of the arm, corrected", along.max()),
    ]


def _inverse_claims(mechanism: Mechanism, q: Array) -> list[Claim]:
    target = mechanism.forward_kinematics(GOAL)[:3, 3]
    as_written, halved = (
        gradient_descent(mechanism, target, START, step, iterations)[-1]
        for step, iterations in ((2.0, 400), (1.0, 4000))
    )
    off = 1e3 * model.decoupled(mechanism, q[q[:, 2] > 0.05]).max()
    return [
        TABLE.claim("ik/dq = 2 J' dx converges", None, left=as_written),
        TABLE.claim("ik/dq = J' dx converges", halved),
        TABLE.claim("ik/decoupled orientation keeps the tip", None, off=off),
    ]


def _jacobian_claims(mechanism: Mechanism, q: Array) -> list[Claim]:
    off = np.linalg.det(mechanism.jacobian(q)) - singularity(mechanism, q).determinant
    return [TABLE.claim("jacobian/determinant in closed form", np.abs(off).max())]


def _trajectory_claims(mechanism: Mechanism) -> list[Claim]:
    deepest = np.array([0, 0, mechanism.arm.upper[2], 0, 0, 0, 0])
    reach = float(np.linalg.norm(mechanism.forward_kinematics(deepest)[:3, 3]))
    theirs = _their_trajectory()
    ends = [theirs(t) for t in (0.0, theirs.duration)]
    missed = max(
        float(np.linalg.norm(table(s.q, corrected=False)[-1][:3, 3] - p)) for s, p in zip(ends, ENDS, strict=True)
    )
    name, fields = "trajectory/x_i = [0.6, 0.4, 10], x_f = [1.6, 0.4, 0]", {"first": ends[0].q[2], "last": ends[1].q[2]}
    return [
        TABLE.claim(name, missed, reach=reach, **fields),
        TABLE.claim("trajectory/their cubic ends at rest", max(float(np.abs(s.dq).max()) for s in ends)),
    ]


@cache
def _their_trajectory() -> Polynomial:
    """Their cubic on their own chain without joint limits, for the solutions with positive insertion."""
    forward = [q[q[:, 2] > 0] for q in (model.unlimited(p, corrected=False) for p in ENDS)]
    q0 = min(forward[0], key=lambda q: abs(q[0]))
    q1 = min(forward[1], key=lambda q: float(np.linalg.norm(q[:2] - q0[:2])))
    return cubic(np.pad(q0, (0, 4)), np.pad(q1, (0, 4)), 2.0)


def _point_to_point() -> Polynomial:
    return cubic(np.array([-0.4, 0.2, 0.08, 0, 0, 0, 0]), np.array([0.5, -0.3, 0.2, 0, 0, 0, 0]), 2.0)


def _straight_line(mechanism: Mechanism) -> Following:
    q0, q1 = np.array([-0.4, 0.2, 0.12, 0, 0, 0, 0]), np.array([0.5, -0.3, 0.18, 0, 0, 0, 0])
    goal = mechanism.forward_kinematics(q1)[:3, 3]
    return through(mechanism, line(mechanism.forward_kinematics(q0), goal, 2.0), q0)


def _error_claims(mechanism: Mechanism) -> list[Claim]:
    q = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])
    tip = mechanism.forward_kinematics(np.array([q, *(q + 0.1 * np.eye(7)[:2])]))[:, :3, 3]
    yaw, pitch = 1e3 * np.linalg.norm(tip[1:] - tip[0], axis=-1)
    printed = float(np.linalg.norm(TABLE_I[1] - TABLE_I[0]))
    solutions = model.unlimited(TABLE_I[0], corrected=False)
    error = np.array([0.0, 0.1, 0.0])
    # last frame of the printed table, wrist straight
    tips = [[table(np.pad(x, (0, 3)), corrected=False)[-1][:3, 3] for x in (q, q + error)] for q in solutions]
    moved = [float(np.linalg.norm(after - before)) for before, after in tips]
    fields = {"count": len(solutions), "shortest": np.abs(solutions[:, 2]).min(), "least": min(moved)}
    name = "error/0.1 rad in theta_2 moves the tip"
    lever = printed / (2.0 * np.sin(0.1 / 2))  # radius of a circle on which 0.1 rad is this chord
    return [TABLE.claim(name, None, printed=printed, lever=lever, yaw=yaw, pitch=pitch, **fields)]


def _torque_claims(states: Array) -> list[Claim]:
    mechanism = Mechanism(load_mechanism("PSM").arm, point_mass_parameters())
    t = np.linspace(0.0, 0.9, 50)
    off = [np.abs(torque_along(mechanism, j, t)[:, j] - model.by_hand(j, t)).max() for j in (2, 3, 4, 5)]
    static = np.abs(mechanism.gravity(states)).max(axis=0)[:JOINTS]
    bent = np.array([0.0, 0.0, 0.12, 0.0, 0.5, 0.5, 0.0])
    needed = mechanism.forward_dynamics(bent, np.zeros(7), np.append(TABLE_II, 0.0))[:JOINTS]  # with a free jaw
    return [
        *TABLE.claims("torque/T{row}", None, static=static.tolist(), needed=needed.tolist()),
        *TABLE.claims("torque/{row} of point masses follows the formula", off),
    ]


def _figures(mechanism: Mechanism) -> dict[str, figures.Figure]:
    target = mechanism.forward_kinematics(GOAL)[:3, 3]
    curves = {
        label: gradient_descent(mechanism, target, START, step, 400)
        for label, step in (("as printed, dq = 2 J' dx", 2.0), ("half the step", 1.0), ("a fifth of the step", 0.4))
    }
    points = Mechanism(mechanism.arm, point_mass_parameters())
    t = np.linspace(0.0, 0.9, 100)
    torques = [(torque_along(points, j, t), torque_along(mechanism, j, t)) for j in range(JOINTS)]
    return {
        "convergence": figures.convergence(curves),
        "their motion": figures.motion(_their_trajectory(), mechanism.arm),
        "motion": figures.motion(_point_to_point(), mechanism.arm),
        "line": figures.straight_line(mechanism, _straight_line(mechanism)),
        "torques": figures.torques(t, torques, mechanism.arm),
        "workspace": figures.workspace(mechanism),
        "cloud": cloud_figure(mechanism, count=4096),
    }


EXPERIMENT = Experiment(name="patel2018", title="Kinematic and dynamic analysis of the PSM", run=run)
