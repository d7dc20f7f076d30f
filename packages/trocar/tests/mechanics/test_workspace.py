"""Workspace: joint sampling agrees with the closed form, and volumes agree between methods."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import kstest

import trocar as tr
from trocar.appearance.figures import cloud_figure, manipulability_figure, shared_figure
from trocar.mechanics.workspace import Workspace, shared_volume
from trocar.spatial import pose, rotation

T_MOVED = pose(R=rotation("x", 0.4) @ rotation("z", -0.7), p=[0.3, -0.2, 0.5])


@pytest.fixture
def workspace(arm_mechanism):
    """Each arm at a base that is not the world, in turn."""
    return Workspace(arm_mechanism, T_MOVED)


def to_base(points):
    return (points - T_MOVED[:3, 3]) @ T_MOVED[:3, :3]


def sigmas(volume, exact):
    return abs(volume.value - exact) / volume.error


# Is a point within reach?


def test_every_tip_of_a_state_within_limits_is_within_reach(workspace, random_states):
    mechanism = workspace.mechanism
    q = random_states(mechanism, 20_000)
    arm = mechanism.arm
    q = np.vstack([q, np.where(np.random.default_rng(1).uniform(size=(4000, arm.n)) < 0.5, arm.lower, arm.upper)])
    T = T_MOVED @ mechanism.forward_kinematics(q)
    assert workspace.contains(T[:, :3, 3]).all()
    rows = slice(0, 24_000, 200)  # an MTM is slow
    assert workspace.contains_pose(T[rows]).all()


def excess_along(directions, p, arm, a=0.0091, offset=-0.0156):
    """Distance [m] of depth and wrist bend outside their limits if the shaft of a PSM points along directions."""
    along = directions @ p
    across = np.linalg.norm(p - along[:, None] * directions, axis=-1)
    L = along - np.sqrt(np.maximum(0.0, a * a - across * across))
    too_far = across - a * np.sin(arm.upper[4])
    too_deep = np.maximum(L - (arm.upper[2] + offset), arm.lower[2] + offset - L)
    return np.maximum(0.0, np.maximum(too_far, too_deep))


@pytest.mark.parametrize("name", ["PSM", "PSM_Si"])
def test_every_point_within_reach_has_a_state(name):
    """Searches yaw and pitch on ever finer grids, at the points farthest from any sampled tip: those at the edges."""
    workspace = Workspace(tr.load_mechanism(name))
    arm = workspace.mechanism.arm
    points = workspace.volume(0.01, grids=2).points
    gaps, _ = cKDTree(workspace.cloud(1 << 14, density="volume").points).query(points)
    for p in points[np.argsort(gaps)[-80:]]:
        centre, half = 0.5 * (arm.lower + arm.upper)[:2], 0.5 * (arm.upper - arm.lower)[:2]
        for _ in range(9):
            steps = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 81)] * 2), -1).reshape(-1, 2)
            q1, q2 = np.clip(centre + half * steps, arm.lower[:2], arm.upper[:2]).T
            s = np.stack([np.cos(q2) * np.sin(q1), -np.sin(q2), -np.cos(q2) * np.cos(q1)], axis=-1)
            excess = excess_along(s, p, arm)
            best = excess.argmin()
            centre, half = np.array([q1[best], q2[best]]), 0.2 * half
            if excess[best] == 0.0:
                break
        assert excess[best] < 1e-6


def test_position_and_pose_tests_agree_on_unreachable_points(workspace):
    """A pose at an unreachable point is unreachable in every orientation."""
    low, high = workspace.box
    points = np.random.default_rng(0).uniform(low - 0.05, high + 0.05, (300, 3))
    out = points[~workspace.contains(points)]
    assert 20 < len(out) < 290
    if workspace.mechanism.arm.tip_joints >= 6:
        assert workspace.dexterity(out, orientations=16).max() == 0.0


def test_pose_test_agrees_with_inverse_kinematics(arm_mechanism, random_states):
    mechanism = arm_mechanism
    q = random_states(mechanism, 40) * 1.3
    T = mechanism.forward_kinematics(q)
    verdict = Workspace(mechanism).contains_pose(T)
    solved = np.array([len(mechanism.inverse_kinematics_all(pose)) > 0 for pose in T])
    np.testing.assert_array_equal(verdict, solved)
    assert 0 < verdict.sum() < 40


def test_a_pose_exactly_on_a_singular_set_is_found():
    """With the wrist at the remote centre the shaft can point anywhere: inverse kinematics searches, so does this."""
    psm = tr.load_mechanism("PSM")
    q = np.array([1.5, 0.9, 0.0156, 2.0, 1.3, -1.3, 0.0])
    assert Workspace(psm).contains_pose(psm.forward_kinematics(q))


def test_the_workspace_boundary_of_a_psm_follows_from_its_lengths():
    workspace = Workspace(tr.load_mechanism("PSM"))
    deepest = 0.240 - 0.0156 + 0.0091
    assert workspace.contains([0.0, 0.0, -deepest + 1e-6])
    assert not workspace.contains([0.0, 0.0, -deepest - 1e-6])
    assert workspace.contains([0.0, 0.0, 0.0])  # the wrist 9.1 mm above the remote centre, the tip in it
    # above, the wrist at most 15.6 mm up and the tip towards the remote centre, with the wrist bent by 80 degrees
    highest = np.sqrt(0.0156**2 + 0.0091**2 - 2 * 0.0156 * 0.0091 * np.cos(1.39626))
    for margin, reached in ((-1e-6, True), (1e-6, False)):
        assert workspace.contains([0.0, 0.0, highest + margin]) == reached


# Clouds


def test_clouds_are_within_limits_and_repeatable(workspace):
    arm = workspace.mechanism.arm
    for method in ("sobol", "random", "grid"):
        cloud = workspace.cloud(3000, method, seed=5)
        assert 200 < len(cloud.q) <= 3000
        assert ((cloud.q >= arm.lower - 1e-12) & (cloud.q <= arm.upper + 1e-12)).all()
        np.testing.assert_array_equal(cloud.points, workspace.cloud(3000, method, seed=5).points)
        tips = workspace.mechanism.forward_kinematics(cloud.q)[:, :3, 3]
        np.testing.assert_allclose(to_base(cloud.points), tips, atol=1e-12)
    assert (workspace.cloud(1024, seed=5).points != workspace.cloud(1024, seed=6).points).any()


def test_a_grid_holds_every_corner_of_the_limits():
    mechanism = tr.load_mechanism("ECM")
    q = Workspace(mechanism).cloud(27, "grid").q
    assert len(q) == 27
    corners = {tuple(row) for row in q[:, :3]}
    assert tuple(mechanism.arm.lower[:3]) in corners
    assert tuple(mechanism.arm.upper[:3]) in corners


@pytest.mark.parametrize(
    ("name", "third", "density"), [("ECM", 0.35, "volume"), ("MTML", 0.8, "volume"), ("ECM", 0.35, "joints")]
)
def test_volume_density_samples_are_uniform_in_volume(name, third, density):
    """The share of a uniform cloud in a ball is that of its volume; uniform in the joints it is not."""
    mechanism = tr.load_mechanism(name)
    workspace = Workspace(mechanism)
    points = workspace.cloud(40_000, "random", density, seed=2).points
    share = np.full(mechanism.n, 0.5)
    share[2] = third
    centre = mechanism.forward_kinematics((1 - share) * mechanism.arm.lower + share * mechanism.arm.upper)[:3, 3]
    inside = np.linalg.norm(points - centre, axis=-1) < 0.04
    probe = np.random.default_rng(0).normal(size=(4000, 3))
    ball = centre + 0.04 * probe / np.linalg.norm(probe, axis=-1, keepdims=True)
    assert workspace.contains(ball).all()
    expected = 4 / 3 * np.pi * 0.04**3 / workspace.wrist_volume
    off = abs(inside.mean() - expected) / np.sqrt(expected / len(points))
    assert off < 4.0 if density == "volume" else off > 6.0


def test_a_uniform_psm_cloud_has_the_law_of_depth_and_pitch():
    psm = tr.load_mechanism("PSM")
    q = Workspace(psm).cloud(4000, "random", "volume", seed=1).q
    ends = np.array([-0.0156, 0.2244]) ** 3
    cubes = ((q[:, 2] - 0.0156) ** 3 - ends[0]) / (ends[1] - ends[0])
    sines = 0.5 + 0.5 * np.sin(q[:, 1]) / np.sin(psm.arm.upper[1])
    assert kstest(cubes, "uniform").pvalue > 0.01
    assert kstest(sines, "uniform").pvalue > 0.01
    assert kstest(q[:, 2] / 0.24, "uniform").pvalue < 1e-6


# Volumes


def test_the_exact_volume_is_that_of_the_jacobian_over_the_joints(arm_mechanism):
    """Monte Carlo over the joints of |det| of the position Jacobian of the wrist point, within 3 sigma.

    Points that two states share are counted twice there, and once in the exact volume: less than 1 in 10,000.
    """
    mechanism = arm_mechanism
    arm = mechanism.arm
    wrist = arm.wrist_point or "tip"
    q = np.random.default_rng(4).uniform(arm.lower, arm.upper, (40_000, arm.n))
    J = mechanism.jacobian(q, wrist)[:, :3, :3]
    box = np.prod((arm.upper - arm.lower)[:3])
    values = box * np.abs(np.linalg.det(J))
    exact = Workspace(mechanism).wrist_volume
    assert abs(values.mean() - exact) < 3 * values.std() / np.sqrt(len(q)) + 1e-4 * exact


def test_doubly_covered_directions_count_once():
    """Classic PSM by hand: 182 degrees of yaw, and 15.6 mm of shaft above the remote centre."""
    arm = tr.load_mechanism("PSM").arm
    turn, sine = 2 * arm.upper[0], 2 * np.sin(arm.upper[1])
    below, above = 0.2244**3 / 3, 0.0156**3 / 3
    twice = (2 * turn - 2 * np.pi) * sine * above
    exact = Workspace(tr.Mechanism(arm)).wrist_volume
    assert exact == pytest.approx(turn * sine * (below + above) - twice, rel=1e-12)
    assert 1e3 * exact == pytest.approx(19.117, abs=1e-3)


@pytest.mark.parametrize("name", ["ECM", "ECM_Si", "MTML", "MTMR"])
def test_counting_voxels_gives_the_exact_volume(name):
    workspace = Workspace(tr.load_mechanism(name), T_MOVED)
    volume = workspace.volume(0.03, grids=12)
    assert sigmas(volume, workspace.wrist_volume) < 4.0  # a t-distribution with 11 degrees of freedom
    assert volume.error < 0.02 * volume.value


def test_a_psm_without_wrist_length_has_the_exact_volume():
    psm = tr.load_mechanism("PSM")
    serial = list(psm.arm.serial)
    placement = np.array(serial[5].placement)
    placement[0, 3] = 0.0
    serial[5] = replace(serial[5], placement=placement)
    workspace = Workspace(tr.Mechanism(replace(psm.arm, serial=tuple(serial))))
    assert sigmas(workspace.volume(0.01, grids=12), workspace.wrist_volume) < 4.0


def test_the_tip_volume_of_a_psm_is_that_of_the_voxels_its_tips_hit():
    """An independent count: voxels hit by sampled tips, inner ones (no edge effect) against `contains`."""
    workspace = Workspace(tr.load_mechanism("PSM"))
    edge = 0.02
    hit = {tuple(c) for c in np.floor(workspace.cloud(1 << 17, density="volume").points / edge).astype(int)}
    index = np.stack(np.meshgrid(*[np.arange(-14, 14)] * 3, indexing="ij"), -1).reshape(-1, 3)
    corners = np.stack(np.meshgrid(*[[0.01, 0.99]] * 3, indexing="ij"), -1).reshape(-1, 3)
    inner = workspace.contains(edge * (index[:, None] + corners)).sum(-1)
    whole, none = index[inner == 8], index[inner == 0]
    assert len(whole) > 1500
    missed = [tuple(c) for c in whole if tuple(c) not in hit]
    assert not missed
    # a voxel without a corner inside may still be touched through a face, but hardly any are
    assert sum(tuple(c) in hit for c in none) < 0.1 * len(hit)


def test_finer_voxels_have_a_smaller_error():
    rows = np.array(Workspace(tr.load_mechanism("PSM")).volume(0.01).convergence)
    assert (np.diff(rows[:, 0]) < 0).all()
    assert rows[-1, 2] < rows[0, 2]
    assert (np.abs(rows[:, 1] - rows[-1, 1]) < 5 * rows[:, 2] + 1e-4).all()


# Shared workspaces


@pytest.mark.parametrize("name", ["PSM", "ECM", "MTML"])
def test_arms_at_one_base_share_their_whole_workspace_and_distant_ones_share_none(name):
    mechanism = tr.load_mechanism(name)
    here, far = Workspace(mechanism, T_MOVED), Workspace(mechanism, pose(p=[3.0, 0.0, 0.0]))
    alone, both = here.volume(0.03), shared_volume([here, Workspace(mechanism, T_MOVED)], 0.03)
    assert both.value == alone.value > 0.0
    np.testing.assert_array_equal(both.points, alone.points)
    nothing = shared_volume([here, far], 0.03)
    assert (nothing.value, nothing.error, len(nothing.points)) == (0.0, 0.0, 0)


def test_a_shared_volume_is_that_of_a_lens():
    """Two arms that face each other: every shared point is in both, the volume is symmetric in the arms."""
    psm, ecm = tr.load_mechanism("PSM"), tr.load_mechanism("ECM")
    a, b = Workspace(psm), Workspace(ecm, pose(p=[0.15, 0.05, 0.0]))
    ab, ba = shared_volume([a, b], 0.02), shared_volume([b, a], 0.02)
    assert ab.value == ba.value
    assert 0.0 < ab.value < min(a.volume(0.02).value, b.volume(0.02).value)
    assert a.contains(ab.points).all()
    assert b.contains(ab.points).all()


def test_moving_both_arms_together_moves_their_shared_workspace():
    psm = tr.load_mechanism("PSM")
    pair = [pose(p=[x, 0.0, 0.0]) for x in (-0.08, 0.08)]
    still = shared_volume([Workspace(psm, T) for T in pair], 0.02)
    moved = shared_volume([Workspace(psm, T_MOVED @ T) for T in pair], 0.02)
    assert abs(still.value - moved.value) < 4 * np.hypot(still.error, moved.error)


# Dexterity


def test_deep_inside_the_dexterity_of_a_psm_is_that_of_its_three_wrist_joints():
    workspace = Workspace(tr.load_mechanism("PSM"))
    # the volume element of rotations is cos q5 dq4 dq5 dq6, and its integral over all rotations is 8 pi^2
    expected = 2 * np.pi * 2 * np.sin(1.39626) * 2 * 1.39626 / (8 * np.pi**2)
    deep = workspace.dexterity([[0.0, 0.0, -0.15], [0.05, 0.02, -0.14]], orientations=2048)
    np.testing.assert_allclose(deep, expected, atol=0.02)


def test_the_dexterous_volume_shrinks_with_the_required_share():
    workspace = Workspace(tr.load_mechanism("PSM"))
    values = [workspace.dexterous_volume(s, 0.03, orientations=32, grids=2).value for s in (0.02, 0.35, 0.9)]
    assert workspace.volume(0.03, grids=2).value >= values[0] > values[1] > values[2] == 0.0


# Figures


def test_figures_are_made_for_every_structure():
    for name in ("PSM", "ECM", "MTML"):
        mechanism = tr.load_mechanism(name)
        figure = cloud_figure(mechanism, count=256, voxel=0.05)
        assert f"{1e3 * Workspace(mechanism).wrist_volume:.3f}" in figure.get_suptitle()
        assert len(figure.axes) == 5
        curves = manipulability_figure(mechanism, points=31)
        assert curves.axes[0].get_legend() is not None
    psm = tr.load_mechanism("PSM")
    pair = [Workspace(psm, pose(p=[x, 0.0, 0.0])) for x in (-0.1, 0.1)]
    legend = shared_figure(pair, voxel=0.04).axes[1].get_legend()
    assert [text.get_text().split(",")[0] for text in legend.get_texts()] == ["1: PSM", "2: PSM", "shared"]
    apart = [Workspace(psm, pose(p=[x, 0.0, 0.0])) for x in (-1.0, 1.0)]
    assert "shared, 0.00" in shared_figure(apart, voxel=0.05).axes[1].get_legend().get_texts()[2].get_text()


# Mistakes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: w.contains([0.0, 0.1]), "shape"),
        (lambda w: w.contains([0.0, np.nan, 0.1]), "NaN"),
        (lambda w: w.contains("here"), "numbers of shape"),
        (lambda w: w.contains_pose(np.eye(3)), "shape"),
        (lambda w: w.cloud(0), "count"),
        (lambda w: w.cloud(100, "halton"), "method 'halton' is unknown"),
        (lambda w: w.cloud(100, density="even"), "density 'even' is unknown"),
        (lambda w: w.cloud(100, "grid", "volume"), "uniform in the joints"),
        (lambda w: w.cloud(10, "grid"), "at least 32 states"),
        (lambda w: w.volume(0.0), "voxel"),
        (lambda w: w.volume(1e-5), "too many"),
        (lambda w: w.volume(0.02, grids=1), "at least 2 grids"),
        (lambda w: w.dexterous_volume(0.0), "share"),
        (lambda w: shared_volume([]), "at least one"),
        (lambda w: Workspace(w.mechanism, np.ones((4, 4))), "0 0 0 1"),
        (lambda w: Workspace(w.mechanism, np.tile(np.eye(4), (2, 1, 1))), "one pose"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(tr.TrocarError, match=message):
        call(Workspace(tr.load_mechanism("PSM")))


def test_an_ecm_has_no_dexterity():
    with pytest.raises(tr.TrocarError, match="4 joints"):
        Workspace(tr.load_mechanism("ECM")).dexterity([0.0, 0.0, -0.1])


def test_empty_input_gives_empty_output():
    workspace = Workspace(tr.load_mechanism("PSM"))
    assert workspace.contains(np.zeros((0, 3))).shape == (0,)
    assert workspace.contains(np.zeros((2, 5, 3))).shape == (2, 5)
