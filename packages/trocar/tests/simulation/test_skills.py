"""Skills of grasping: pick a needle up, and hand it to another arm."""

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError, UnknownName
from trocar.simulation import Box, Scene, SceneArm, Solid, needle
from trocar.simulation.skills import Hands, grip_frame, hand_over, handover_scene, pick, plan_handover
from trocar.spatial import pose

Q = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.6])


def test_a_needle_is_picked_off_a_tray_with_its_weight():
    psm = tr.load_mechanism("PSM")
    T = psm.forward_kinematics(Q)
    z = T[2, 3] - 6.5e-3
    rails = [Box((0.0, y, z - 0.0045), (0.03, 0.008, 0.008)) for y in (-0.01, 0.01)]
    things = [Solid("tray", rails), needle("needle", pose(p=[-0.0115, 0.0, z]))]
    arm = SceneArm(arm="PSM", base=np.eye(4), q=Q - [0, 0, 0.03, 0, 0, 0, 0])
    scene = Scene({"PSM": arm}, objects=things)
    result = pick(Hands(scene), "PSM", T, 0.03)
    assert result.object == "needle"
    assert result.load == pytest.approx(9.81 * things[1].mass, rel=0.05)
    assert result.unconverged == 0
    assert 0.1 < result.opening < 0.2


def test_a_needle_is_handed_over_by_friction_alone():
    scene = handover_scene()
    hands = Hands(scene)
    hands.close("PSM1", 0.05, 0.3)
    assert hands.held("PSM1") == "needle"
    plan = plan_handover(hands, "PSM1", "PSM2", (0.0, 0.0, -0.13), np.random.default_rng(1))
    assert plan.clearance > 1e-3
    result = hand_over(hands, "PSM1", "PSM2", plan)
    assert result.held
    assert result.slip < 1e-3
    assert result.unconverged == 0
    with pytest.raises(TrocarError, match="find no pose"):
        plan_handover(hands, "PSM2", "PSM1", (0.0, 0.0, 0.5), np.random.default_rng(1))
    with pytest.raises(UnknownName, match="PSM3"):
        hands.open("PSM3")


def test_a_grip_frame_has_its_jaws_at_the_wire():
    thing = needle("needle", np.eye(4), size="SH")
    for angle in (-1.0, 0.3):
        for approach in (-np.pi / 2, 0.4):
            T = grip_frame(thing, angle, approach)
            np.testing.assert_allclose(T[:3, :3].T @ T[:3, :3], np.eye(3), atol=1e-12)
            wire, along = (np.array(v) for v in thing.at(thing.length / 2 - angle * thing.radius))
            np.testing.assert_allclose((T @ [0.0, 0.0, 6.5e-3, 1.0])[:3], wire, atol=1e-12)
            np.testing.assert_allclose(T[:3, 0], along, atol=1e-12)
