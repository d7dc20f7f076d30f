"""Singular sets: the closed forms equal the determinants, vanish where the rank drops, and give true distances."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from trocar.mechanics.singularities import (
    condition_number,
    manipulability,
    scaled_jacobian,
    singular_sets,
    singular_values,
    singularity,
)


@pytest.fixture
def mechanism(arm_mechanism):
    """Each arm in turn: the tip is that of the serial table, for any link geometry."""
    return arm_mechanism


def with_lengths(mechanism, a_wrist, d_roll):
    """A PSM whose instrument has another wrist length and roll length [m]."""
    arm = mechanism.arm
    serial = list(arm.serial)
    for index, entry, value in ((3, (2, 3), d_roll), (5, (0, 3), a_wrist)):
        placement = np.array(serial[index].placement)
        placement[entry] = value
        serial[index] = replace(serial[index], placement=placement)
    return tr.Mechanism(replace(arm, serial=tuple(serial)))


def numeric(mechanism, q):
    """The determinant of the closed form, and the product of column norms that bounds its rounding error."""
    J = mechanism.jacobian(q)
    J_t = np.swapaxes(J, -1, -2)
    gram = {6: J, 4: J_t @ J, 7: J @ J_t}[mechanism.arm.tip_joints]
    return np.linalg.det(gram), np.linalg.norm(gram, axis=-2).prod(-1)


def far_states(mechanism, count=2000, seed=3):
    """States far outside the limits: angles of several turns, insertions of +-2 m."""
    reach = np.array([2.0 if j.kind == "prismatic" else 12.0 for j in mechanism.arm.joints])
    return reach * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, mechanism.n))


def moved(mechanism, q, route, fraction=1.0):
    q = np.array(q)
    for i, name in enumerate(route.joints):
        q[..., mechanism.arm.joint_names.index(name)] += fraction * route.move[..., i]
    return q


# The determinant


@pytest.mark.parametrize("where", ["inside", "far outside"])
def test_the_closed_form_is_the_determinant(mechanism, random_states, where):
    q = random_states(mechanism, 2000) if where == "inside" else far_states(mechanism)
    expected, scale = numeric(mechanism, q)
    assert np.abs((singularity(mechanism, q).determinant - expected) / scale).max() < 1e-12
    assert np.abs(expected / scale).max() > 1e-3


@pytest.mark.parametrize(("a_wrist", "d_roll"), [(0.0, 0.4162), (0.0107, 0.4162), (0.0112, 0.467), (0.08, 0.3)])
def test_the_closed_form_holds_for_every_wrist_and_roll_length(a_wrist, d_roll):
    mechanism = with_lengths(tr.load_mechanism("PSM"), a_wrist, d_roll)
    for q in (far_states(mechanism), 0.2 * far_states(mechanism, seed=4)):
        expected, scale = numeric(mechanism, q)
        assert np.abs((singularity(mechanism, q).determinant - expected) / scale).max() < 1e-12


def test_the_numbers_of_the_large_needle_driver():
    psm = tr.load_mechanism("PSM")
    q = np.array([0.3, 0.5, 0.12, 1.0, 0.7, -0.4, 0.0])
    L = 0.12 - 0.0156
    by_hand = -np.cos(0.5) * L * (L * np.cos(0.7) + 0.0091)
    assert singularity(psm, q).determinant == pytest.approx(by_hand, rel=1e-12)


def test_manipulability_follows_from_the_determinant(mechanism, random_states):
    q, length = random_states(mechanism, 500), 0.07
    found = singularity(mechanism, q)
    closed = {
        6: lambda: np.abs(found.determinant) / length**2,
        4: lambda: np.abs(found.factors["pitch"]) * (1.0 + (_depth(mechanism, q) / length) ** 2),
        7: lambda: np.sqrt(found.determinant) / length**3,
    }[mechanism.arm.tip_joints]()
    np.testing.assert_allclose(manipulability(mechanism, q, length), closed, rtol=1e-9, atol=1e-12)


def _depth(mechanism, q):
    """Signed depth of the tip of an ECM below the remote centre [m]."""
    T = mechanism.forward_kinematics(q)
    return np.sign(q[:, 2] + 0.0007) * np.linalg.norm(T[:, :3, 3], axis=-1)


# Rank


def test_every_route_ends_where_the_rank_drops(mechanism, random_states):
    q = np.vstack([random_states(mechanism, 200), far_states(mechanism, 200)])
    found = singularity(mechanism, q)
    assert {route.factor for route in found.routes} == set(found.factors)
    for route in found.routes:
        reachable = np.isfinite(route.distance)
        assert reachable.any()
        there = moved(mechanism, q, route)[reachable]
        assert np.abs(singularity(mechanism, there).factors[route.factor]).max() < 1e-12
        assert singular_values(mechanism, there)[:, -1].max() < 1e-11


def test_no_smaller_move_of_that_joint_reaches_the_set(mechanism, random_states):
    q = np.vstack([random_states(mechanism, 60), far_states(mechanism, 60)])
    found = singularity(mechanism, q)
    for route in found.routes:
        rows = np.isfinite(route.distance)
        start = np.sign(found.factors[route.factor][rows])
        for fraction in np.linspace(-0.999, 0.999, 20):
            value = singularity(mechanism, moved(mechanism, q, route, fraction)[rows]).factors[route.factor]
            np.testing.assert_array_equal(np.sign(value), start)


def test_where_no_factor_vanishes_the_rank_is_full(mechanism, random_states):
    q = np.vstack([random_states(mechanism, 2000), far_states(mechanism, 2000)])
    found = singularity(mechanism, q)
    away = np.min([np.abs(f) for f in found.factors.values()], axis=0) > 1e-3
    assert away.mean() > 0.5
    rank = np.linalg.matrix_rank(mechanism.jacobian(q[away]), tol=1e-9)
    assert (rank == min(6, mechanism.arm.tip_joints)).all()


def test_the_gimbal_of_an_mtm_needs_both_joints_at_once():
    mtm = tr.load_mechanism("MTML")
    yaw_only = np.array([0.2, 0.4, -0.3, 0.5, 0.6, np.pi / 2, 0.1])
    both = np.array([0.2, 0.4, -0.3, 0.5, 0.0, np.pi / 2, 0.1])
    assert singularity(mtm, yaw_only).smallest_singular_value > 0.1
    assert singularity(mtm, both).smallest_singular_value < 1e-15


def test_an_ecm_keeps_its_rank_with_the_tip_at_the_remote_centre_but_loses_two_directions_of_motion():
    ecm = tr.load_mechanism("ECM")
    q = np.array([0.2, 0.3, -0.0007, 0.1])
    J = ecm.jacobian(q)
    assert np.linalg.matrix_rank(J, tol=1e-12) == 4
    assert np.linalg.matrix_rank(J[:3], tol=1e-12) == 1


# Distances


def test_the_nearest_set_and_its_distance():
    psm = tr.load_mechanism("PSM")
    shallow, steep = np.zeros(7), np.zeros(7)
    shallow[[2, 4]] = 0.0256, 0.1
    steep[[1, 2]] = 1.5, 0.2
    found = singularity(psm, np.stack([shallow, steep]), length=0.1)
    assert found.nearest.tolist() == ["pivot", "pitch"]
    np.testing.assert_allclose(found.distance, [0.01, 0.1 * (np.pi / 2 - 1.5)], rtol=1e-12)


def test_a_short_depth_cannot_be_made_singular_by_bending_the_wrist():
    q = np.zeros(7)
    q[2] = 0.0156 + 0.005  # less than the wrist length
    routes = {(r.factor, r.joints): r for r in singularity(tr.load_mechanism("PSM"), q).routes}
    assert routes["wrist", ("wrist_pitch",)].distance == np.inf
    assert routes["wrist", ("insertion",)].move[0] == pytest.approx(-0.0091 - 0.005, rel=1e-12)


def test_the_smallest_singular_value_is_the_least_change_of_the_jacobian_that_makes_it_singular(mechanism):
    q = np.array(mechanism.arm.home)
    J = scaled_jacobian(mechanism, q)
    U, s, V_t = np.linalg.svd(J)
    k = len(s) - 1
    worst = J - s[k] * np.outer(U[:, k], V_t[k])
    assert singularity(mechanism, q).smallest_singular_value == pytest.approx(s[k])
    assert np.linalg.svd(worst, compute_uv=False)[k] < 1e-14
    assert condition_number(mechanism, q) == pytest.approx(s[0] / s[k])


def test_the_scaled_jacobian_does_not_depend_on_the_unit_of_length():
    """In millimetres with a length of 100 mm, the same numbers as in metres with 0.1 m."""
    psm = tr.load_mechanism("PSM")
    q = np.array(psm.arm.home)
    J = psm.jacobian(q)
    in_mm = np.array(J)
    in_mm[:3] *= 1000.0
    in_mm[:, 2] /= 1000.0
    in_mm[:3] /= 100.0
    in_mm[:, 2] *= 100.0
    np.testing.assert_allclose(scaled_jacobian(psm, q, 0.1), in_mm, atol=1e-15)


# Limits


@pytest.mark.parametrize("name", ["PSM", "PSM_Si"])
def test_a_psm_is_singular_within_limits_only_for_insertions_up_to_15_6_mm(name, random_states):
    mechanism = tr.load_mechanism(name)
    sets = {s.name: s for s in singular_sets(mechanism)}
    assert [name for name, s in sets.items() if s.inside] == ["pivot", "wrist"]
    assert sets["pitch"].joint_ranges == {}
    assert sets["pivot"].joint_ranges["insertion"] == pytest.approx((0.0156, 0.0156))
    assert sets["wrist"].joint_ranges["insertion"] == pytest.approx((0.0, 0.0065), abs=1e-12)
    bend = np.arccos(0.0091 / 0.0156)
    assert sets["wrist"].joint_ranges["wrist_pitch"] == pytest.approx((-bend, bend))
    q = random_states(mechanism, 20_000)
    deep = q[:, 2] > 0.0157
    determinant = singularity(mechanism, q).determinant
    assert (determinant[deep] < 0.0).all()
    assert (determinant[~deep] > 0.0).any()


@pytest.mark.parametrize("name", ["ECM", "ECM_Si", "MTML", "MTMR"])
def test_the_other_arms_are_never_singular_within_limits(name):
    for found in singular_sets(tr.load_mechanism(name)):
        assert not found.inside
        assert found.joint_ranges == {}


def test_factor_ranges_are_those_of_a_dense_sample(mechanism, random_states):
    lower, upper = mechanism.arm.lower, mechanism.arm.upper
    corners = np.array(list(itertools.product(*zip(lower, upper, strict=True))))
    q = np.vstack([random_states(mechanism, 20_000), corners, np.clip(np.zeros(mechanism.n), lower, upper)])
    factors = singularity(mechanism, q).factors
    for found in singular_sets(mechanism):
        (low, high), values = found.factor_range, factors[found.name]
        assert low - 1e-12 <= values.min()
        assert values.max() <= high + 1e-12
        assert max(values.min() - low, high - values.max()) < 0.02 * (high - low)


def test_wider_limits_contain_more_singular_sets():
    psm = tr.load_mechanism("PSM")
    wide = {"pitch": (-2.0, 1.0), "wrist_pitch": (-0.5, 2.0)}
    joints = tuple(
        replace(j, lower=wide[j.name][0], upper=wide[j.name][1]) if j.name in wide else j for j in psm.arm.joints
    )
    mechanism = tr.Mechanism(replace(psm.arm, joints=joints))
    sets = {s.name: s for s in singular_sets(mechanism)}
    assert sets["pitch"].joint_ranges["pitch"] == pytest.approx((-np.pi / 2, -np.pi / 2))
    # deep in, the wrist must bend backwards: cos q5 = -a / L, between q5 = 2 rad and the deepest insertion
    shallow = 0.0091 / -np.cos(2.0)
    assert sets["wrist"].joint_ranges["insertion"] == pytest.approx((0.0, 0.24), abs=1e-12)
    assert sets["wrist"].joint_ranges["wrist_pitch"] == pytest.approx((-0.5, 2.0))
    assert shallow < 0.2244
    q = np.zeros(7)
    q[[2, 4]] = shallow + 0.0156, 2.0
    assert singularity(mechanism, q).smallest_singular_value < 1e-15


# Shapes and mistakes


def test_batches_keep_their_axes(mechanism, random_states):
    q = random_states(mechanism, 6).reshape(2, 3, -1)
    found, one = singularity(mechanism, q), singularity(mechanism, q[1, 2])
    shapes = {found.determinant.shape, found.distance.shape, found.nearest.shape, found.smallest_singular_value.shape}
    assert shapes == {(2, 3)}
    assert found.determinant[1, 2] == pytest.approx(one.determinant, rel=1e-12)
    assert found.nearest[1, 2] == one.nearest
    assert all(route.move.shape == (2, 3, len(route.joints)) for route in found.routes)


@pytest.mark.parametrize("length", [0.0, -0.1, np.nan, np.inf, "0.1"])
def test_an_invalid_length_is_rejected(length):
    with pytest.raises(tr.TrocarError, match="length must be positive"):
        singularity(tr.load_mechanism("ECM"), np.zeros(4), length)


def test_a_state_of_the_wrong_size_is_rejected():
    with pytest.raises(tr.TrocarError, match="has 4 values"):
        singularity(tr.load_mechanism("ECM"), np.zeros(5))


def test_an_arm_without_a_closed_form_has_its_determinant_numerically():
    psm = tr.load_mechanism("PSM")
    turned = np.array(psm.arm.serial[5].placement)
    turned[1, 3] = 0.01
    serial = (*psm.arm.serial[:5], replace(psm.arm.serial[5], placement=turned))
    other = tr.Mechanism(replace(psm.arm, serial=serial))
    q = np.array([[0.2, 0.3, 0.1, 0.4, 0.5, -0.2, 0.0], [0.2, np.pi / 2, 0.1, 0.4, 0.5, -0.2, 0.0]])
    found = singularity(other, q)
    np.testing.assert_allclose(found.determinant, np.linalg.det(other.jacobian(q)), atol=1e-15)
    assert abs(found.determinant[0]) > 1e-4 > 1e-12 > abs(found.determinant[1])  # cos q2 = 0 is still singular
    assert found.smallest_singular_value[0] > 0.01 > 1e-12 > found.smallest_singular_value[1]
    assert found.factors == {}
    assert np.isnan(found.distance).all()
    with pytest.raises(tr.TrocarError, match="no closed form"):
        singular_sets(other)
