"""Collision scenes: distances that geometry gives by hand, masks, several arms, and bad input."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar.simulation import Box, Capsule, CollisionScene, Cylinder, Sphere
from trocar.simulation.objects.scene_object import Part
from trocar.simulation.planning.collision import ObstaclePart
from trocar.spatial import pose, rotation

ARM = tr.load_arm("PSM")
HOME = np.array(ARM.home)
SHAFT = 0.004  # radius of the instrument [m]

# Half-way down the shaft of the instrument at home, which hangs along -z: the nearest point of each is at x = 0.03.
BESIDE = {
    "sphere": Sphere((0.05, 0.0, -0.04), 0.02),
    "box": Box((0.05, 0.0, -0.04), (0.04, 0.02, 0.02)),
    "turned box": Box((0.05, 0.0, -0.04), (0.02, 0.04, 0.02), rotation("z", np.pi / 2)),
    "capsule": Capsule((0.05, -0.03, -0.04), (0.05, 0.03, -0.04), 0.02),
    "cylinder": Cylinder((0.03, 0.0, -0.04), (0.08, 0.0, -0.04), 0.01),
}


@pytest.mark.parametrize("margin", [5e-3, 2e-2, 5e-2])
def test_margin_and_distance_queries_agree(margin):
    """MuJoCo computes distances and contacts by different algorithms."""
    arm = tr.load_arm("PSM")
    scene = CollisionScene(arm, {"box": Box((0.0, 0.0, -0.12), (0.03, 0.06, 0.08))})
    states = np.random.default_rng(1).uniform(arm.lower, arm.upper, (400, arm.n))
    near = np.array([scene.clearance(q).distance for q in states])
    clear = np.abs(near - margin) > 1e-6
    found = np.array([scene.collides(q, margin) for q in states])
    np.testing.assert_array_equal(found[clear], (near < margin)[clear])
    assert (found & (near > 0)).sum() >= 2  # some collide only because of the margin


@pytest.mark.parametrize("name", BESIDE)
def test_distance_to_the_shaft_is_that_of_geometry(name):
    scene = CollisionScene(ARM, {name: BESIDE[name]})
    nearest = scene.clearance(HOME)
    assert nearest.distance == pytest.approx(0.03 - SHAFT, abs=1e-6)
    assert (nearest.first, nearest.second) == (Part("roll", "PSM"), ObstaclePart(name))
    assert str(nearest) == f"roll of PSM is {1e3 * nearest.distance:.3g} mm from obstacle '{name}'"
    assert scene.contact(HOME) is None
    assert not scene.collides(HOME, margin=0.0259)
    assert scene.collides(HOME, margin=0.0261)
    assert not scene.collides(HOME)  # a margin is not kept


@pytest.mark.parametrize("name", BESIDE)
def test_a_contact_is_found_where_the_distance_is_negative(name):
    scene = CollisionScene(ARM, {name: BESIDE[name]})
    states = [HOME + [yaw, 0, 0, 0, 0, 0, 0] for yaw in np.linspace(-1.4, 1.4, 61)]
    touching = [scene.collides(q) for q in states]
    assert any(touching)
    assert not all(touching)
    assert touching == [scene.clearance(q).distance < 0 for q in states]


def test_the_error_reports_the_depth():
    scene = CollisionScene(ARM, [Sphere((0.02, 0.0, -0.04), 0.02)])
    found = scene.contact(HOME)
    assert found.distance == pytest.approx(-SHAFT, abs=1e-6)
    assert str(found) == "roll of PSM overlaps obstacle '0' by 4 mm"
    apart = CollisionScene(ARM, {"sphere": BESIDE["sphere"]}).clearance(HOME)
    assert str(apart) == "roll of PSM is 26 mm from obstacle 'sphere'"


def test_link_poses_match_the_simulator():
    sim = tr.Simulator("PSM")
    scene = CollisionScene(sim, [BESIDE["sphere"]])
    rng = np.random.default_rng(0)
    for q in rng.uniform(ARM.lower, ARM.upper, (5, 7)):
        q[6] = abs(q[6])
        sim.reset(q)
        scene.contact(q)
        for body in ARM.bodies:
            mine, theirs = scene.data.body(f"PSM/{body.name}"), sim.data.body(body.name)
            np.testing.assert_allclose(mine.xpos, theirs.xpos, atol=1e-12)
            np.testing.assert_allclose(mine.xmat, theirs.xmat, atol=1e-12)


def test_an_arm_does_not_collide_with_itself():
    """The links of an arm overlap by design: the shaft runs through the column."""
    scene = CollisionScene(ARM)
    rng = np.random.default_rng(0)
    assert not any(scene.collides(q) for q in rng.uniform(ARM.lower, ARM.upper, (50, 7)))
    links = range(scene.model.ngeom)
    scene.contact(HOME)
    points = np.zeros(6)
    overlaps = [
        mujoco.mj_geomDistance(scene.model, scene.data, a, b, 1.0, points) < 0 for a in links for b in links if a < b
    ]
    assert any(overlaps)


@pytest.mark.parametrize("name", list(tr.ARMS))
def test_every_arm_can_be_checked(name):
    """Also those without dynamic parameters: an obstacle at the tip is touched, one far away is not."""
    arm = tr.load_arm(name)
    q = np.array(arm.home)
    tip = tr.load_mechanism(name).forward_kinematics(q)[:3, 3]
    assert CollisionScene(arm, [Sphere(tip, 0.05)]).collides(q)
    assert not CollisionScene(arm, [Sphere(tip + [0, 0, -5.0], 0.05)]).collides(q)


def test_two_arms_placed_in_contact_touch():
    apart, together = (
        CollisionScene({"left": ARM, "right": ARM}, bases={"right": pose(p=[x, 0.0, 0.0])}) for x in (0.3, 0.02)
    )
    q = np.concatenate([HOME, HOME])
    assert apart.n == 14
    assert not apart.collides(q)
    # the two bars are boxes of half width 48 mm
    assert apart.clearance(q).distance == pytest.approx(0.3 - 2 * 0.048, abs=1e-6)
    found = together.contact(q)
    assert {found.first.arm, found.second.arm} == {"left", "right"}


def test_two_arms_move_by_their_own_joints_in_their_own_bases():
    scene = CollisionScene({"a": ARM, "b": ARM}, bases={"b": pose(rotation("z", np.pi), [0.2, -1.2, -0.1])})
    q = np.concatenate([HOME, HOME + [0, 0, 0.05, 0, 0, 0, 0]])
    mech = tr.load_mechanism("PSM")
    scene.contact(q)
    T = pose(rotation("z", np.pi), [0.2, -1.2, -0.1])
    for name, base, joints in (("a", np.eye(4), q[:7]), ("b", T, q[7:])):
        expected = (base @ mech.pose(joints, "wrist_pitch"))[:3, 3]
        np.testing.assert_allclose(scene.data.body(f"{name}/wrist_pitch").xpos, expected, atol=1e-12)


def test_obstacles_and_arms_are_distinguished():
    scene = CollisionScene({"left": ARM, "right": ARM}, {"ball": BESIDE["sphere"]}, {"right": pose(p=[0.4, 0.0, 0.0])})
    found = scene.clearance(np.concatenate([HOME, HOME]))
    assert (found.first, found.second) == (Part("roll", "left"), ObstaclePart("ball"))


def test_levers_bound_the_displacement_of_the_shapes():
    scene = CollisionScene(ARM, [BESIDE["sphere"]])
    levers = scene.levers()
    assert levers[2] == pytest.approx(1.0)  # the insertion moves all shapes
    assert levers[0] > 0.3
    rng = np.random.default_rng(1)
    for q in rng.uniform(ARM.lower, ARM.upper, (20, 7)):
        dq = 1e-3 * rng.normal(size=7)
        change = abs(scene.clearance(q + dq).distance - scene.clearance(q).distance)
        assert change <= levers @ np.abs(dq) * 1.05 + 1e-6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CollisionScene(ARM, [Sphere((0, 0, 0), 0.0)]), "radius must be positive"),
        (lambda: CollisionScene(ARM, [Box((0, 0, 0), (1, 1, -1))]), "size of a box must be three positive lengths"),
        (lambda: CollisionScene(ARM, [Box((0, 0, 0), (1, 1, 1), 2 * np.eye(3))]), "not a rotation"),
        (lambda: CollisionScene(ARM, [Sphere((0, 0), 0.1)]), "a point must be three finite numbers"),
        (lambda: CollisionScene(ARM, [Capsule((0, 0, 0), (0, 0, 0), 0.1)]), "two different ends"),
        (lambda: CollisionScene({}), "needs an arm"),
        (lambda: CollisionScene("PSM"), "an Arm or a Simulator, got 'PSM'"),
        (lambda: CollisionScene({"a": ARM}, bases={"b": np.eye(4)}), "'b' is unknown"),
        (lambda: CollisionScene(ARM).contact(HOME[:3]), "has 7 joints, got q of shape"),
        (lambda: CollisionScene(ARM).contact(HOME * np.nan), "not finite"),
        (lambda: CollisionScene(ARM).clearance(HOME), "one arm without obstacles"),
    ],
)
def test_bad_input_is_rejected(make, message):
    with pytest.raises(TrocarError, match=message):
        make()
