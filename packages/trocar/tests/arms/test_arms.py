"""Facts of the arms: the dVRK's own tables, the real mechanism, motors, mounting."""

import dataclasses

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError

PI = np.pi
REMOTE_CENTRE = ("PSM", "PSM_Si", "ECM", "ECM_Si")


def modified_dh(a, alpha, d, theta):
    """Tx(a) Rx(alpha) Tz(d) Rz(theta), written out."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([[ct, -st, 0, a], [ca * st, ca * ct, -sa, -sa * d], [sa * st, sa * ct, ca, ca * d], [0, 0, 0, 1]])


def standard_dh(a, alpha, d, theta):
    """Rz(theta) Tz(d) Tx(a) Rx(alpha), written out."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]])


def product(step, rows):
    T = np.eye(4)
    for row in rows:
        T = T @ step(*row)
    return T


def remote_centre_rows(q, d_insertion):
    return [(0, PI / 2, 0, q[0] + PI / 2), (0, -PI / 2, 0, q[1] - PI / 2), (0, PI / 2, q[2] + d_insertion, 0)]


def psm_tip(q, d_insertion, d_roll):
    """sawIntuitiveResearchKit 2.4, PSM.json and PSM_Si.json with LARGE_NEEDLE_DRIVER."""
    rows = remote_centre_rows(q, d_insertion)
    rows += [(0, 0, d_roll, q[3]), (0, -PI / 2, 0, q[4] - PI / 2), (0.0091, -PI / 2, 0, q[5] - PI / 2)]
    T_6_tip = np.array([[0, -1, 0, 0], [0, 0, 1, 0], [-1, 0, 0, 0], [0, 0, 0, 1]])
    return product(modified_dh, rows) @ T_6_tip


def ecm_tip(q):
    """sawIntuitiveResearchKit 2.4, ECM.json and ECM_Si.json (the same numbers), straight scope."""
    rows = [*remote_centre_rows(q, -0.3822), (0, 0, 0.3829, q[3])]
    T_4_tip = np.array([[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    return product(modified_dh, rows) @ T_4_tip


def mtm_tip(q):
    """sawIntuitiveResearchKit 2.4, MTML.json and MTMR.json: standard DH, unlike the others."""
    rows = [
        (0, PI / 2, 0, q[0] - PI / 2),
        (0.2794, 0, 0, q[1] - PI / 2),
        (0.3645, -PI / 2, 0, q[2] + PI / 2),
        (0, PI / 2, 0.1506, q[3]),
        (0, -PI / 2, 0, q[4]),
        (0, PI / 2, 0, q[5] - PI / 2),
        (0, 0, 0, q[6] + PI / 2),
    ]
    return product(standard_dh, rows)


TIPS = {
    "PSM": lambda q: psm_tip(q, -0.4318, 0.4162),
    "PSM_Si": lambda q: psm_tip(q, -0.4826, 0.4670),
    "ECM": ecm_tip,
    "ECM_Si": ecm_tip,
    "MTML": mtm_tip,
    "MTMR": mtm_tip,
}


def test_forward_kinematics_equals_the_dvrks_table(mechanism, random_states):
    q = random_states(mechanism, 1000)
    expected = np.array([TIPS[mechanism.arm.name](row) for row in q])
    np.testing.assert_allclose(mechanism.forward_kinematics(q), expected, atol=1e-12)


def test_the_closed_chain_has_the_tip_of_the_serial_table(mechanism, random_states):
    q = random_states(mechanism, 1000)
    np.testing.assert_allclose(mechanism.pose(q, "tip"), mechanism.forward_kinematics(q), atol=1e-12)


def test_all_loops_close(mechanism, states):
    assert mechanism.loop_residual(states).shape == (len(states), len(mechanism.arm.loops))
    assert mechanism.loop_residual(states).max() < 1e-12


def test_loop_residual_detects_a_link_that_does_not_follow(mechanism):
    """With one closure point moved by 1 mm the residual is 1 mm, at every state."""
    loop = mechanism.arm.loops[0]
    moved = dataclasses.replace(loop, point_a=(loop.point_a[0] + 1e-3, *loop.point_a[1:]))
    broken = tr.Mechanism(dataclasses.replace(mechanism.arm, loops=(moved, *mechanism.arm.loops[1:])))
    np.testing.assert_allclose(broken.loop_residual(mechanism.arm.home)[0], 1e-3, rtol=1e-9)


def test_loop_closures_join_different_links_away_from_their_shared_joint(mechanism):
    """A closure at a tree joint of the same two bodies would hold by construction."""
    for loop in mechanism.arm.loops:
        bodies = mechanism.arm.body(loop.body_a), mechanism.arm.body(loop.body_b)
        assert bodies[0].parent != loop.body_b
        assert bodies[1].parent != loop.body_a


def test_the_insertion_axis_passes_through_the_remote_centre(mechanism, states):
    if mechanism.arm.has_rcm:
        assert mechanism.rcm_residual(states).max() < 1e-12
    else:
        with pytest.raises(TrocarError, match="no remote centre"):
            mechanism.rcm_residual(states)


def test_rcm_residual_is_the_distance_from_the_base_origin():
    """A base moved by 2 mm across the insertion axis moves the axis by 2 mm."""
    arm = tr.load_arm("PSM")
    yaw = arm.bodies[0]
    placement = yaw.placement.copy()
    placement[0, 3] += 2e-3
    moved = dataclasses.replace(arm, bodies=(dataclasses.replace(yaw, placement=placement), *arm.bodies[1:]))
    assert tr.Mechanism(moved).rcm_residual(arm.home) == pytest.approx(2e-3, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "geometry", "d_yaw", "distance"),
    [
        ("PSM", "wang2019", 0.0, 0.516),
        ("PSM", "gondokaryono2019", 0.0, 0.4864),  # dVRK setup joints: tip to RCM 0.4864
        ("PSM_Si", "zhou2025", 0.0, 0.63002),
        ("ECM", "gondokaryono2019", -0.2722, 0.6126),  # dVRK setup joints: tip to RCM 0.6126
        ("ECM_Si", "saw", 0.0, 0.63002),
    ],
)
def test_the_remote_centre_is_in_front_of_frame_0_by_the_published_distance(name, geometry, d_yaw, distance):
    yaw = tr.load_arm(name, geometry).bodies[0]
    T_base_0 = yaw.placement @ np.linalg.inv(modified_dh(0, PI / 2, d_yaw, PI / 2))
    np.testing.assert_allclose(T_base_0, behind(distance), atol=1e-12)


@pytest.mark.parametrize("name", REMOTE_CENTRE)
def test_joints_turn_about_the_axes_of_the_dvrk_at_zero(name):
    J = tr.load_mechanism(name).jacobian(np.zeros(tr.load_arm(name).n))
    axes = [(0, -1, 0), (-1, 0, 0), (0, 0, 0), (0, 0, -1), (-1, 0, 0), (0, -1, 0)]
    np.testing.assert_allclose(J[3:].T, axes[: J.shape[1]], atol=1e-12)
    np.testing.assert_allclose(J[:3, 2], (0, 0, -1), atol=1e-12)


@pytest.mark.parametrize("name", ["MTML", "MTMR"])
def test_joints_of_a_master_turn_about_its_axes_at_zero(name):
    mech = tr.load_mechanism(name)
    x, y, z = np.eye(3)
    np.testing.assert_allclose(mech.jacobian(np.zeros(7))[3:].T, [z, -x, -x, z, -x, z, y], atol=1e-12)
    np.testing.assert_allclose(mech.forward_kinematics(np.zeros(7))[:3, 3], (0, -0.3645, -0.1288), atol=1e-12)


@pytest.mark.parametrize("name", REMOTE_CENTRE)
def test_the_shaft_direction_follows_from_yaw_and_pitch(name, random_states):
    mech = tr.load_mechanism(name)
    q = random_states(mech, 20)
    q1, q2, q3 = q[:, 0], q[:, 1], q[:, 2]
    offset = {"PSM": -0.0156, "PSM_Si": -0.0156, "ECM": 0.0007, "ECM_Si": 0.0007}[name]  # d_insertion + d_roll
    direction = np.stack([np.cos(q2) * np.sin(q1), -np.sin(q2), -np.cos(q2) * np.cos(q1)])
    np.testing.assert_allclose(mech.pose(q, "roll")[:, :3, 3].T, (q3 + offset) * direction, atol=1e-12)


def test_the_wrist_yaw_frame_of_a_psm_at_zero_is_that_of_the_dvrk():
    R = tr.load_mechanism("PSM").pose(np.zeros(7), "wrist_yaw")[:3, :3]
    np.testing.assert_allclose(R, [[-1, 0, 0], [0, 0, -1], [0, -1, 0]], atol=1e-12)


# Gondokaryono et al. 2019, Tables 4 and 5: effects of the printed digits.


def printed_psm(q, alpha_2=PI / 2, beta1=0.2908, d_9=-0.2881):
    """Insertion frame 9 and wrist yaw frame 14 of Table 4 in its frame 0."""
    q1, q2, q3, q4, q5, q6 = q[:6]
    rows = [
        (0, PI / 2, 0, q1 + PI / 2),
        (0, alpha_2, 0, PI / 2),
        (-0.0296, 0, 0, q2 - beta1 - PI / 2),
        (0.150, 0, 0, -q2 + beta1 + PI / 2),
        (0.516, 0, 0, q2),
        (0.043, -PI / 2, q3 + d_9, PI / 2),
        (0, 0, 0.4162, q4 - PI / 2),
        (0, PI / 2, 0, q5 - PI / 2),
        (-0.0091, PI / 2, 0, q6 - PI / 2),
    ]
    return product(modified_dh, rows[:6]), product(modified_dh, rows)


def printed_ecm(q, d_1=0.2722, d_9=-0.0953):
    """Insertion frame 9 and tip frame 10 of Table 5 in its frame 0."""
    q1, q2, q3, q4 = q
    rows = [
        (0, PI / 2, d_1, q1 + PI / 2),
        (0, -PI / 2, 0, q2 - 0.3448),
        (0.3047, 0, 0, -q2 + 0.3448 + PI / 2),
        (0.3404, 0, 0, q2),
        (0.103, -PI / 2, q3 + d_9, PI),
        (0, 0, 0.3829, q4),
    ]
    return product(modified_dh, rows[:5]), product(modified_dh, rows)


def distance_from_axis(T, point):
    return np.linalg.norm(np.cross(T[:3, 2], np.asarray(point) - T[:3, 3]))


def swing(mech, random_states, count=50):
    """Random states with all but yaw and pitch at home."""
    q = np.tile(mech.arm.home, (count, 1))
    q[:, :2] = random_states(mech, count)[:, :2]
    return q


def test_psm_alpha_2_as_printed_puts_the_remote_centre_behind_the_base_and_reverses_yaw(random_states):
    mech = tr.load_mechanism("PSM")
    half_turn = np.diag([-1.0, -1.0, 1.0, 1.0])
    for q in swing(mech, random_states):
        assert distance_from_axis(printed_psm(q)[0], (0, -0.4864, 0)) < 2e-5
        assert distance_from_axis(printed_psm(q)[0], (0, 0.4864, 0)) > 0.1
        mirror = q * [-1, 1, 1, 1, 1, 1, 1]
        np.testing.assert_allclose(
            (half_turn @ printed_psm(mirror)[1])[:3, 3] - [0, 0.4864, 0],
            mech.forward_kinematics(q)[:3, 3],
            atol=2e-5,
        )


def test_psm_beta1_and_depth_as_printed_leave_micrometres_at_the_tip(random_states):
    mech = tr.load_mechanism("PSM")
    q = random_states(mech, 300)
    T = np.array([printed_psm(row, alpha_2=-PI / 2)[1] for row in q])
    error = np.linalg.norm(T[:, :3, 3] - [0, 0.4864, 0] - mech.forward_kinematics(q)[:, :3, 3], axis=-1)
    assert error.min() > 8e-6
    assert error.max() < 1.6e-5


def test_psm_beta1_as_printed_misses_the_remote_centre_by_8_micrometres(random_states):
    for q in swing(tr.load_mechanism("PSM"), random_states):
        axis = printed_psm(q, alpha_2=-PI / 2)[0]
        assert distance_from_axis(axis, (0, 0.4864, 0)) == pytest.approx(8.0e-6, abs=1e-6)


def test_psm_beta1_and_depth_as_used_differ_from_print_by_rounding_only():
    mech = tr.Mechanism(tr.load_arm("PSM", "gondokaryono2019"))
    back_bar = mech.pose(np.zeros(7), "back")[:3, 0]
    assert np.arccos(back_bar[2]) == pytest.approx(0.2908, abs=1e-4)
    assert mech.arm.body("insertion").placement[:3, 3] == pytest.approx([0.043, -0.2881, 0], abs=1e-5)


def test_psm_beta2_as_printed_is_the_mirror_image_of_the_one_used():
    """Both place the top bar 36.5 mm from the bottom bar (Table 6, 6-7); only 0.2141 is on the model's side."""
    bottom = 0.150 * np.exp(0.2908j)
    used, printed = 0.1842 * np.exp(0.2141j), 0.1842 * np.exp(0.3675j)
    assert abs(used - bottom) == pytest.approx(0.0365, abs=1e-4)
    assert abs(printed - bottom) == pytest.approx(0.0365, abs=1e-4)
    assert np.angle(used / bottom) == pytest.approx(-np.angle(printed / bottom), abs=1e-12)
    loop = {loop.name: loop for loop in tr.load_arm("PSM", "gondokaryono2019").loops}["c2"]
    assert loop.body_b == "end"
    assert loop.point_b == pytest.approx((0.00388, -0.036293, 0), abs=2e-5)  # joint pose in the authors' SDF


def test_ecm_d_1_as_printed_puts_the_remote_centre_68_mm_from_the_base(random_states):
    for q in swing(tr.load_mechanism("ECM"), random_states):
        assert distance_from_axis(printed_ecm(q)[0], (0, 0.0682, 0)) < 2e-5
        assert distance_from_axis(printed_ecm(q, d_1=-0.2722)[0], (0, 0.6126, 0)) < 2e-5


def test_ecm_depth_as_printed_leaves_a_tenth_of_a_millimetre_along_the_shaft(random_states):
    mech = tr.load_mechanism("ECM")
    for q in random_states(mech, 100):
        tip, expected = printed_ecm(q, d_1=-0.2722)[1], mech.forward_kinematics(q)
        along, across = (tip[:3, 3] - [0, 0.6126, 0] - expected[:3, 3]) @ expected[:3, 2], tip[:3, 2]
        assert along == pytest.approx(0.13e-3, abs=0.01e-3)
        np.testing.assert_allclose(across, expected[:3, 2], atol=1e-12)
    assert -(printed_ecm(np.zeros(4))[1])[2, 3] == pytest.approx(0.83e-3, abs=0.01e-3)
    assert -mech.forward_kinematics(np.zeros(4))[2, 3] == pytest.approx(0.70e-3, abs=1e-9)


def test_ecm_bars_close_where_the_authors_sdf_has_the_joint():
    loop = {loop.name: loop for loop in tr.load_arm("ECM").loops}["c1"]
    assert loop.body_b == "bottom"
    assert loop.point_b == pytest.approx((-0.0365687, 0.0097841, 0), abs=2e-5)


def frames(table):
    """Poses of the frames of a tree {name: (reference, a, alpha, d, theta)} in modified DH, in its frame 0."""
    T = {"0": np.eye(4)}
    for name, (reference, *row) in table.items():
        T[name] = T[reference] @ modified_dh(*row)
    return T


def wang_psm(q, h=PI / 2):
    """Wang et al. 2019, PSM: every frame, lengths as printed."""
    q1, q2, q3, q4, q5, q6, jaw = q
    return {
        "1": ("0", 0, h, 0, q1 + h),
        "2": ("1", 0, -h, 0, q2 - h),
        "3": ("2", 0.04009, 0, 0, h),
        "4": ("3", 0.14454, 0, 0, h - q2),
        "5": ("3", 0.14454 + 0.03808, 0, 0, h - q2),
        "6": ("4", 0.516, 0, 0, q2),
        "7": ("4", 0.096, 0, 0, q2 + PI),
        "8": ("6", 0.04009, -h, q3 - 0.4318 + 0.14454, 0),
        "9": ("2", 0.04009, -h, q3, 0),
        "10": ("8", 0, 0, 0.4162, q4),
        "11": ("10", 0, h, 0, q5 + h),
        "12": ("11", 0.0091, -h, 0, q6 - jaw / 2 + h),
        "13": ("11", 0.0091, -h, 0, q6 + jaw / 2 + h),
    }


def corrected_psm(q, h=PI / 2, beta1=0.2908, beta2=0.2141):
    """Gondokaryono et al. 2019, Table 4 with alpha_2 and beta2 corrected and nothing else."""
    q1, q2, q3, q4, q5, q6, jaw = q
    return {
        "1": ("0", 0, h, 0, q1 + h),
        "2": ("1", 0, -h, 0, h),
        "3": ("2", -0.0296, 0, 0, q2 - beta1 - h),
        "4": ("2", 0.0664, 0, 0, q2 - beta1 - h),
        "5": ("2", -0.0296, 0, 0, q2 - beta2 - h),
        "6": ("3", 0.150, 0, 0, -q2 + beta1 + h),
        "7": ("5", 0.1842, 0, 0, -q2 + beta2 + h),
        "8": ("6", 0.516, 0, 0, q2),
        "9": ("8", 0.043, -h, q3 - 0.2881, h),
        "10": ("3", 0, 0, 0, beta1 + h),
        "11": ("10", -0.1, h, 0.6025 * q3, 0),
        "12": ("9", 0, 0, 0.4162, q4 - h),
        "13": ("12", 0, h, 0, q5 - h),
        "14": ("13", -0.0091, h, 0, q6 - jaw / 2 - h),
        "15": ("13", -0.0091, h, 0, q6 + jaw / 2 - h),
    }


def corrected_ecm(q, h=PI / 2, beta1=0.3448, beta2=0.3229):
    """Gondokaryono et al. 2019, Table 5 with d_1 and a_4 corrected and nothing else."""
    q1, q2, q3, q4 = q
    return {
        "1": ("0", 0, h, -0.2722, q1 + h),
        "2": ("1", -0.0098, -h, 0, h),
        "3": ("1", 0, -h, 0, q2 - beta1),
        "4": ("2", -0.03657, 0, 0, q2 - beta1 - h),
        "5": ("1", 0, -h, 0, q2 - beta2),
        "6": ("3", 0.3047, 0, 0, -q2 + beta1 + h),
        "7": ("5", 0.3419, 0, 0, -q2 + beta2 + h),
        "8": ("6", 0.3404, 0, 0, q2),
        "9": ("8", 0.103, -h, q3 - 0.0953, PI),
        "10": ("9", 0, 0, 0.3829, q4),
    }


def wang_mtm(q, h=PI / 2):
    """Wang et al. 2019, MTM, in its own frame 0; d4 as printed."""
    q1, q2, q3, q4, q5, q6, q7 = q
    return {
        "1": ("0", 0, 0, -0.2154, q1),
        "2": ("1", 0, -h, 0, q2 + h),
        "3": ("2", 0.2794, 0, 0, q3 + h),
        "4": ("1", 0, -h, 0, q2 + q3 + PI),
        "5": ("4", 0.100, 0, 0, -q3 - h),
        "6": ("3", 0.3645, -h, 0.151, q4),
        "7": ("6", 0, h, 0, q5),
        "8": ("7", 0, -h, 0, q6 + h),
        "9": ("8", 0, -h, 0, q7 + PI),
    }


def behind(distance):
    """Frame 0 of a table: axes of the base, this far behind the remote centre."""
    T = np.eye(4)
    T[1, 3] = -distance
    return T


MTM_FRAME_0 = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0.2154], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    ("name", "geometry", "table", "T_base_0", "atol"),
    [
        ("PSM", "wang2019", wang_psm, behind(0.516), 1e-12),
        ("PSM", "gondokaryono2019", corrected_psm, behind(0.4864), 6e-5),  # beta1 to four digits
        ("ECM", "gondokaryono2019", corrected_ecm, behind(0.6126), 1.6e-4),  # depth to four digits
        ("MTML", "wang2019", wang_mtm, MTM_FRAME_0, 4.1e-4),  # d4 0.151 for 0.1506
    ],
)
def test_links_are_the_frames_of_the_published_table(name, geometry, table, T_base_0, atol, random_states):
    """Origin and axes of every link that the table numbers; the dVRK's own wrist frames are not numbered."""
    mech = tr.Mechanism(tr.load_arm(name, geometry))
    labels = {body.label: body.name for body in mech.arm.bodies if body.label}
    assert len(labels) >= 7
    for q in random_states(mech, 10):
        published = frames(table(q))
        for label, body in labels.items():
            np.testing.assert_allclose(mech.pose(q, body), T_base_0 @ published[label], atol=atol, err_msg=body)


def test_si_l_c2_as_printed_leaves_a_tenth_of_a_millimetre_along_the_shaft():
    """PSM_Si_physical.json of sawIntuitiveResearchKit, row by row, against the tree."""
    mech = tr.load_mechanism("PSM_Si")
    q = np.array([0.4, -0.7, 0.11, 0.0, 0.0, 0.0, 0.0])
    q1, q2, q3 = q[:3]
    rows = {
        "yaw": (0, PI / 2, 0, PI / 2 + q1),
        "level": (-0.0712, -PI / 2, 0, PI / 2),
        "back": (0.2913, 0, 0, -2.04193 + q2),
        "middle": (0.203130, 0, 0, 1.83474 - q2),
        "end": (0.346122, 0, 0, 0.207187 + q2),
        "carriage": (0.0602, -PI / 2, -0.1800 + q3 / 2, PI),
        "insertion": (-0.0320, 0, -0.1215 + q3 / 2, 0),
    }
    T = np.eye(4)
    T[1, 3] = -0.63002
    for name, row in rows.items():
        T = T @ modified_dh(*row)
        if name != "level":
            ours = mech.pose(q, name)
            depth = 1e-4 if name in ("carriage", "insertion") else 0.0
            np.testing.assert_allclose(ours[:3, 3], T[:3, 3] - depth * T[:3, 2], atol=2e-6)


# Couplings


def test_the_si_carriage_moves_half_of_the_insertion():
    mech = tr.load_mechanism("PSM_Si")
    low, high = np.array(mech.arm.home), np.array(mech.arm.home)
    high[2] += 0.1
    for frame, travel in (("carriage", 0.05), ("insertion", 0.1), ("tip", 0.1)):
        step = mech.pose(high, frame)[:3, 3] - mech.pose(low, frame)[:3, 3]
        np.testing.assert_allclose(step, (0, 0, -travel), atol=1e-15)


@pytest.mark.parametrize(("geometry", "ratio"), [("wang2019", 1.0), ("gondokaryono2019", 0.6025)])
def test_the_counterweight_rises_as_the_instrument_goes_in(geometry, ratio):
    mech = tr.load_mechanism("PSM", geometry)
    assert mech.arm.counterweight == "counterweight"
    np.testing.assert_allclose(mech.jacobian(np.zeros(7), "counterweight")[:3, 2], (0, 0, ratio), atol=1e-15)


@pytest.mark.parametrize("name", REMOTE_CENTRE)
def test_links_held_by_parallel_bars_turn_with_the_pitch_or_not_at_all(name, random_states):
    mech = tr.load_mechanism(name)
    q = random_states(mech, 1)[0]
    pitch_axis = mech.jacobian(q)[3:, 1]
    turns = {body.name: mech.jacobian(q, body.name)[3:, 1] for body in mech.arm.bodies}
    for body in {"bottom", "top", "middle", "back_bar", "yaw"} & turns.keys():
        np.testing.assert_allclose(turns[body], 0.0, atol=1e-15)
    for body in {"back", "front", "end", "yaw_bar", "insertion", "roll"} & turns.keys():
        np.testing.assert_allclose(turns[body], pitch_axis, atol=1e-15)


def test_the_rod_of_a_master_stays_parallel_to_the_upper_arm(random_states):
    mech = tr.load_mechanism("MTML")
    q = random_states(mech, 20)
    np.testing.assert_allclose(mech.pose(q, "rod")[:, :3, 0], mech.pose(q, "upper_arm")[:, :3, 0], atol=1e-14)


@pytest.mark.parametrize("name", ["PSM", "PSM_Si"])
def test_each_finger_is_driven_by_its_own_disc(name):
    """Wrist yaw minus (plus) half the jaw leaves one of the last two discs only, as the cables are laid."""
    mech = tr.load_mechanism(name)
    q = np.zeros(7)
    for finger, discs in (("finger_left", (1.2178, 0.0)), ("finger_right", (0.0, 1.2178))):
        turn = mech.pose(q, "wrist_yaw")[:3, 2] @ mech.jacobian(q, finger)[3:]  # of the finger, per joint
        np.testing.assert_allclose((turn @ mech.arm.motors.coupling)[5:], discs, atol=1e-4)


@pytest.mark.parametrize("name", ["MTML", "MTMR"])
def test_the_coupling_of_a_master_is_the_matrix_the_dvrk_prints(name):
    expected = np.eye(7)
    expected[2, 1] = -1.0
    expected[3, 1:3] = 0.6697, -0.6697
    np.testing.assert_allclose(tr.load_arm(name).motors.coupling, expected, atol=1e-15)


def test_the_coupling_is_invertible_and_square(arm_mechanism):
    coupling = arm_mechanism.arm.motors.coupling
    assert coupling.shape == (arm_mechanism.n, arm_mechanism.n)
    assert np.linalg.cond(coupling) < 10.0


# Motors. A joint effort is current x gear x torque constant through the coupling, to the digits printed; those of an
# instrument are its own limits.
EFFORTS = {
    "PSM": "3.3161 3.3161 9.8779",
    "PSM_Si": "17.085 17.427 40.9063",  # PSM_Si.json prints 17.0845 twice
    "ECM": "26.932 26.932 80.659 0.8766",
    "ECM_Si": "17.085 34.512 70.900 6.819",  # ECM_Si.json prints 17.0845 and 34.0845
    "MTML": "1.8608 3.2166 1.9598 0.3090 0.0968 0.0968 0.0229",
    "MTMR": "1.8608 3.2166 1.9598 0.3090 0.0968 0.0968 0.0229",
}
FILE_PRINTS = {("PSM_Si", 0): 17.0845, ("PSM_Si", 1): 17.0845, ("ECM_Si", 0): 17.0845, ("ECM_Si", 1): 34.0845}


@pytest.mark.parametrize("name", EFFORTS)
def test_motor_efforts_give_the_joint_efforts(name):
    motors = tr.load_arm(name).motors
    efforts = np.abs(np.linalg.inv(motors.coupling).T) @ motors.effort
    for effort, printed in zip(efforts, EFFORTS[name].split(), strict=False):
        digits = len(printed.split(".")[1])
        assert effort == pytest.approx(float(printed), abs=0.51 * 10**-digits)


@pytest.mark.parametrize("name", EFFORTS)
def test_joint_efforts_are_those_of_the_files(name):
    for i, printed in enumerate(EFFORTS[name].split()):
        assert tr.load_arm(name).joints[i].effort == FILE_PRINTS.get((name, i), float(printed))


# Order, limits, gravity


def test_bodies_are_listed_depth_first(mechanism):
    """All descendants of a body follow it without a gap."""
    names = [b.name for b in mechanism.arm.bodies]
    parents = [-1 if b.parent is None else names.index(b.parent) for b in mechanism.arm.bodies]
    for i in range(len(names)):
        below = {i}
        for k in range(len(names)):
            if parents[k] in below:
                below.add(k)
        assert below == set(range(i, i + len(below)))


def test_bodies_that_are_not_depth_first_are_rejected():
    """The branches of the back bar may change places; one may not interrupt another."""
    arm = tr.load_arm("PSM")
    names = [b.name for b in arm.bodies]
    assert names[:5] == ["yaw", "back", "counterweight", "top", "bottom"]
    rest = names[5:]
    allowed = ["yaw", "back", "top", "counterweight", "bottom", *rest]
    dataclasses.replace(arm, bodies=tuple(arm.body(name) for name in allowed))
    refused = ["yaw", "back", "top", "bottom", "counterweight", *rest]
    with pytest.raises(TrocarError, match=f"depth-first at '{rest[0]}'"):
        dataclasses.replace(arm, bodies=tuple(arm.body(name) for name in refused))


def test_home_is_within_limits_and_limits_are_ordered(mechanism):
    arm = mechanism.arm
    assert (arm.lower < arm.upper).all()
    assert (arm.lower <= arm.home).all()
    assert (arm.home <= arm.upper).all()


def test_facts_are_read_only(mechanism):
    arm = mechanism.arm
    for array in (arm.lower, arm.upper, arm.E, arm.bodies[0].placement, arm.motors.coupling):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_every_block_of_numbers_has_a_source(mechanism):
    sources = mechanism.arm.sources
    assert {"serial", "joints", "geometry", "motors", "gains"} <= sources.keys()
    assert all(len(text) > 10 for text in sources.values())


@pytest.mark.parametrize(
    ("name", "pitch"), [("PSM", 0), ("PSM_Si", 0), ("MTML", 0), ("MTMR", 0), ("ECM", -45), ("ECM_Si", -70)]
)
def test_gravity_follows_the_mounting_of_the_arm(name, pitch):
    """Up is (0, sin p, cos p) in base axes."""
    expected = -9.81 * np.array([0.0, np.sin(np.radians(pitch)), np.cos(np.radians(pitch))])
    np.testing.assert_allclose(tr.load_mechanism(name).gravity_vector, expected, atol=1e-12)
    np.testing.assert_allclose(tr.load_mechanism(name, mounting=np.radians(pitch)).gravity_vector, expected, atol=1e-12)


def test_pitching_a_level_arm_down_tilts_gravity_towards_its_base():
    assert tr.load_mechanism("ECM").gravity_vector == pytest.approx((0.0, 6.9367, -6.9367), abs=1e-4)


def test_gravity_can_be_given_as_a_vector():
    np.testing.assert_array_equal(tr.load_mechanism("PSM", gravity=(1, 2, 3)).gravity_vector, (1.0, 2.0, 3.0))


@pytest.mark.parametrize(("scope", "degrees"), [("straight", 0), ("up", -30), ("down", 30)])
@pytest.mark.parametrize("name", ["ECM", "ECM_Si"])
def test_an_angled_endoscope_tilts_the_view_about_its_x_axis(name, scope, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    q = tr.load_arm(name).home
    straight = tr.load_mechanism(name, instrument="straight").forward_kinematics(q)
    tipped = np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])
    np.testing.assert_allclose(
        tr.load_mechanism(name, instrument=scope).forward_kinematics(q), straight @ tipped, atol=1e-15
    )


# Controllers


@pytest.mark.parametrize("name", tr.arms.ARMS)
def test_every_arm_has_a_controller_with_a_source_and_a_number_for_each_actuator(name):
    arm = tr.arms.load_arm(name)
    assert "sawIntuitiveResearchKit" in arm.sources["controller"]
    per_actuator = [value for value in vars(arm.controller).values() if isinstance(value, tuple)]
    assert [len(value) for value in per_actuator] == [arm.n] * 7
    assert np.isfinite(arm.controller.tracking).all()


def test_controller_constants_are_those_of_the_dvrk():
    psm, si, ecm, mtm = (tr.arms.load_arm(name).controller for name in ("PSM", "PSM_Si", "ECM_Si", "MTML"))
    assert not psm.gravity_compensation
    assert si.output == (10.0, 10.0, 15.0, np.inf, np.inf, np.inf, np.inf)
    assert (si.nominal_mass[2], si.cutoff[2], ecm.cutoff) == (0.005, 20.0, (50.0, 50.0, 0.0, 0.0))
    assert mtm.goal_tolerance == tuple(np.radians([4.0] * 6 + [6.0]))
    assert mtm.pots == (*np.radians([5.0] * 6), np.inf)
    assert psm.pots == (*np.radians([5.0] * 2), 0.005, *np.radians([5.0] * 4))
    assert (mtm.homes_to_zero, mtm.searches_roll, mtm.compensates_positions) == (True, True, False)


def test_constants_of_another_length_are_rejected():
    arm = tr.arms.load_arm("PSM")
    with pytest.raises(TrocarError, match=r"controller\.tracking needs 7 numbers, one for each actuator, got 2"):
        dataclasses.replace(arm, controller=tr.arms.ControllerConstants(tracking=(0.1, 0.1)))
