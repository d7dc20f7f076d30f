"""Rotations and poses agree with SciPy, also near zero and near a half turn."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from trocar import spatial
from trocar.errors import TrocarError

RANGES = {
    "any": (0.0, np.pi),
    "within 1e-9 of zero": (0.0, 1e-9),
    "below 1e-12": (0.0, 1e-12),
    "within 1e-9 of pi": (np.pi - 1e-9, np.pi),
    "zero": (0.0, 0.0),
}


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def axes(rng):
    v = rng.normal(size=(200, 3))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


@pytest.fixture(params=RANGES)
def rotvecs(request, rng, axes):
    return axes * rng.uniform(*RANGES[request.param], (200, 1))


@pytest.fixture
def poses(rng):
    """Random poses (2, 3, 4, 4)."""
    T = np.zeros((2, 3, 4, 4))
    T[..., :3, :3] = Rotation.random(6, rng=rng).as_matrix().reshape(2, 3, 3, 3)
    T[..., :3, 3] = rng.normal(size=(2, 3, 3))
    T[..., 3, 3] = 1.0
    return T


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_rotation_about_an_axis_is_scipys(axis, rng):
    angle = rng.uniform(-7.0, 7.0, (4, 5))
    expected = Rotation.from_euler(axis, angle.reshape(-1, 1)).as_matrix().reshape(4, 5, 3, 3)
    np.testing.assert_allclose(spatial.rotation(axis, angle), expected, atol=1e-15)


def test_quaternion_is_scipys_up_to_sign(rotvecs):
    rotation = Rotation.from_rotvec(rotvecs)
    ours = spatial.quaternion(rotation.as_matrix())
    expected = rotation.as_quat(scalar_first=True)
    sign = np.sign((ours * expected).sum(-1, keepdims=True))
    np.testing.assert_allclose(ours * sign, expected, atol=1e-15)
    # the small components keep their digits: relative, not absolute
    small = np.abs(expected) < 1e-6
    np.testing.assert_allclose((ours * sign)[small], expected[small], rtol=1e-6, atol=1e-16)


def test_quaternion_of_one_matrix_is_bit_identical_to_that_of_a_batch(rotvecs):
    matrices = Rotation.from_rotvec(rotvecs).as_matrix()
    one_by_one = np.array([spatial.quaternion(R) for R in matrices])
    np.testing.assert_array_equal(one_by_one, spatial.quaternion(matrices))
    assert np.isnan(spatial.quaternion(np.full((3, 3), np.nan))).all()


def test_rotation_vector_inverts_the_exponential(rotvecs):
    ours = spatial.rotation_vector(Rotation.from_rotvec(rotvecs).as_matrix())
    # within 1e-9 of pi the axis may come back reversed: that is the same rotation to 2e-9
    flip = np.where((ours * rotvecs).sum(-1, keepdims=True) < 0, -1.0, 1.0)
    atol = 2e-9 if (flip < 0).any() else 1e-14
    np.testing.assert_allclose(ours * flip, rotvecs, atol=atol)


def test_rotation_vector_is_accurate_near_zero(rng, axes):
    tiny = axes * rng.uniform(1e-15, 1e-9, (200, 1))
    ours = spatial.rotation_vector(Rotation.from_rotvec(tiny).as_matrix())
    np.testing.assert_allclose(ours, tiny, rtol=1e-9)


@pytest.mark.parametrize("axis", np.eye(3))
def test_rotation_vector_of_an_exact_half_turn_has_length_pi(axis):
    R = 2.0 * np.outer(axis, axis) - np.eye(3)
    np.testing.assert_allclose(np.abs(spatial.rotation_vector(R)), np.pi * axis, atol=1e-15)


def test_rotation_vector_handles_batches(axes):
    R = Rotation.from_rotvec(axes).as_matrix().reshape(10, 20, 3, 3)
    np.testing.assert_allclose(spatial.rotation_vector(R), axes.reshape(10, 20, 3), atol=1e-14)


def test_inverse_is_the_matrix_inverse(poses):
    np.testing.assert_allclose(spatial.inverse(poses), np.linalg.inv(poses), atol=1e-14)


def test_skew_is_the_cross_product(rng):
    u, v = rng.normal(size=(2, 5, 3))
    np.testing.assert_allclose((spatial.skew(u) @ v[..., None])[..., 0], np.cross(u, v), atol=1e-15)


def test_pose_error_moves_one_pose_onto_the_other(poses):
    T, target = poses
    error = spatial.pose_error(target, T)
    np.testing.assert_allclose(T[:, :3, 3] + error[:, :3], target[:, :3, 3], atol=1e-15)
    turned = Rotation.from_rotvec(error[:, 3:]).as_matrix() @ T[:, :3, :3]
    np.testing.assert_allclose(turned, target[:, :3, :3], atol=1e-13)


def test_mdh_is_the_product_of_its_four_steps():
    a, alpha, d, theta = 0.3, -0.7, 0.2, 1.9
    steps = [np.eye(4) for _ in range(4)]
    steps[0][0, 3], steps[2][2, 3] = a, d
    steps[1][:3, :3] = Rotation.from_euler("x", alpha).as_matrix()
    steps[3][:3, :3] = Rotation.from_euler("z", theta).as_matrix()
    np.testing.assert_allclose(spatial.mdh(a, alpha, d, theta), np.linalg.multi_dot(steps), atol=1e-15)


@pytest.mark.parametrize("alpha", [-np.pi / 2, 0.0, np.pi / 2])
@pytest.mark.parametrize("theta", [-np.pi / 2, 0.0, np.pi / 2, np.pi])
def test_mdh_quarter_turns_are_exact(alpha, theta):
    R = spatial.mdh(alpha=alpha, theta=theta)[:3, :3]
    assert set(np.abs(R).ravel()) == {0.0, 1.0}


def test_checked_pose_returns_a_valid_pose_unchanged(poses):
    np.testing.assert_array_equal(spatial.checked_pose(poses.tolist()), poses)


def test_checked_pose_allows_single_precision(poses):
    assert spatial.checked_pose(poses.astype(np.float32)).dtype == float


def scaled(T):
    T[..., :3, :3] *= 1.001


def mirrored(T):
    T[..., :3, 0] *= -1.0


def transposed(T):
    T[...] = np.swapaxes(T.copy(), -1, -2)


def not_finite(T):
    T[..., 0, 3] = np.inf


FAULTS = [(scaled, "not a rotation"), (mirrored, "reflection"), (transposed, "transposed"), (not_finite, "infinite")]


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_checked_pose_names_the_fault(fault, message, poses):
    T = poses[0, 0]
    fault(T)
    with pytest.raises(TrocarError, match=f"^the pose .*{message}"):
        spatial.checked_pose(T)


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_checked_pose_names_the_row_of_a_batch(fault, message, poses):
    fault(poses[1:, 2])
    with pytest.raises(TrocarError, match=rf"index \(1, 2\).*{message}"):
        spatial.checked_pose(poses)
    with pytest.raises(TrocarError, match=rf"index 5 .*{message}"):
        spatial.checked_pose(poses.reshape(6, 4, 4))


@pytest.mark.parametrize("shape", [(3, 3), (4,), (), (2, 4, 3)])
def test_checked_pose_rejects_other_shapes(shape):
    with pytest.raises(TrocarError, match=r"shape \(\.\.\., 4, 4\), got"):
        spatial.checked_pose(np.zeros(shape))


@pytest.mark.parametrize("junk", ["pose", [[1.0], [1.0, 2.0]], None, {"R": 1}])
def test_checked_pose_rejects_values_that_are_not_numbers(junk):
    with pytest.raises(TrocarError):
        spatial.checked_pose(junk)


def test_the_inverse_of_one_pose_is_that_of_a_batch_to_the_bit():
    rng = np.random.default_rng(3)
    T = np.tile(np.eye(4), (200, 1, 1))
    T[:, :3, :3], T[:, :3, 3] = Rotation.random(200, rng).as_matrix(), rng.normal(size=(200, 3))
    np.testing.assert_array_equal(np.array([spatial.inverse(one) for one in T]), spatial.inverse(T))


def test_poses_of_many_rotations_and_positions_equal_single_ones() -> None:
    random = np.random.default_rng(0)
    R = np.array([spatial.rotation("z", angle) for angle in random.normal(size=5)])
    p = random.normal(size=(5, 3))
    together = spatial.pose(R, p)
    for k in range(5):
        assert np.array_equal(together[k], spatial.pose(R[k], p[k]))
    assert np.array_equal(spatial.pose(R[0], p)[2], spatial.pose(R[0], p[2]))
    assert spatial.pose(p=p).shape == (5, 4, 4)
