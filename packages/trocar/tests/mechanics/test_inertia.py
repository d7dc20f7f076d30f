"""Inertial parameters: standard, barycentric, pseudo-inertia, in other frames."""

import numpy as np
import pytest

import trocar as tr
from trocar.arms.parameters import Inertia, load_parameters
from trocar.mechanics.inertia import (
    barycentric,
    check_consistent,
    from_pseudo_inertia,
    in_world,
    pseudo_inertia,
    standard,
)
from trocar.spatial import pose, rotation, skew


@pytest.fixture
def points():
    """A body made of point masses, whose parameters follow from sums."""
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 1.0, 12), rng.normal(size=(12, 3))


def body_of(masses, positions):
    com = masses @ positions / masses.sum()
    I = sum(m * (skew(p - com).T @ skew(p - com)) for m, p in zip(masses, positions, strict=True))
    return Inertia(mass=masses.sum(), com=com, I=I)


def test_barycentric_parameters_are_sums_over_the_points(points):
    masses, positions = points
    phi = barycentric(body_of(*points))
    L = sum(m * skew(p).T @ skew(p) for m, p in zip(masses, positions, strict=True))
    np.testing.assert_allclose(phi[:4], [masses.sum(), *(masses @ positions)], atol=1e-14)
    np.testing.assert_allclose(phi[4:], L[np.triu_indices(3)], atol=1e-13)


def test_the_pseudo_inertia_is_the_second_moment_of_the_points(points):
    masses, positions = points
    homogeneous = np.hstack([positions, np.ones((12, 1))])
    P = pseudo_inertia(barycentric(body_of(*points)))
    np.testing.assert_allclose(P, homogeneous.T @ (masses[:, None] * homogeneous), atol=1e-13)


def test_conversions_invert_each_other(points):
    body = body_of(*points)
    phi = barycentric(body)
    np.testing.assert_allclose(from_pseudo_inertia(pseudo_inertia(phi)), phi, atol=1e-13)
    again = standard(phi)
    np.testing.assert_allclose(again.com, body.com, atol=1e-14)
    np.testing.assert_allclose(again.I, body.I, atol=1e-13)


def test_a_body_in_the_world_is_the_body_of_its_moved_points(points):
    masses, positions = points
    T = pose(R=rotation("z", 0.7) @ rotation("x", -0.4), p=[0.3, -0.2, 0.5])
    moved = body_of(masses, positions @ T[:3, :3].T + T[:3, 3])
    ours = in_world(body_of(*points), T)
    np.testing.assert_allclose(ours.com, moved.com, atol=1e-14)
    np.testing.assert_allclose(ours.I, moved.I, atol=1e-13)


def test_equations_3_and_4_of_ferro_2022_hold_after_two_corrections(points):
    """(3) prints the base origin p_0 for the link origin; (4) yields the inertia about the world origin."""
    masses, positions = points
    T_world_0 = pose(R=rotation("z", 1.2), p=[0.1, 0.2, 0.3])
    T_world_i = T_world_0 @ pose(R=rotation("x", 0.5), p=[0.0, -0.4, 0.25])
    body, R = body_of(*points), T_world_i[:3, :3]
    ours = in_world(body, T_world_i)
    as_printed = R @ body.com + T_world_0[:3, 3]
    assert np.linalg.norm(as_printed - ours.com) == pytest.approx(np.hypot(0.4, 0.25))
    np.testing.assert_allclose(R @ body.com + T_world_i[:3, 3], ours.com, atol=1e-14)
    equation_4 = R @ body.I @ R.T + body.mass * skew(ours.com).T @ skew(ours.com)
    world = positions @ R.T + T_world_i[:3, 3]
    about_origin = sum(m * skew(p).T @ skew(p) for m, p in zip(masses, world, strict=True))
    np.testing.assert_allclose(equation_4, about_origin, atol=1e-13)
    assert np.abs(equation_4 - ours.I).max() > 0.1


def test_the_published_set_is_rejected_with_link_and_eigenvalue():
    with pytest.raises(tr.TrocarError, match=r"link 'counterweight' .* eigenvalue .* -1\.\d+e-06"):
        check_consistent({"counterweight": load_parameters("PSM", "wang2019_published").inertias["counterweight"]})


def test_the_consistent_set_is_consistent():
    check_consistent(load_parameters("PSM", "wang2019").inertias)
