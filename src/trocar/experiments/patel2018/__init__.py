"""Patel et al. 2018: kinematic and dynamic analysis of the PSM (their "MATLAB-based robot analysis")."""

from __future__ import annotations

import numpy as np

from trocar.control.trajectories import Following, Polynomial, cubic, line, through
from trocar.experiments.claim_table import ClaimTable
from trocar.experiments.experiment import Context, Experiment
from trocar.experiments.patel2018 import figures
from trocar.experiments.patel2018.dynamics import POINT_MASSES, point_mass_parameters, torque_along
from trocar.experiments.patel2018.kinematics import JOINTS, RCM, decoupled, gradient_descent, table
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.singularities import singularity
from trocar.report import Claim, Report
from trocar.spatial import Array, pose_error

TABLE = ClaimTable("patel2018")
# Start and goal of the inverse kinematics by gradient descent [rad, m]
START, GOAL = np.array([0.0, 0.0, 0.1, 0, 0, 0, 0]), np.array([0.4, -0.3, 0.16, 0, 0, 0, 0])


def run(context: Context) -> Report:
    """Sections II and III, Tables I and II."""
    report = Report("Patel et al. 2018: kinematics and dynamics of the PSM")
    mechanism = load_mechanism("PSM")
    q = np.random.default_rng(0).uniform(mechanism.arm.lower, mechanism.arm.upper, (2000, 7))
    for text, claims in (
        ("forward kinematics by their table", lambda: _table_claims(mechanism, q[:300])),
        ("inverse kinematics by gradient, and in closed form", lambda: _inverse_claims(mechanism, q)),
        ("Jacobian and singularities", lambda: _jacobian_claims(mechanism, q)),
        ("trajectories", lambda: _trajectory_claims(mechanism)),
        ("0.1 rad experiment", lambda: _error_claims(mechanism)),
        ("torques", _torque_claims),
    ):
        context.progress(text)
        report.add_claims(claims())
    context.progress("figures")
    for figure, caption in _figures(mechanism):
        report.add_figure(figure, caption)
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


def _inverse_claims(mechanism: Mechanism, q: Array) -> list[Claim]:
    deep = q[q[:, 2] > 0.05]
    T = mechanism.forward_kinematics(deep)
    error = pose_error(T, mechanism.forward_kinematics(mechanism.inverse_kinematics(T, deep + 0.05)))
    target = mechanism.forward_kinematics(GOAL)[:3, 3]
    as_written, halved = (
        gradient_descent(mechanism, target, START, step, iterations)[-1]
        for step, iterations in ((2.0, 400), (1.0, 4000))
    )
    off = 1e3 * decoupled(mechanism, deep).max()
    worst = [np.linalg.norm(error[:, part], axis=-1).max() for part in (slice(0, 3), slice(3, 6))]
    return [
        TABLE.claim("ik/dq = 2 J' dx converges", None, left=as_written),
        TABLE.claim("ik/dq = J' dx converges", halved),
        TABLE.claim("ik/decoupled orientation keeps the tip", None, off=off),
        *TABLE.claims("ik/closed form, {row}", worst),
    ]


def _jacobian_claims(mechanism: Mechanism, q: Array) -> list[Claim]:
    J, h = mechanism.jacobian(q), 1e-6
    differences = [
        pose_error(mechanism.forward_kinematics(q + e), mechanism.forward_kinematics(q - e)) / (2 * h)
        for e in h * np.eye(7)[:JOINTS]
    ]
    off = np.linalg.det(J) - singularity(mechanism, q).determinant
    return [
        TABLE.claim("jacobian/finite differences", np.abs(J - np.stack(differences, axis=-1)).max()),
        TABLE.claim("jacobian/determinant in closed form", np.abs(off).max()),
    ]


def _trajectory_claims(mechanism: Mechanism) -> list[Claim]:
    deepest = np.array([0, 0, mechanism.arm.upper[2], 0, 0, 0, 0])
    reach = float(np.linalg.norm(mechanism.forward_kinematics(deepest)[:3, 3]))
    motion, path = _point_to_point(), _straight_line(mechanism)
    rates = max(float(np.abs(motion(t).dq).max()) for t in (0.0, motion.duration))
    t = np.linspace(0.0, path.duration, 200)
    p = mechanism.forward_kinematics(np.array([path(s).q for s in t]))[:, :3, 3]
    along = (p[-1] - p[0]) / np.linalg.norm(p[-1] - p[0])
    off = np.linalg.norm(np.cross(p - p[0], along), axis=-1).max()
    return [
        TABLE.claim("trajectory/x_i = [0.6, 0.4, 10], x_f = [1.6, 0.4, 0]", None, reach=reach),
        TABLE.claim("trajectory/cubic ends at rest", rates),
        TABLE.claim("trajectory/straight line is straight", off),
    ]


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
    return [TABLE.claim("error/0.1 rad in theta_2 moves the tip", None, yaw=yaw, pitch=pitch)]


def _torque_claims() -> list[Claim]:
    mechanism = Mechanism(load_mechanism("PSM").arm, point_mass_parameters())
    t = np.linspace(0.0, 0.9, 50)
    # Euler-Lagrange by hand for the insertion alone: a mass on a vertical slide
    by_hand = POINT_MASSES["insertion"] * (0.6 * t - 9.81)
    off = np.abs(torque_along(mechanism, 2, t)[:, 2] - by_hand).max()
    return [
        *TABLE.claims("torque/T{row}", None),
        TABLE.claim("torque/insertion of point masses follows the formula", off),
    ]


def _figures(mechanism: Mechanism) -> list[tuple[figures.Figure, str]]:
    target = mechanism.forward_kinematics(GOAL)[:3, 3]
    curves = {
        label: gradient_descent(mechanism, target, START, step, 400)
        for label, step in (("as printed, dq = 2 J' dx", 2.0), ("half the step", 1.0), ("a fifth of the step", 0.4))
    }
    points = Mechanism(mechanism.arm, point_mass_parameters())
    t = np.linspace(0.0, 0.9, 100)
    torques = [(torque_along(points, j, t), torque_along(mechanism, j, t)) for j in range(JOINTS)]
    return [
        (figures.convergence(curves), "Their gradient inverse kinematics; the closed form has no iterations."),
        (figures.motion(_point_to_point(), mechanism.arm), "Figs 5 to 7: cubic, points within reach."),
        (figures.straight_line(mechanism, _straight_line(mechanism)), "Figs 8 to 11: a straight line of the tip."),
        (
            figures.torques(t, torques, mechanism.arm),
            "Figs 12 to 17: torque along theta(t) = t^3, one joint at a time.",
        ),
        (figures.workspace(mechanism), "Figs 18 and 19: yaw alone, then yaw and insertion, within the joint limits."),
    ]


EXPERIMENT = Experiment(name="patel2018", title="Kinematic and dynamic analysis of the PSM", run=run)
