"""Inverse kinematics: every reachable pose is solved, within limits, nearest to the seed; the others are explained."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trocar as tr
from trocar.mechanics.arm_kinematics import ArmKinematics
from trocar.mechanics.inverse_kinematics import descent, one_pose
from trocar.spatial import pose_error

COUNT = 20_000


def solved(mech, T, seed=None, ignoring=(tr.NearSingular, tr.NearLimit)):
    """Solutions of a batch that may contain poses near a singularity."""
    with warnings.catch_warnings():
        for category in ignoring:
            warnings.simplefilter("ignore", category)
        return mech.inverse_kinematics(T, seed)


def largest_errors(mech, T, q):
    """Largest position error [m] and orientation error [rad] of solutions q."""
    error = pose_error(T, mech.forward_kinematics(q))
    return np.linalg.norm(error[..., :3], axis=-1).max(), np.linalg.norm(error[..., 3:], axis=-1).max()


def excess(mech, q):
    """Largest distance of the tip joints of q outside their limits; negative inside."""
    arm, m = mech.arm, mech.arm.tip_joints
    return np.maximum(arm.lower - q, q - arm.upper)[..., :m].max()


def near_seeds(mech, q, seed=7):
    """q moved by up to 0.2 rad and 10 mm."""
    reach = np.array([0.01 if j.kind == "prismatic" else 0.2 for j in mech.arm.joints])
    return q + reach * np.random.default_rng(seed).uniform(-1.0, 1.0, q.shape)


def seeds_of(kind, mech, q, random_states):
    return near_seeds(mech, q) if kind == "near" else random_states(mech, len(q), seed=8)


def pose_of(mech, q):
    return mech.forward_kinematics(q)


# Poses of states within limits


@pytest.fixture(scope="module", params=["near", "far"])
def many(request, arm_mechanism, random_states):
    """Mechanism, 20,000 states within limits, seeds near or far, and the solutions of their poses."""
    mech = arm_mechanism
    q = random_states(mech, COUNT)
    seed = seeds_of(request.param, mech, q, random_states)
    return mech, q, seed, solved(mech, pose_of(mech, q), seed)


def test_every_pose_of_a_state_within_limits_is_solved_within_limits(many):
    mech, q, _, solution = many
    position, orientation = largest_errors(mech, pose_of(mech, q), solution)
    assert position < 1e-9
    assert orientation < 1e-9
    assert excess(mech, solution) <= 1e-9


def test_no_solution_is_farther_from_the_seed_than_the_state_the_pose_came_from(many):
    mech, q, seed, solution = many
    m = mech.arm.tip_joints
    ours, known = (np.linalg.norm((x - seed)[:, :m], axis=-1) for x in (solution, q))
    assert (ours - known).max() < 1e-6


def test_the_pose_of_the_seed_is_solved_by_the_seed(arm_mechanism, random_states):
    mech = arm_mechanism
    q = random_states(mech, 2000)
    q = q[q[:, 2] > 0.03] if mech.arm.carries == "instrument" else q  # away from the singularities
    np.testing.assert_allclose(mech.inverse_kinematics(pose_of(mech, q), q), q, atol=1e-9)


def test_poses_of_states_on_their_limits_are_solved(arm_mechanism):
    mech = arm_mechanism
    arm, m = mech.arm, mech.arm.tip_joints
    q = np.array(list(itertools.product(*zip(arm.lower[:m], arm.upper[:m], strict=True))))
    q = np.hstack([q, np.zeros((len(q), arm.n - m))])
    T = pose_of(mech, q)
    for seed in (q, None):
        solution = mech.inverse_kinematics(T, seed)
        assert max(largest_errors(mech, T, solution)) < 1e-9
        assert excess(mech, solution) <= 1e-9


def test_without_a_seed_the_solution_is_the_one_nearest_to_home(arm_mechanism, random_states):
    mech = arm_mechanism
    T = pose_of(mech, random_states(mech, 200))
    np.testing.assert_array_equal(solved(mech, T), solved(mech, T, mech.arm.home))


def test_a_batch_is_the_same_as_one_pose_at_a_time(arm_mechanism, random_states):
    mech = arm_mechanism
    q = random_states(mech, 6).reshape(2, 3, -1)
    T, seed = pose_of(mech, q), near_seeds(mech, q)
    batched = solved(mech, T, seed)
    assert batched.shape == q.shape
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(batched[i], solved(mech, T[i], seed[i]), atol=1e-12)


def test_one_seed_can_be_used_for_a_whole_batch(arm_mechanism, random_states):
    mech = arm_mechanism
    q = random_states(mech, 5)
    expected = solved(mech, pose_of(mech, q), np.tile(q[0], (5, 1)))
    np.testing.assert_array_equal(solved(mech, pose_of(mech, q), q[0]), expected)


def test_an_empty_batch_gives_an_empty_batch(arm_mechanism):
    assert arm_mechanism.inverse_kinematics(np.empty((0, 4, 4))).shape == (0, arm_mechanism.n)


# PSM


def test_the_jaw_is_copied_from_the_seed_and_is_zero_without_one():
    mech = tr.load_mechanism("PSM")
    q = np.array([0.1, 0.2, 0.15, 0.3, -0.4, 0.5, 0.9])
    seed = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.7])
    assert mech.inverse_kinematics(pose_of(mech, q), seed)[6] == 0.7
    assert mech.inverse_kinematics(pose_of(mech, q))[6] == 0.0
    assert [s[6] for s in mech.inverse_kinematics_all(pose_of(mech, q), seed)] == [0.7]


@pytest.mark.parametrize("name", ["PSM", "PSM_Si"])
def test_roll_angles_a_turn_apart_are_both_solutions(name):
    mech = tr.load_mechanism(name)
    q = np.array([0.3, -0.2, 0.15, 2.5, 0.4, -0.6, 0.0])
    other = q - 2 * np.pi * np.eye(7)[3]
    for seed, order in ((q, [q, other]), (other, [other, q])):
        np.testing.assert_allclose(mech.inverse_kinematics_all(pose_of(mech, q), seed), order, atol=1e-9)
        np.testing.assert_allclose(mech.inverse_kinematics(pose_of(mech, q), seed), order[0], atol=1e-9)


def test_a_roll_with_one_turn_within_limits_has_one_solution():
    mech = tr.load_mechanism("PSM")
    q = np.array([0.3, -0.2, 0.15, 1.5, 0.4, -0.6, 0.0])
    found = mech.inverse_kinematics_all(pose_of(mech, q), q - 2 * np.pi * np.eye(7)[3])
    np.testing.assert_allclose(found, [q], atol=1e-9)


def test_a_turn_within_limits_is_preferred_to_one_within_tolerance():
    """Roll 5e-4 rad beyond its upper limit is also 5e-4 - 2 pi beyond, far inside: no warning is needed."""
    mech = tr.load_mechanism("PSM")
    q = np.array(mech.arm.home)
    q[3] = mech.arm.upper[3] + 5e-4
    assert mech.inverse_kinematics(pose_of(mech, q), q)[3] == pytest.approx(q[3] - 2 * np.pi, abs=1e-9)


# PSM singularities: det J = -cos q2 . L . (L cos q5 + a), L = q3 - 0.0156


def wrist_at_the_remote_centre(mech, q):
    """L = 0: yaw and pitch of the shaft can be traded for the wrist pitch."""
    q = q.copy()
    q[:, 2] = 0.0156
    return q


def wrist_folded_back_onto_the_remote_centre(mech, q):
    """L cos q5 + a = 0 with the wrist above the remote centre: the tip is on it or on the yaw axis through it."""
    q = q.copy()
    L = -np.linspace(0.0092, 0.0155, len(q))
    q[:, 2] = L + 0.0156
    q[:, 4] = np.arccos(-0.0091 / L) * np.where(np.arange(len(q)) % 2, 1.0, -1.0)
    return q


SINGULARITIES = [wrist_at_the_remote_centre, wrist_folded_back_onto_the_remote_centre]


@pytest.mark.parametrize("offset", [0.0, 1e-13, 1e-11, 1e-9, -1e-9])
@pytest.mark.parametrize("singular", SINGULARITIES)
@pytest.mark.parametrize("name", ["PSM", "PSM_Si"])
def test_poses_at_and_near_a_singularity_are_solved_from_their_own_state(name, singular, offset, random_states):
    mech = tr.load_mechanism(name)
    q = singular(mech, random_states(mech, 100)) + offset * np.array([0, 0, 1, 0, 1, 0, 0])
    T = pose_of(mech, q)
    with pytest.warns(tr.NearSingular, match="100 of 100"):
        solution = solved(mech, T, q, ignoring=[tr.NearLimit])
    assert max(largest_errors(mech, T, solution)) < 1e-9
    assert excess(mech, solution) < 1e-3


@pytest.mark.parametrize("kind", ["near", "far", "home"])
@pytest.mark.parametrize("offset", [0.0, 1e-9])
@pytest.mark.parametrize("singular", SINGULARITIES)
def test_poses_at_and_near_a_singularity_are_solved_from_any_seed(singular, offset, kind, random_states):
    """The joint that is free at the singularity is chosen such that the others stay within limits."""
    mech = tr.load_mechanism("PSM")
    q = singular(mech, random_states(mech, 100)) + offset * np.array([0, 0, 1, 0, 1, 0, 0])
    T = pose_of(mech, q)
    seed = None if kind == "home" else seeds_of(kind, mech, q, random_states)
    with pytest.warns(tr.NearSingular):
        solution = solved(mech, T, seed, ignoring=[tr.NearLimit])
    assert max(largest_errors(mech, T, solution)) < 1e-9


def test_a_singular_pose_keeps_the_free_joint_of_the_seed():
    mech = tr.load_mechanism("PSM")
    q = np.array([0.1, 0.2, 0.0156, 0.0, 0.3, 0.1, 0.0])
    seed = q + np.array([0, 0, 0, 0, 0.05, 0, 0])
    with pytest.warns(tr.NearSingular):
        solution = mech.inverse_kinematics(pose_of(mech, q), seed)
    assert solution[4] == pytest.approx(0.35, abs=1e-12)


def test_the_warning_counts_and_names_the_singular_poses():
    mech = tr.load_mechanism("PSM")
    q = np.tile(mech.arm.home, (2, 3, 1))
    q[0, 2, 2] = q[1, 1, 2] = 0.0156 + 5e-4
    with pytest.warns(tr.NearSingular, match=r"2 of 6 solutions \(first at index \(0, 2\)\)"):
        mech.inverse_kinematics(pose_of(mech, q), q)
    with pytest.warns(tr.NearSingular, match="^the solution is near a singularity"):
        mech.inverse_kinematics(pose_of(mech, q[0, 2]), q[0, 2])


# ECM


@pytest.mark.parametrize("scope", ["straight", "up", "down"])
@pytest.mark.parametrize("name", ["ECM", "ECM_Si"])
def test_poses_of_every_endoscope_are_solved(name, scope, random_states):
    mech = tr.load_mechanism(name, instrument=scope)
    q = random_states(mech, 1000)
    np.testing.assert_allclose(mech.inverse_kinematics(pose_of(mech, q)), q, atol=1e-9)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["ECM", "ECM_Si"])
def test_an_ecm_pose_may_be_off_its_manifold_by_at_most_a_microradian(name, axis):
    mech = tr.load_mechanism(name)
    q = np.array([0.3, -0.4, 0.1, 0.7])

    def tilted(angle):
        T = pose_of(mech, q)
        T[:3, :3] = T[:3, :3] @ Rotation.from_rotvec(angle * np.eye(3)[axis]).as_matrix()
        return T

    np.testing.assert_allclose(mech.inverse_kinematics(tilted(5e-7)), q, atol=1e-6)
    with pytest.raises(tr.Unreachable, match=r"scope axis misses the remote centre by 2e-06 rad \(allowed 1e-06\)"):
        mech.inverse_kinematics(tilted(2e-6))


def test_an_ecm_may_turn_about_its_scope():
    mech = tr.load_mechanism("ECM")
    q = np.array([0.3, -0.4, 0.1, 0.7])
    T = pose_of(mech, q)
    T[:3, :3] = T[:3, :3] @ Rotation.from_rotvec([0, 0, 0.2]).as_matrix()
    np.testing.assert_allclose(mech.inverse_kinematics(T), q + [0, 0, 0, 0.2], atol=1e-12)


# MTM


def family(mech, T, q123, q4):
    """q5, q6, q7 (N,) for platform angles q4 (N,), by SciPy's Euler angles of what the last three joints must do.

    Below joint 4 the dVRK's table is Rz(q5) Ry(q6 - pi/2) Rz(q7 + pi/2).
    """
    q = np.zeros((len(q4), 7))
    q[:, :3], q[:, 3] = q123, q4
    R_4 = mech.pose(q, "wrist_platform")[:, :3, :3] @ Rotation.from_euler("x", 90, degrees=True).as_matrix()
    z1, y, z2 = Rotation.from_matrix(np.swapaxes(R_4, -1, -2) @ T[:3, :3]).as_euler("ZYZ").T
    return z1 + np.pi, np.pi / 2 - y, z2 + np.pi / 2  # the Y-angle is negative within limits: the other Euler set


def nearest_by_brute_force(mech, T, q123, seed, count=20_001):
    """Least distance to the seed over a grid of platform angles and all whole turns, within limits."""
    lower, upper = mech.arm.lower, mech.arm.upper
    q4 = np.linspace(lower[3], upper[3], count)
    values = [q4, *family(mech, T, q123, q4)]
    squares = np.zeros(count)
    for j, value in enumerate(values, start=3):
        turns = value[:, None] + 2 * np.pi * np.arange(-4, 5)
        off = (turns - seed[j]) ** 2
        off[(turns < lower[j]) | (turns > upper[j])] = np.inf
        squares += off.min(-1) if j > 3 else (value - seed[j]) ** 2
    return np.sqrt(squares.min() + ((q123 - seed[:3]) ** 2).sum())


def test_the_family_used_for_brute_force_holds_the_pose(random_states):
    mech = tr.load_mechanism("MTMR")
    q = random_states(mech, 1)[0]
    T = pose_of(mech, q)
    q4 = np.linspace(-1.0, 3.0, 9)
    members = np.column_stack([np.tile(q[:3], (9, 1)), q4, *family(mech, T, q[:3], q4)])
    assert max(largest_errors(mech, np.broadcast_to(T, (9, 4, 4)), members)) < 1e-12


@pytest.mark.parametrize("kind", ["near", "far"])
@pytest.mark.parametrize("name", ["MTML", "MTMR"])
def test_no_member_of_the_family_of_a_master_is_nearer_to_the_seed(name, kind, random_states):
    mech = tr.load_mechanism(name)
    q = random_states(mech, 60, seed=5)
    seed = seeds_of(kind, mech, q, random_states)
    T = pose_of(mech, q)
    solution = mech.inverse_kinematics(T, seed)
    for i in range(len(q)):
        ours = np.linalg.norm(solution[i] - seed[i])
        assert ours < nearest_by_brute_force(mech, T[i], solution[i, :3], seed[i]) + 1e-6


def test_all_turns_of_the_roll_of_a_master_are_listed():
    mech = tr.load_mechanism("MTML")
    q = np.array([0.1, 0.2, -0.1, 0.3, 0.4, 0.2, 0.5])
    found = mech.inverse_kinematics_all(pose_of(mech, q), q)
    turns = sorted(round((x[6] - q[6]) / (2 * np.pi)) for x in found)
    assert turns == [-1, 0, 1]
    np.testing.assert_allclose(found[0], q, atol=1e-9)
    assert max(largest_errors(mech, np.tile(pose_of(mech, q), (3, 1, 1)), np.array(found))) < 1e-9


# Limits and unreachable poses

BOUNDED = {  # joints that no other solution can replace
    "PSM": (0, 1, 2, 4, 5),
    "PSM_Si": (0, 1, 2, 4, 5),
    "ECM": (0, 1, 2, 3),
    "ECM_Si": (0, 1, 2, 3),
    "MTML": (0, 1, 2),
    "MTMR": (0, 1, 2),
}


@pytest.fixture(params=[(name, j, side) for name in BOUNDED for j in BOUNDED[name] for side in (-1, 1)])
def beyond(request):
    """`beyond(x)`: mechanism, joint and a state that is x outside one limit of that joint."""
    name, j, side = request.param
    mech = tr.load_mechanism(name)

    def state(amount):
        q = np.array(mech.arm.home)
        q[j] = mech.arm.upper[j] + amount if side > 0 else mech.arm.lower[j] - amount
        return q

    return mech, j, state


def test_a_pose_just_outside_a_limit_is_solved_with_a_warning(beyond):
    mech, _, state = beyond
    with pytest.warns(tr.NearLimit, match="by less than 0.001"):
        q = solved(mech, pose_of(mech, state(5e-4)), state(0.0), ignoring=[tr.NearSingular])
    np.testing.assert_allclose(q, state(5e-4), atol=1e-9)


def test_a_pose_outside_a_limit_is_unreachable_and_the_error_names_the_joint(beyond):
    mech, j, state = beyond
    name = mech.arm.joint_names[j]
    with pytest.raises(tr.Unreachable, match=rf"joint {j + 1} \({name}\) violates .* <= .* <= .*") as caught:
        mech.inverse_kinematics(pose_of(mech, state(5e-3)), state(0.0))
    assert caught.value.index == ()
    lower, value, upper = (float(x) for x in caught.value.reason.split("violates ")[1].rsplit(" ", 1)[0].split(" <= "))
    assert (lower, upper) == pytest.approx((mech.arm.lower[j], mech.arm.upper[j]), rel=1e-5)
    assert value == pytest.approx(state(5e-3)[j], rel=1e-5)
    assert mech.inverse_kinematics_all(pose_of(mech, state(5e-3)), state(0.0)) == []


def test_the_error_of_an_unreachable_pose_reports_its_depth():
    mech = tr.load_mechanism("PSM")
    T = pose_of(mech, mech.arm.home)
    T[2, 3] = -1.0
    with pytest.raises(tr.Unreachable, match=r"joint 3 \(insertion\) violates 0 <= 1\.0\d* <= 0\.24 m"):
        mech.inverse_kinematics(T)


def test_the_error_of_an_unreachable_master_pose_reports_the_span_of_the_arm():
    mech = tr.load_mechanism("MTML")
    T = pose_of(mech, mech.arm.home)
    T[1, 3] = -1.0
    with pytest.raises(tr.Unreachable, match=r"1\.0\d\d m from the shoulder; the arm spans 0\.115 to 0\.674 m"):
        mech.inverse_kinematics(T)


def test_one_bad_pose_of_a_batch_is_named(arm_mechanism):
    mech = arm_mechanism
    T = np.tile(pose_of(mech, mech.arm.home), (2, 3, 1, 1))
    T[1, 0, :3, 3] *= 10.0
    with pytest.raises(tr.Unreachable, match=r"^pose at index \(1, 0\) is unreachable: ") as caught:
        mech.inverse_kinematics(T)
    assert caught.value.index == (1, 0)
    T[1, 2, :3, 3] *= 10.0
    with pytest.raises(tr.Unreachable, match=r"^pose at index 3 .*\(1 more poses? of the batch fails? too\)"):
        mech.inverse_kinematics(T.reshape(6, 4, 4))


# Damped least squares


def test_damped_least_squares_agrees_with_the_closed_form(arm_mechanism, random_states):
    mech = arm_mechanism
    arm = mech.arm
    middle, half = 0.5 * (arm.lower + arm.upper), 0.5 * (arm.upper - arm.lower)
    q = middle + 0.6 * (random_states(mech, 200) - middle)
    assert (np.abs(q - middle) <= 0.6 * half).all()
    seed = near_seeds(mech, q)
    seed[:, arm.tip_joints :] = q[:, arm.tip_joints :]
    T = pose_of(mech, q)
    numeric = mech.inverse_kinematics_numeric(T, seed)
    position, orientation = largest_errors(mech, T, numeric)
    assert position < 1e-9
    assert orientation < 1e-8  # 1e-9 m at a length of 0.1 m
    assert excess(mech, numeric) <= 0.0
    if arm.tip_joints <= 6:  # redundant: another member of the family
        np.testing.assert_allclose(numeric, mech.inverse_kinematics(T, seed), atol=1e-6)


def test_damped_least_squares_reports_the_remaining_error(arm_mechanism):
    mech = arm_mechanism
    T = np.tile(pose_of(mech, mech.arm.home), (3, 1, 1))
    T[1, :3, 3] *= 10.0
    with pytest.raises(tr.Unreachable, match=r"index 1 .* stopped .* m short; try another seed"):
        mech.inverse_kinematics_numeric(T, mech.arm.home)


# One pose in plain numbers


@pytest.mark.parametrize("name", ["PSM", "PSM_Si"])
def test_the_scalar_solution_of_one_pose_equals_the_batch_form(name, random_states):
    mech = tr.load_mechanism(name)
    solve, q = one_pose.solver(mech.arm), random_states(mech, 300)
    for seed in (near_seeds(mech, q), seeds_of("far", mech, q, random_states)):
        T = pose_of(mech, q)
        found = [solve(one, near) for one, near in zip(T, seed, strict=True)]
        taken = [k for k, one in enumerate(found) if one is not None]
        assert len(taken) > 250  # the others are near a singularity
        np.testing.assert_allclose([found[k] for k in taken], solved(mech, T[taken], seed[taken]), rtol=0, atol=1e-11)


def test_a_wrist_that_can_reach_both_signs_is_solved(random_states):
    mech = tr.load_mechanism("PSM")
    wide = replace(
        mech.arm,
        joints=tuple(replace(j, lower=-2.5, upper=2.5) if j.name.startswith("wrist") else j for j in mech.arm.joints),
    )
    q, solve, both = random_states(mech, 50), one_pose.solver(wide), ArmKinematics(wide)
    T, seed = both.forward_kinematics(q), near_seeds(mech, q)
    for k in range(50):
        found = solve(T[k], seed[k])
        if found is not None:
            np.testing.assert_allclose(found, solved(both, T[k : k + 1], seed[k : k + 1])[0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["MTML", "MTMR"])
def test_a_master_is_solved_in_closed_form_at_a_platform_angle(name, random_states):
    mech = tr.load_mechanism(name)
    arm = mech.arm
    q = random_states(mech, 300)
    T = pose_of(mech, q)
    for k in range(300):
        np.testing.assert_allclose(mech.inverse_kinematics_at_platform(T[k], q[k, 3], q[k]), q[k], rtol=0, atol=1e-9)
    # at another angle the pose is the same, and the numerical form held there agrees
    shifted = 0
    for k in range(60):
        angle = np.clip(q[k, 3] + 0.1, arm.lower[3], arm.upper[3])
        try:
            found = mech.inverse_kinematics_at_platform(T[k], angle, q[k])
        except tr.Unreachable:
            continue
        shifted += 1
        position, orientation = largest_errors(mech, T[k : k + 1], found[None])
        assert (position < 1e-12, orientation < 1e-12, found[3] == angle) == (True, True, True)
        lower, upper = arm.lower.copy(), arm.upper.copy()
        lower[3] = upper[3] = angle
        numeric, error = descent.solved(arm, T[k : k + 1], found[None] + 0.01 * (np.arange(7) != 3), lower, upper)
        assert error[0] < 1e-9
        np.testing.assert_allclose(found, numeric[0], rtol=0, atol=1e-9)
    assert shifted > 30


def test_a_platform_angle_without_solution_is_rejected():
    master, psm = tr.load_mechanism("MTML"), tr.load_mechanism("PSM")
    T = pose_of(master, master.arm.home)
    far = T.copy()
    far[1, 3] = -1.0
    for pose, angle in ((far, 0.0), (T, 10.0)):
        with pytest.raises(tr.Unreachable, match=r"with the platform at"):
            master.inverse_kinematics_at_platform(pose, angle, master.arm.home)
    for wrong in (np.nan, np.inf):
        with pytest.raises(tr.TrocarError, match="platform must be a finite angle"):
            master.inverse_kinematics_at_platform(T, wrong)
    with pytest.raises(tr.TrocarError, match="one pose"):
        master.inverse_kinematics_at_platform(T[None], 0.0)
    with pytest.raises(tr.TrocarError, match="PSM has no wrist platform"):
        psm.inverse_kinematics_at_platform(pose_of(psm, psm.arm.home), 0.0)


def test_pose_and_jacobian_in_one_call_equal_separate_calls(arm_mechanism, random_states):
    for q in random_states(arm_mechanism, 5):
        T, J = arm_mechanism.pose_and_jacobian(q)
        np.testing.assert_allclose(T, arm_mechanism.forward_kinematics(q), rtol=0, atol=1e-13)
        np.testing.assert_allclose(J, arm_mechanism.jacobian(q), rtol=0, atol=1e-13)


def test_an_insertion_longer_by_2_pi_metres_is_no_solution():
    mechanism = tr.load_mechanism("PSM")
    q = np.array([0.7, -0.8, 0.2, -1.2, 0.0, 0.0, 0.0])
    T = mechanism.forward_kinematics(q)
    T[:3, 3] += 2.0 * np.pi * (T[:3, 3] - mechanism.forward_kinematics(q - 0.1 * np.eye(7)[2])[:3, 3]) / 0.1
    for pose in (T, T[None]):
        with pytest.raises(tr.Unreachable):
            mechanism.inverse_kinematics(pose)
    assert mechanism.inverse_kinematics_all(T) == []
