"""Straight motions of the tip in the world, and a needle picked up by one call."""

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError, Unreachable
from trocar.simulation import Box, Solid, needle
from trocar.simulation.skills import Hands, pick
from trocar.spatial import inverse, pose, pose_error

PSM = tr.load_mechanism("PSM")
LOW = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.6])
Z = PSM.forward_kinematics(LOW)[2, 3] - 0.0075


def needle_scene():
    rails = [Box((0.0, y, Z - 0.0045), (0.03, 0.008, 0.008)) for y in (-0.01, 0.01)]
    tray = Solid("tray", [*rails, Box((0.0, 0.0, Z - 0.0095), (0.03, 0.028, 0.002))])
    sim = tr.Simulator("PSM", objects=[tray, needle("needle", pose(p=[-0.0115, 0.0, Z]))])
    sim.reset(LOW - [0, 0, 0.04, 0, 0, 0, 0])
    return sim


def test_effort_of_a_tip_force_is_the_power_of_the_force_per_joint_rate():
    rng = np.random.default_rng(0)
    for name in ("PSM", "ECM", "MTML"):
        mech = tr.load_mechanism(name)
        q, dq, f = 0.3 * rng.random((4, mech.n)), rng.standard_normal((4, mech.n)), rng.standard_normal((4, 6))
        twist = (mech.jacobian(q) @ dq[:, : mech.arm.tip_joints, None])[..., 0]
        np.testing.assert_allclose((mech.effort_of_tip_force(q, f) * dq).sum(-1), (twist * f).sum(-1), atol=1e-12)
        f[:, 3:] = 0
        np.testing.assert_allclose(mech.effort_of_tip_force(q, f[:, :3]), mech.effort_of_tip_force(q, f))
    for bad in (np.ones(4), [np.nan, 0, 0], "up", 1.0):
        with pytest.raises(TrocarError, match="force"):
            PSM.effort_of_tip_force(LOW, bad)


def test_an_arm_pushing_with_that_effort_is_held_by_the_opposite_force_in_the_engine():
    sim = tr.Simulator("PSM", friction=False, accuracy="exact")
    q = np.array([0.2, -0.1, 0.12, 0.5, 0.3, -0.2, 0.4])
    sim.reset(q)
    f = np.array([0.4, -0.3, 0.5, 0.002, -0.001, 0.003])
    sim.apply_wrench(-f)
    for _ in range(50):
        sim.step(sim.mechanism.gravity(sim.q) + sim.mechanism.effort_of_tip_force(sim.q, f))
    np.testing.assert_allclose(sim.q, q, atol=1e-6)


def test_manipulability_is_the_product_of_singular_values_and_zero_with_the_shaft_along_the_yaw_axis():
    from trocar.mechanics.singularities import manipulability

    q = np.stack([LOW, [0.2, -0.1, 0.12, 0.5, 0.3, -0.2, 0.4]])
    np.testing.assert_array_equal(PSM.manipulability(q), manipulability(PSM, q))
    assert PSM.manipulability([0, np.pi / 2, 0.12, 0, 0.3, 0.2, 0]) < 1e-12 < PSM.manipulability(q).min()


def test_the_tip_in_the_camera_is_the_cart_s_chain_of_frames():
    scene = tr.load_scene("cart_classic")
    want = scene.cart.T_view_tip("PSM2", scene.arms["PSM2"].q, scene.arms["ECM"].q)
    np.testing.assert_allclose(scene.T_camera_tip("PSM2"), want, atol=1e-6)  # accuracy of the engine's loop closure
    with pytest.raises(TrocarError, match="PSM1 carries no endoscope"):
        scene.T_camera_tip("PSM2", camera="PSM1")


def test_the_tip_moves_on_a_straight_line_to_a_pose_in_the_world_while_the_others_hold():
    scene = tr.load_scene("cart_classic")
    start, others = scene.T_world_tip("PSM1"), {n: a.q for n, a in scene.arms.items() if n != "PSM1"}
    goal = start @ pose(p=[0.005, 0.004, -0.006])
    made = scene.move_tip("PSM1", goal, 0.4, jaw=0.5)
    assert set(made) == set(scene.arms)
    assert np.abs(pose_error(goal, scene.T_world_tip("PSM1"))).max() < 3e-4
    assert scene.arms["PSM1"].q[6] == pytest.approx(0.5, abs=5e-3)
    way = scene.T_world_base("PSM1") @ scene.arms["PSM1"].mechanism.forward_kinematics(made["PSM1"].q)
    off = np.cross(way[:, :3, 3] - start[:3, 3], goal[:3, 3] - start[:3, 3]) / np.linalg.norm((goal - start)[:3, 3])
    assert np.linalg.norm(off, axis=1).max() < 2e-4
    for name, q in others.items():
        np.testing.assert_allclose(scene.arms[name].q, q, atol=1e-3)


def test_a_pose_out_of_reach_is_rejected_before_anything_moves():
    scene = tr.Simulator("PSM").scene
    arm = next(iter(scene.arms))
    with pytest.raises(Unreachable):
        scene.move_tip(arm, scene.T_world_tip(arm) @ pose(p=[0.0, 0.0, 1.0]), 1.0)
    assert scene.time == 0.0
    with pytest.raises(TrocarError, match="no arm 'PSM9'"):
        scene.move_tip("PSM9", np.eye(4), 1.0)
    with pytest.raises(TrocarError, match="duration"):
        scene.move_tip(arm, scene.T_world_tip(arm), np.nan)


def test_one_call_picks_up_a_needle_and_an_empty_place_yields_nothing():
    sim = needle_scene()
    arm = next(iter(sim.scene.arms))
    T = sim.scene.T_world_tip(arm)
    T[:3, 3] = [0.0, 0.0, Z + 0.0075]
    picked = pick(Hands(sim.scene), arm, T, effort=0.03, approach=0.03, lift=0.03)
    assert picked.object == "needle"
    assert sim.objects["needle"].pose[2, 3] - Z == pytest.approx(0.03, abs=1.5e-3)
    in_jaws = (inverse(sim.tip_pose()) @ sim.objects["needle"].pose)[:3, 3]
    assert in_jaws[2] == pytest.approx(0.0075, abs=1e-3)
    empty = pick(Hands(needle_scene().scene), arm, T @ pose(p=[0.0, 0.0, -0.012]), effort=0.03)
    assert empty.object is None
