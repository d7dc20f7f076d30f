"""Patel et al. 2018: kinematic and dynamic analysis of the PSM (their "MATLAB-based robot analysis").

The paper prints its table, two formulas, one small table of positions and one of torques, and figures without numbers;
what its own text rules out stays in the report as null with the reason.
"""

from __future__ import annotations

import numpy as np

from trocar.control.trajectories import Following, Polynomial, cubic, line, through
from trocar.experiments import patel2018_figures as figures
from trocar.experiments.experiment import Context, Experiment, claim_of
from trocar.experiments.patel2018_dynamics import POINT_MASSES, point_mass_parameters, torque_along
from trocar.experiments.patel2018_kinematics import JOINTS, RCM, decoupled, gradient_descent, table
from trocar.mechanics import Mechanism, load_mechanism
from trocar.mechanics.singularities import singularity
from trocar.report import Claim, Report
from trocar.spatial import Array, pose_error


def run(context: Context) -> Report:
    report = Report("Patel et al. 2018: kinematics and dynamics of the PSM", figures_first=True)
    mechanism = load_mechanism("PSM")
    rng = np.random.default_rng(0)
    q = rng.uniform(mechanism.arm.lower, mechanism.arm.upper, (2000, 7))
    steps = (
        ("forward kinematics by their table", lambda: _table_claims(mechanism, q[:300])),
        ("inverse kinematics by gradient, and in closed form", lambda: _inverse_claims(mechanism, q)),
        ("Jacobian and singularities", lambda: _jacobian_claims(mechanism, q)),
        ("trajectories", lambda: _trajectory_claims(mechanism)),
        ("0.1 rad experiment", lambda: _error_claims(mechanism)),
        ("torques", _torque_claims),
    )
    for text, claims in steps:
        context.progress(text)
        for claim in claims():
            report.add_claim(claim)
    context.progress("figures")
    for figure, caption in _figures(mechanism):
        report.add_figure(figure, caption)
    return report


# -- forward kinematics ---------------------------------------------------------------------------------------------


def _table_claims(mechanism: Mechanism, states: Array) -> list[Claim]:
    def miss(q: Array, corrected: bool) -> float:
        T = table(q, corrected)[6]
        return float(np.linalg.norm(np.cross(T[:3, 2], T[:3, 3] - RCM)))

    printed = max(miss(q, corrected=False) for q in states)
    # their x is the dVRK's y, their y its -x; frame 9 is the wrist yaw axis, the dVRK's tip
    x, y, z = np.array([table(q, corrected=True)[8][:3, 3] - RCM for q in states]).T
    off = np.linalg.norm(np.stack([-y, x, z], axis=-1) - mechanism.forward_kinematics(states)[:, :3, 3], axis=-1)
    return [
        _claim(
            "fk/insertion axis meets the RCM, as printed",
            0.0,
            None,
            "m",
            1e-4,
            "Fig. 2",
            f"not reproducible: as printed it misses by {printed:.3f} m; row 5 must turn by q2 - pi/2",
        ),
        _claim(
            "fk/insertion axis meets the RCM, corrected",
            0.0,
            max(miss(q, corrected=True) for q in states),
            "m",
            1e-5,
            "Fig. 2, row 5 corrected",
            "8 um is the rounding of its lengths",
        ),
        _claim(
            "fk/tip equals the dVRK's, corrected",
            0.0,
            float(off.max()),
            "m",
            1e-5,
            "Fig. 2, rows 5 and 8 corrected",
            "row 8 must have the instrument's length, 0.4162 m",
        ),
    ]


# -- inverse kinematics ---------------------------------------------------------------------------------------------


def _inverse_claims(mechanism: Mechanism, q: Array) -> list[Claim]:
    deep = q[q[:, 2] > 0.05]
    T = mechanism.forward_kinematics(deep)
    error = pose_error(T, mechanism.forward_kinematics(mechanism.inverse_kinematics(T, deep + 0.05)))
    start, target = (
        np.array([0.0, 0.0, 0.1, 0, 0, 0, 0]),
        mechanism.forward_kinematics(np.array([0.4, -0.3, 0.16, 0, 0, 0, 0]))[:3, 3],
    )
    as_written = gradient_descent(mechanism, target, start, 2.0, 400)[-1]
    halved = gradient_descent(mechanism, target, start, 1.0, 4000)[-1]
    swing = decoupled(mechanism, deep).max()
    return [
        _claim(
            "ik/dq = 2 J' dx converges",
            0.0,
            None,
            "m",
            1e-6,
            "II-A",
            f"not reproducible: along the insertion the error is multiplied by 1 - 2 = -1, so it never shrinks "
            f"({as_written:.3f} m left after 400 steps)",
        ),
        _claim("ik/dq = J' dx converges", 0.0, float(halved), "m", 1e-6, "II-A, step halved", "4000 iterations"),
        _claim(
            "ik/decoupled orientation keeps the tip",
            0.0,
            None,
            "m",
            1e-6,
            "II-A, eq. for R_8^10",
            f"not reproducible: the wrist is not spherical, its axes are 9.1 mm apart; the tip is off by up to "
            f"{1e3 * swing:.1f} mm",
        ),
        _claim(
            "ik/closed form, position",
            0.0,
            float(np.linalg.norm(error[:, :3], axis=-1).max()),
            "m",
            1e-9,
            "II-A: 'the geometric approach will fail here'",
        ),
        _claim(
            "ik/closed form, orientation",
            0.0,
            float(np.linalg.norm(error[:, 3:], axis=-1).max()),
            "rad",
            1e-9,
            "II-A: 'the geometric approach will fail here'",
        ),
    ]


# -- Jacobian, trajectories, errors, torques ------------------------------------------------------------------------


def _jacobian_claims(mechanism: Mechanism, q: Array) -> list[Claim]:
    J, h = mechanism.jacobian(q), 1e-6
    numeric = np.stack(
        [
            pose_error(mechanism.forward_kinematics(q + e), mechanism.forward_kinematics(q - e)) / (2 * h)
            for e in h * np.eye(7)[:JOINTS]
        ],
        axis=-1,
    )
    determinant = np.linalg.det(J)
    return [
        _claim("jacobian/finite differences", 0.0, float(np.abs(J - numeric).max()), "", 1e-7, "II-A, Jacobian"),
        _claim(
            "jacobian/determinant in closed form",
            0.0,
            float(np.abs(determinant - singularity(mechanism, q).determinant).max()),
            "",
            1e-12,
            "II-A: 'we were not able to find the set'",
            "det J = -cos q2 L (L cos q5 + a), L = q3 - 0.0156 m",
        ),
    ]


def _trajectory_claims(mechanism: Mechanism) -> list[Claim]:
    reach = float(
        np.linalg.norm(mechanism.forward_kinematics(np.array([0, 0, mechanism.arm.upper[2], 0, 0, 0, 0]))[:3, 3])
    )
    motion, path = _point_to_point(), _straight_line(mechanism)
    ends = [motion(0.0), motion(motion.duration)]
    rates = max(float(np.abs(end.dq).max()) for end in ends)
    t = np.linspace(0.0, path.duration, 200)
    p = mechanism.forward_kinematics(np.array([path(s).q for s in t]))[:, :3, 3]
    along = (p[-1] - p[0]) / np.linalg.norm(p[-1] - p[0])
    return [
        _claim(
            "trajectory/x_i = [0.6, 0.4, 10], x_f = [1.6, 0.4, 0]",
            0.0,
            None,
            "m",
            1e-6,
            "II-B, Figs 5 to 7",
            f"not reproducible: its table is in metres and the tip reaches {reach:.3f} m from the RCM",
        ),
        _claim("trajectory/cubic ends at rest", 0.0, rates, "rad/s", 1e-12, "II-B, Figs 5 to 7", "points within reach"),
        _claim(
            "trajectory/straight line is straight",
            0.0,
            float(np.linalg.norm(np.cross(p - p[0], along), axis=-1).max()),
            "m",
            1e-9,
            "II-B, Figs 8 to 11",
        ),
    ]


def _point_to_point() -> Polynomial:
    q0, q1 = np.array([-0.4, 0.2, 0.08, 0, 0, 0, 0]), np.array([0.5, -0.3, 0.2, 0, 0, 0, 0])
    return cubic(q0, q1, 2.0)


def _straight_line(mechanism: Mechanism) -> Following:
    q0, q1 = np.array([-0.4, 0.2, 0.12, 0, 0, 0, 0]), np.array([0.5, -0.3, 0.18, 0, 0, 0, 0])
    T0, T1 = mechanism.forward_kinematics(q0), mechanism.forward_kinematics(q1)
    T1[:3, :3] = T0[:3, :3]
    return through(mechanism, line(T0, T1, 2.0), q0)


def _error_claims(mechanism: Mechanism) -> list[Claim]:
    q = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])
    moved = [
        np.linalg.norm(mechanism.forward_kinematics(q + e)[:3, 3] - mechanism.forward_kinematics(q)[:3, 3])
        for e in 0.1 * np.eye(7)[[0, 1]]
    ]
    return [
        _claim(
            "error/0.1 rad in theta_2 moves the tip",
            0.1,
            None,
            "m",
            0.01,
            "Table I",
            f"not reproducible: positions of 2 m are outside the arm, joint values are not given; at home 0.1 rad in "
            f"pitch moves the tip by {1e3 * moved[1]:.1f} mm and 0.1 rad in yaw by {1e3 * moved[0]:.1f} mm, so the "
            "parallelogram does not reduce it",
        )
    ]


def _torque_claims() -> list[Claim]:
    mechanism = Mechanism(load_mechanism("PSM").arm, point_mass_parameters())
    t = np.linspace(0.0, 0.9, 50)
    # Euler-Lagrange by hand for the insertion alone: a mass on a vertical slide
    insertion = torque_along(mechanism, 2, t)[:, 2]
    by_hand = POINT_MASSES["insertion"] * (0.6 * t - 9.81)
    published = (37.6800e-3, -78.3657e-3, -1.8340, 37.6800e-3, 29.3871e-3, 37.6800e-3)
    claims = [
        _claim(
            f"torque/T{j + 1}",
            value,
            None,
            "N" if j == 2 else "N m",
            abs(value) / 100,
            "Table II",
            "not reproducible: the joint values, rates, accelerations and masses behind it are not printed",
        )
        for j, value in enumerate(published)
    ]
    return [
        *claims,
        _claim(
            "torque/insertion of point masses follows the formula",
            0.0,
            float(np.abs(insertion - by_hand).max()),
            "N",
            1e-12,
            "III-A, Fig. 14",
            "m (ddq3 - g) with the arm level",
        ),
    ]


def _figures(mechanism: Mechanism) -> list[tuple[figures.Figure, str]]:
    start, goal = np.array([0.0, 0.0, 0.1, 0, 0, 0, 0]), np.array([0.4, -0.3, 0.16, 0, 0, 0, 0])
    target = mechanism.forward_kinematics(goal)[:3, 3]
    curves = {
        "as printed, dq = 2 J' dx": gradient_descent(mechanism, target, start, 2.0, 400),
        "half the step": gradient_descent(mechanism, target, start, 1.0, 400),
        "a fifth of the step": gradient_descent(mechanism, target, start, 0.4, 400),
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


def _claim(
    name: str, published: float, ours: float | None, unit: str, tolerance: float, source: str, note: str = ""
) -> Claim:
    return claim_of("patel2018", name, published, ours, unit, "equal", tolerance, source, note)


EXPERIMENT = Experiment(name="patel2018", title="Kinematic and dynamic analysis of the PSM", run=run)
