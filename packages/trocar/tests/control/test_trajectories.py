"""Trajectories: derivatives, end conditions, limits; paths of the tip and the joints that follow them; checks."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import trocar as tr
from trocar.control import hold, sinusoid
from trocar.control.trajectories import (
    LeavesReach,
    check_path,
    circle,
    cubic,
    cubic_spline,
    fourier,
    line,
    quintic,
    quintic_spline,
    screw,
    spiral,
    through,
    time_optimal,
)
from trocar.errors import NearSingular, TrocarError
from trocar.mechanics.singularities import singular_values
from trocar.spatial import pose_error, rotation, rotation_vector

PSM = tr.load_mechanism("PSM")
Q0 = np.array([0.1, -0.2, 0.12, 0.3, 0.2, -0.3, 0.1])
T0 = PSM.forward_kinematics(Q0)
VIA = np.array([[0.0, 0.1], [0.5, -0.3], [0.2, 0.4], [-0.4, 0.0]])
TIMES = [0.3, 0.8, 1.7, 2.3]
RNG = np.random.default_rng(0)


def turned(T, R, dp=(0.0, 0.0, 0.0)):
    T = T.copy()
    T[:3, :3] = R @ T[:3, :3]
    T[:3, 3] += dp
    return T


T1 = turned(T0, rotation("x", 0.4) @ rotation("z", 0.5), (0.01, -0.02, 0.015))

SMOOTH = {
    "cubic": cubic([0.1, 0.2], [1.0, -1.0], 1.5, 0.2, dq0=[0.3, 0.0], dq1=[-0.5, 1.0]),
    "quintic": quintic([0.1, 0.2], [1.0, -1.0], 1.5, 0.2, dq0=[0.3, 0], dq1=[0, 1], ddq0=[1.0, -2.0], ddq1=[3.0, 0]),
    "natural spline": cubic_spline(TIMES, VIA, "natural"),
    "clamped spline": cubic_spline(TIMES, VIA, dq0=[0.1, 0.2], dq1=[0.3, -0.4]),
    "quintic spline": quintic_spline(TIMES, VIA),
    "fourier": fourier([0.1, 0.2], RNG.normal(size=(5, 2)), RNG.normal(size=(5, 2)), 0.3),
    "jerk limited": time_optimal(PSM.arm, [Q0, Q0 + 0.1, Q0 - 0.05], jerk=20.0),
    "tip on a line": through(PSM, line(T0, T1, 1.5, t0=0.2), Q0),
    "tip on a screw": through(PSM, screw(T0, T1, 1.5, scaling="cubic"), Q0),
    "tip on a circle": through(PSM, circle(T0, T0[:3, 3] + [0.02, 0, 0], 2.0, scaling="constant"), Q0),
    "tip on a spiral": through(PSM, spiral(T0, 0.01, 2.0, 0.02, 3.0, axis=(1, 0, 1)), Q0),
}


def times_inside(reference, count=23):
    return np.linspace(reference.start, reference.end, count + 2)[1:-1] + 1e-4


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_are_those_of_the_position(name):
    reference, h = SMOOTH[name], 1e-5
    for t in times_inside(reference):
        before, at, after = reference(t - h), reference(t), reference(t + h)
        np.testing.assert_allclose(at.dq, (after.q - before.q) / (2 * h), atol=1e-6, rtol=1e-5)
        # a jump of the jerk between the two samples causes an error of h times the jump
        np.testing.assert_allclose(at.ddq, (after.dq - before.dq) / (2 * h), atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("kind", [cubic, quintic])
def test_polynomials_meet_their_end_conditions(kind):
    ends = {"dq0": [0.3, 0.1], "dq1": [-0.5, 1.0]}
    if kind is quintic:
        ends |= {"ddq0": [1.0, -2.0], "ddq1": [3.0, 0.5]}
    q0, q1 = [0.1, 0.2], [1.0, -1.0]
    reference = kind(q0, q1, 1.5, 0.2, **ends)
    assert (reference.start, reference.duration, reference.end) == (0.2, 1.5, 1.7)
    np.testing.assert_array_equal(reference.via, [q0, q1])
    for side, t, q in (("0", 0.2, q0), ("1", 1.7, q1)):
        inside = reference(t + 1e-9 if side == "0" else t - 1e-9)
        for state in (reference(t), inside):
            np.testing.assert_allclose(state.q, q, atol=1e-8)
            np.testing.assert_allclose(state.dq, ends[f"dq{side}"], atol=1e-7)
            if kind is quintic:
                np.testing.assert_allclose(state.ddq, ends[f"ddq{side}"], atol=1e-6)
    np.testing.assert_array_equal(reference(0.0).dq, 0.0)
    np.testing.assert_array_equal(reference(9.0).q, q1)


@pytest.mark.parametrize("name", ["natural spline", "clamped spline", "quintic spline"])
def test_splines_pass_their_via_points_and_are_smooth_there(name):
    reference, e = SMOOTH[name], 1e-9
    np.testing.assert_array_equal(reference.via, VIA)
    assert len(reference.segments) == 3
    for t, q in zip(TIMES, VIA, strict=True):
        np.testing.assert_allclose(reference(t).q, q, atol=1e-12)
    for t in TIMES[1:-1]:
        before, after = reference(t - e), reference(t + e)
        np.testing.assert_allclose(before.dq, after.dq, atol=1e-6)
        np.testing.assert_allclose(before.ddq, after.ddq, atol=1e-5)
    first, last = reference(TIMES[0]), reference(TIMES[-1])
    if name == "natural spline":
        np.testing.assert_allclose([first.ddq, last.ddq], 0.0, atol=1e-10)
    else:
        wanted = [[0.1, 0.2], [0.3, -0.4]] if name == "clamped spline" else np.zeros((2, 2))
        np.testing.assert_allclose([first.dq, last.dq], wanted, atol=1e-10)
    if name == "quintic spline":
        np.testing.assert_allclose([first.ddq, last.ddq], 0.0, atol=1e-9)


def test_a_fourier_series_repeats_and_its_coefficients_are_velocities():
    a, b = np.zeros((2, 1)), np.zeros((2, 1))
    a[1], b[0] = 0.4, 0.3
    reference = fourier([0.7], a, b, 0.5)
    assert reference.duration == 2.0
    for t in (0.0, 0.31, 1.7):
        now, later = reference(t), reference(t + 2.0)
        np.testing.assert_allclose(now.q, later.q, atol=1e-12)
        expected = 0.4 * np.cos(2 * np.pi * t) + 0.3 * np.sin(np.pi * t)
        assert now.dq[0] == pytest.approx(expected, abs=1e-12)


# -- least time ------------------------------------------------------------------------------------------------------


def grid(reference, count=2001):
    setpoints = [reference(t) for t in np.linspace(reference.start, reference.end, count)]
    return (np.array([getattr(s, name) for s in setpoints]) for name in ("q", "dq", "ddq"))


@pytest.mark.parametrize("jerk", [None, 30.0])
def test_time_optimal_motion_reaches_but_never_exceeds_the_published_limits(arm_mechanism, jerk):
    arm = arm_mechanism.arm
    low, high = arm.lower + 1e-3, arm.upper - 1e-3
    reference = time_optimal(arm, [low, high], jerk=jerk)
    q, dq, ddq = grid(reference)
    v, a = (np.array([getattr(j, name) for j in arm.joints]) for name in ("velocity", "acceleration"))
    assert (np.abs(dq) <= v * (1 + 1e-9)).all()
    assert (np.abs(ddq) <= a * (1 + 1e-9)).all()
    # the slowest joint is at its velocity or acceleration limit; otherwise a shorter time would be possible
    used = max((np.abs(dq).max(0) / v).max(), (np.abs(ddq).max(0) / a).max())
    assert used == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(q[[0, -1]], [low, high], atol=1e-9)
    if jerk is not None:
        h = reference.duration / (len(ddq) - 1)
        assert np.abs(np.diff(ddq, axis=0)).max() <= jerk * h * (1 + 1e-6)


def test_yaw_reaches_the_published_velocity_in_the_textbook_time():
    """Trapezoid: distance / v + v / a."""
    yaw = PSM.arm.joints[0]
    q0, q1 = np.array(PSM.arm.home), np.array(PSM.arm.home)
    q0[0], q1[0] = -1.2, 1.2
    reference = time_optimal(PSM.arm, [q0, q1])
    assert reference.duration == pytest.approx(2.4 / yaw.velocity + yaw.velocity / yaw.acceleration, rel=1e-12)
    assert reference(reference.duration / 2).dq[0] == pytest.approx(yaw.velocity)
    half = time_optimal(PSM.arm, [q0, q1], scale=0.5)
    assert half(half.duration / 2).dq[0] == pytest.approx(yaw.velocity / 2)


def test_several_via_points_are_chained_with_stops_on_straight_lines():
    via = np.array([Q0, Q0 + 0.1, Q0 - [0.3, 0.2, 0.05, 0, 0, 0, 0]])
    reference = time_optimal(PSM.arm, via, t0=0.5)
    assert len(reference.segments) == 2
    for t, q in zip(reference.times, via, strict=True):
        np.testing.assert_allclose(reference(t).q, q, atol=1e-12)
        np.testing.assert_allclose(reference(t).dq, 0.0, atol=1e-12)
    for k, (a, b) in enumerate(pairwise(via)):
        for s in (0.1, 0.4, 0.8):
            q = reference((1 - s) * reference.times[k] + s * reference.times[k + 1]).q
            share = (q - a) @ (b - a) / ((b - a) @ (b - a))
            assert 0.0 < share < 1.0
            np.testing.assert_allclose(q, a + share * (b - a), atol=1e-12)


def test_time_optimal_motion_meets_its_end_velocities():
    dq1 = np.array([0.4, 0, 0, 0, 0, 0, 0])
    reference = time_optimal(PSM.arm, [Q0, Q0 + 0.05], dq1=dq1, jerk=50.0)
    np.testing.assert_allclose(reference(reference.end - 1e-9).dq, dq1, atol=1e-6)
    np.testing.assert_allclose(reference(reference.end).dq, dq1)


# -- paths of the tip ------------------------------------------------------------------------------------------------

PATHS = {
    "line": line(T0, T1, 1.5, t0=0.2),
    "cubic line": line(T0, T1[:3, 3], 1.5, scaling="cubic"),
    "screw": screw(T0, T1, 1.5, t0=0.2),
    "pure slide": screw(T0, turned(T0, np.eye(3), (0.02, 0, 0)), 1.5),
    "nearly pure slide": screw(T0, turned(T0, rotation("y", 1e-6), (0.02, 0, 0)), 1.5),
    "circle": circle(T0, T0[:3, 3] + [0.02, 0, 0], 2.0, angle=-1.0, scaling="constant"),
    "spiral": spiral(T0, 0.01, 2.0, 0.02, 3.0, axis=(1, 0, 1)),
}


@pytest.mark.parametrize("name", PATHS)
def test_twist_and_acceleration_are_derivatives_of_the_pose(name):
    path, h = PATHS[name], 1e-5
    for t in times_inside(path, 17):
        before, at, after = path(t - h), path(t), path(t + h)
        np.testing.assert_allclose(at.twist, pose_error(after.T, before.T) / (2 * h), atol=1e-8)
        np.testing.assert_allclose(at.acceleration, (after.twist - before.twist) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("name", ["line", "screw"])
def test_interpolation_begins_and_ends_at_its_poses(name):
    path = PATHS[name]
    np.testing.assert_allclose(path(path.start).T, T0, atol=1e-14)
    np.testing.assert_allclose(path(path.end).T, T1, atol=1e-14)
    np.testing.assert_array_equal(path(path.end + 1.0).twist, 0.0)


def test_a_line_is_straight_and_a_screw_has_the_same_rotation():
    for s in (0.3, 0.6):
        T, S = PATHS["line"](0.2 + 1.5 * s).T, PATHS["screw"](0.2 + 1.5 * s).T
        way = T1[:3, 3] - T0[:3, 3]
        assert np.linalg.norm(np.cross(way, T[:3, 3] - T0[:3, 3])) < 1e-15
        assert np.linalg.norm(np.cross(way, S[:3, 3] - T0[:3, 3])) > 1e-5
        np.testing.assert_allclose(T[:3, :3], S[:3, :3], atol=1e-14)


def test_a_screw_does_not_depend_on_the_point_called_the_tip():
    shift = turned(np.eye(4), rotation("y", 0.3), (0.01, 0.02, -0.03))
    moved = screw(T0 @ shift, T1 @ shift, 1.5, t0=0.2)
    for t in (0.5, 1.1):
        np.testing.assert_allclose(PATHS["screw"](t).T @ shift, moved(t).T, atol=1e-14)


def test_a_circle_keeps_its_radius_and_orientation_and_a_spiral_rises():
    centre = T0[:3, 3] + [0.02, 0.0, 0.0]
    path = circle(T0, centre, 2.0)
    for t in np.linspace(0.0, 2.0, 9):
        assert np.linalg.norm(path(t).T[:3, 3] - centre) == pytest.approx(0.02, abs=1e-12)
        np.testing.assert_array_equal(path(t).T[:3, :3], T0[:3, :3])
    np.testing.assert_allclose(path(2.0).T, T0, atol=1e-12)
    np.testing.assert_allclose(path(1.0).T[:3, 3], centre + [0.02, 0, 0], atol=1e-12)
    n = np.array([1.0, 0.0, 1.0]) / np.sqrt(2)
    way = PATHS["spiral"](3.0).T[:3, 3] - T0[:3, 3]
    np.testing.assert_allclose(way, 0.02 * n, atol=1e-12)
    middle = PATHS["spiral"](1.5).T[:3, 3] - T0[:3, 3] - 0.01 * n
    assert np.linalg.norm(middle) < 1e-12  # after one of two turns it is back above the start


@pytest.mark.parametrize("name", ["tip on a line", "tip on a screw", "tip on a circle", "tip on a spiral"])
def test_the_tip_is_on_the_path_and_moves_with_it(name):
    reference = SMOOTH[name]
    for t in times_inside(reference, 9):
        at, wanted = reference(t), reference.path(t)
        np.testing.assert_allclose(PSM.forward_kinematics(at.q), wanted.T, atol=1e-10)
        np.testing.assert_allclose(PSM.jacobian(at.q) @ at.dq[:6], wanted.twist, atol=1e-10)
        assert at.q[6] == Q0[6]
        assert at.dq[6] == 0.0


@pytest.mark.parametrize("name", ["MTML", "PSM_Si"])
def test_other_arms_follow_paths_too(name):
    """The redundant MTM with its wrist platform where it is."""
    mech = tr.load_mechanism(name)
    q = 0.3 * np.array(mech.arm.lower) + 0.7 * np.array(mech.arm.upper)
    T = mech.forward_kinematics(q)
    reference = through(mech, line(T, turned(T, rotation("z", 0.2), (0.01, 0.0, 0.01)), 1.0), q)
    h = 1e-5
    for t in (0.21, 0.505, 0.83):
        before, at, after = reference(t - h), reference(t), reference(t + h)
        np.testing.assert_allclose(mech.forward_kinematics(at.q), reference.path(t).T, atol=1e-10)
        np.testing.assert_allclose(at.dq, (after.q - before.q) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(at.ddq, (after.dq - before.dq) / (2 * h), atol=1e-4)
        if mech.arm.tip_joints == 7:
            assert at.q[3] == reference(0.0).q[3]


def test_the_ecm_follows_paths_on_its_manifold_only():
    ecm = tr.load_mechanism("ECM")
    q = np.array([0.2, 0.1, 0.12, 0.3])
    T = ecm.forward_kinematics(q)
    along = T[:3, 3] * 1.2  # through the remote centre: the insertion alone
    reference = through(ecm, line(T, along, 1.0), q)
    assert reference(0.5).dq[2] > 0.01
    np.testing.assert_allclose(reference(1.0).q[[0, 1, 3]], q[[0, 1, 3]], atol=1e-9)
    with pytest.raises(LeavesReach, match=r"at t = .* s"):
        through(ecm, line(T, T[:3, 3] + [0.03, 0, 0], 1.0), q)


def test_a_path_that_leaves_the_limits_reports_time_and_joint():
    deep = T0[:3, 3] * 2.2
    with pytest.raises(LeavesReach, match=r"at t = [\d.]+ s: joint 3 \(insertion\) violates") as caught:
        through(PSM, line(T0, deep, 2.0), Q0)
    path = line(T0, deep, 2.0)
    PSM.inverse_kinematics(path(caught.value.time - 0.05).T, Q0)
    with pytest.raises(tr.Unreachable):
        PSM.inverse_kinematics(path(caught.value.time).T, Q0)


def test_a_path_past_the_remote_centre_warns():
    q = np.array([0.1, -0.2, 0.06, 0.0, 0.0, 0.0, 0.0])
    T = PSM.forward_kinematics(q)
    up = T.copy()
    up[:3, 3] -= 0.0425 * T[:3, 3] / np.linalg.norm(T[:3, 3])
    with pytest.warns(NearSingular, match="smallest singular value"):
        reference = through(PSM, line(T, up, 1.0), q)
    assert check_path(PSM, reference).first("singularity").time > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        through(PSM, line(T, T[:3, 3] * 1.2, 1.0), q)


# -- checks ----------------------------------------------------------------------------------------------------------


def test_the_singularity_measure_vanishes_with_the_determinant():
    """det J = -cos q2 L (L cos q5 + a), L = q3 - 15.6 mm, a the distance of the two wrist axes."""
    rng = np.random.default_rng(0)
    q = rng.uniform(PSM.arm.lower, PSM.arm.upper, (200, 7))
    L, a = q[:, 2] - 0.0156, 0.0091
    closed = -np.cos(q[:, 1]) * L * (L * np.cos(q[:, 4]) + a)
    np.testing.assert_allclose(np.linalg.det(PSM.jacobian(q)), closed, atol=1e-12)
    sigma = singular_values(PSM, q)[..., -1]
    assert np.corrcoef(np.log(sigma), np.log(np.abs(closed)))[0, 1] > 0.8
    q[:, 2] = 0.0156
    assert singular_values(PSM, q)[..., -1].max() < 1e-12
    q[:, 2], q[:, 4] = 0.02, np.pi  # L < a: bent right back, still not singular
    assert singular_values(PSM, q)[..., -1].min() > 1e-3
    q[:, 2], q[:, 4] = 0.12, np.arccos(-0.0091 / (0.12 - 0.0156))
    assert singular_values(PSM, q)[..., -1].max() < 1e-9


def test_a_good_motion_passes():
    found = check_path(PSM, time_optimal(PSM.arm, [PSM.arm.home, Q0], jerk=50.0))
    assert found
    assert found.violations == ()
    assert "no violation" in str(found)
    assert max(found.peak_velocity.max(), found.peak_acceleration.max()) == pytest.approx(1.0, abs=0.02)


def test_every_kind_of_violation_is_found_at_its_first_time():
    class Wall:
        def contact(self, q):
            return "the yaw link touches the wall" if q[0] > 0.5 else None

    q1 = np.array(PSM.arm.home)
    q1[0], q1[2] = 3.0, 0.0156
    reference = quintic(PSM.arm.home, q1, 1.0)
    found = check_path(PSM, reference, step=1e-3, contacts=Wall())
    assert not found
    assert {v.kind for v in found.violations} == {"position", "velocity", "acceleration", "singularity", "collision"}
    assert [v.time for v in found.violations] == sorted(v.time for v in found.violations)
    assert found.first("position").joint == "yaw"
    assert "joint 1 (yaw) violates" in str(found.first("position"))
    yaw = PSM.arm.joints[0]
    for kind, value, limit in (
        ("position", lambda s: s.q[0], yaw.upper),
        ("velocity", lambda s: s.dq[0], yaw.velocity),
        ("acceleration", lambda s: s.ddq[0], yaw.acceleration),
        ("collision", lambda s: s.q[0], 0.5),
    ):
        t = found.first(kind).time
        assert value(reference(t)) > limit >= value(reference(t - 1e-3)) * (1 - 1e-5), kind
    assert "touches the wall" in str(found)
    assert found.singularity_time == 1.0


def test_limits_may_be_given_and_an_endless_reference_needs_a_duration():
    reference = sinusoid(PSM.arm.home, [0.1, 0, 0, 0, 0, 0, 0], 1.0)
    with pytest.raises(TrocarError, match="pass a duration"):
        check_path(PSM, reference)
    assert check_path(PSM, hold(PSM.arm.home), 1.0)
    tight = np.full(7, 0.1)
    assert check_path(PSM, reference, 1.0, velocity=tight).first("velocity").time == 0.0
    assert check_path(PSM, reference, 1.0).first("velocity") is None
    with pytest.raises(TrocarError, match="velocity must be positive limits"):
        check_path(PSM, reference, 1.0, velocity=[0.1])
    with pytest.raises(TrocarError, match="PSM has 7 joints"):
        check_path(PSM, hold([0.0]), 1.0)


# -- bad input -------------------------------------------------------------------------------------------------------

OUTSIDE = np.array([PSM.arm.home] * 3)
OUTSIDE[2, 1] = 1.2
BAD = {
    "no duration": (lambda: cubic([0.0], [1.0], 0.0), "duration must be positive"),
    "negative duration": (lambda: quintic([0.0], [1.0], -1.0), "duration must be positive"),
    "t0": (lambda: quintic([0.0], [1.0], 1.0, np.nan), "t0 must be finite"),
    "t0, text": (lambda: cubic([0.0], [1.0], 1.0, "a"), "t0 must be finite"),
    "t0, time": (lambda: time_optimal(PSM.arm, [Q0, Q0 + 0.1], t0=None), "t0 must be finite"),
    "arm": (lambda: time_optimal("PSM", [Q0, Q0 + 0.1]), "arm must be an Arm"),
    "jerk, text": (lambda: time_optimal(PSM.arm, [Q0, Q0 + 0.1], jerk="a"), "jerk must be an array of numbers"),
    "scale, text": (lambda: time_optimal(PSM.arm, [Q0, Q0 + 0.1], scale="a"), "fraction in"),
    "straight": (lambda: time_optimal(PSM.arm, [Q0, Q0 + 0.1], straight="no"), "straight must be True or False"),
    "mechanism": (lambda: through("PSM", line(T0, T1, 1.0)), "mechanism must be"),
    "path": (lambda: through(PSM, T0), "path must be a path of the tip"),
    "end conditions": (lambda: quintic([0.0], [1.0], 1.0, dq0=[1.0, 2.0]), "lengths differ.*dq0 2"),
    "one via point": (lambda: cubic_spline([0.0], [[1.0]]), "two or more via points"),
    "empty": (lambda: time_optimal(PSM.arm, np.zeros((0, 7))), "two or more via points"),
    "times": (lambda: cubic_spline([0.0, 1.0, 1.0, 2.0], VIA), r"times must increase: times\[2\] = 1 follows 1 s"),
    "count": (lambda: quintic_spline([0.0, 1.0], VIA), "4 via points need as many times, got 2"),
    "nan": (lambda: quintic_spline(TIMES, VIA * [[1], [1], [np.nan], [1]]), "via point 2 has a value that is NaN"),
    "ends": (lambda: cubic_spline(TIMES, VIA, "free"), "'free' is unknown"),
    "natural": (lambda: cubic_spline(TIMES, VIA, "natural", dq0=[0, 0]), "does not accept end velocities"),
    "limits": (
        lambda: cubic_spline([0, 1, 2], OUTSIDE, arm=PSM.arm),
        r"via point 2: joint 2 \(pitch\) violates -0\.925025 <= 1\.2 <= 0\.925025",
    ),
    "limits, time": (lambda: time_optimal(PSM.arm, OUTSIDE), r"via point 2: joint 2 \(pitch\)"),
    "joints": (lambda: time_optimal(PSM.arm, VIA), "PSM has 7 joints, the via points have 2"),
    "harmonics": (lambda: fourier([0.0], [[1.0, 2.0]], [[1.0]], 1.0), r"a must be finite numbers of shape"),
    "harmonics differ": (lambda: fourier([0.0], [[1.0]], [[1.0]] * 2, 1.0), "a has 1 harmonics, b 2"),
    "frequency": (lambda: fourier([0.0], [[1.0]], [[1.0]], 0.0), "frequency must be positive"),
    "jerk": (lambda: time_optimal(PSM.arm, [Q0, Q0 + 0.1], jerk=0.0), "jerk must be positive"),
    "scale": (lambda: time_optimal(PSM.arm, [Q0, Q0 + 0.1], scale=1.5), "fraction in"),
    "same": (lambda: time_optimal(PSM.arm, [Q0, Q0]), "via points 0 and 1 are equal"),
    "too fast": (lambda: time_optimal(PSM.arm, [Q0, Q0 + 0.1], dq0=[9, 0, 0, 0, 0, 0, 0]), r"dq0: joint 1 \(yaw\)"),
    "overshoot": (
        lambda: time_optimal(PSM.arm, [PSM.arm.home, PSM.arm.upper], dq1=[1.0, 0.0, -0.1, 0, 0, 0, 0]),
        r"joint 3 \(insertion\) overshoots",
    ),
    "scaling": (lambda: line(T0, T1, 1.0, scaling="quintick"), "Did you mean 'quintic'"),
    "line nowhere": (lambda: line(T0, T0, 1.0), "the path is empty"),
    "line duration": (lambda: line(T0, T1, 0.0), "duration must be positive"),
    "pose": (lambda: screw(T0, 2 * T1, 1.0), "0 0 0 1"),
    "axis": (lambda: circle(T0, [0, 0, 0], 1.0, axis=(0, 0, 0)), "axis must be a direction"),
    "no radius": (lambda: circle(T0, T0[:3, 3], 1.0), "zero radius"),
    "spiral": (lambda: spiral(T0, -1.0, 1.0, 0.0, 1.0), "radius must be positive"),
    "no turns": (lambda: spiral(T0, 0.01, 0.0, 0.01, 1.0), "angle must be finite and not 0"),
    "step": (lambda: through(PSM, line(T0, T1, 1.0), Q0, step=0.0), "step must be positive"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_rejected(name):
    make, message = BAD[name]
    with pytest.raises(TrocarError, match=message):
        make()


def test_small_rotations_are_accurate():
    """For very small rotations the screw and the line agree."""
    T = turned(T0, rotation("y", 1e-7), (0.02, 0.0, 0.0))
    a, b = line(T0, T, 1.0)(0.4).T, screw(T0, T, 1.0)(0.4).T
    np.testing.assert_allclose(a, b, atol=1e-9)
    assert np.linalg.norm(rotation_vector(b[:3, :3] @ T0[:3, :3].T)) == pytest.approx(1e-7 * 0.31744, rel=1e-4)
