"""Elastic mount: statics by hand, rest is rest, and nothing changes without it."""

import numpy as np
import pytest

import trocar as tr
from trocar.calibration import pivot
from trocar.control import ComputedTorque, hold
from trocar.simulation.export import model_files
from trocar.simulation.sensors.motion_capture import poses_at_rest

SET = "gondokaryono2019"
PIVOT = np.array([0.1, -0.5, -0.8])
MOUNT = tr.ElasticMount(pivot=tuple(PIVOT), rotation=(700.0, 900.0, 1100.0))
AWAY = {"PSM": np.array([0.5, -0.4, 0.15, 0.2, 0.3, 0, 0]), "ECM": np.array([0.5, -0.4, 0.1, 0.2])}


def moment(mechanism, q):
    """Moment of the weight of all links about the pivot (3,), base axes [N m]."""
    total = np.zeros(3)
    poses = mechanism.poses(q)
    for body, inertia in mechanism.parameters.inertias.items():
        centre = (poses[body] @ [*inertia.com, 1.0])[:3]
        total += np.cross(centre - PIVOT, inertia.mass * mechanism.gravity_vector)
    return total


@pytest.mark.parametrize("arm", ["PSM", "ECM"])
def test_the_mount_rotates_by_the_weight_shift_over_its_stiffness(arm):
    stiff = tuple(100 * k for k in MOUNT.rotation)  # otherwise the weight tilts with the mount and bends it further
    sim = tr.Simulator(arm, SET, elastic_mount=tr.ElasticMount(pivot=tuple(PIVOT), rotation=stiff))
    q, home = AWAY[arm], np.array(sim.arm.home)
    sim.reset(home)
    assert sim.rcm_error() < 1e-12
    sim.reset(q)
    tilt = (moment(sim.mechanism, q) - moment(sim.mechanism, home)) / stiff
    for body in ("yaw", "end"):
        rigid = sim.mechanism.pose(q, body)[:3, 3]
        moved = sim.body_pose(body)[:3, 3] - rigid
        assert np.linalg.norm(moved) > 5e-6
        np.testing.assert_allclose(moved, np.cross(tilt, rigid - PIVOT), atol=3e-3 * np.linalg.norm(moved))


@pytest.mark.parametrize("arm", ["PSM", "ECM"])
def test_an_arm_placed_away_from_home_rests_on_its_mount(arm):
    sim = tr.Simulator(arm, SET, elastic_mount=MOUNT, contacts=False)
    sim.reset(AWAY[arm])
    before = sim.rcm_error()
    assert before > 1e-4
    tr.simulate(sim, ComputedTorque(sim.mechanism, kp=400.0, kd=40.0), hold(AWAY[arm]), 0.2)
    assert sim.rcm_error() == pytest.approx(before, abs=1e-6)


def test_a_force_moves_the_mount_by_its_stiffness():
    mount = tr.ElasticMount(pivot=(0, 0, 0), rotation=(np.inf,) * 3, translation=(1e4, np.inf, np.inf), loss=0.02)
    sim = tr.Simulator("PSM", SET, elastic_mount=mount, contacts=False)
    assert sim.model.nq == len(sim.arm.bodies) + 1
    home = np.array(sim.arm.home)
    sim.reset(home)
    sim.apply_wrench([10.0, 0, 0, 0, 0, 0], body="yaw")
    tr.simulate(sim, ComputedTorque(sim.mechanism, kp=400.0, kd=40.0), hold(home), 1.0)
    assert sim.body_pose("yaw")[0, 3] == pytest.approx(1e-3, rel=1e-3)


def test_twice_the_stiffness_halves_the_wander():
    q = np.zeros((60, 7))
    q[:, 0], q[:, 1] = 0.6 * np.sin(np.arange(60)), 0.6 * np.sin(0.7 * np.arange(60))
    q[:, 2] = 0.12
    spread = []
    for factor in (100.0, 200.0):
        mount = tr.ElasticMount(pivot=tuple(PIVOT), rotation=tuple(factor * k for k in MOUNT.rotation))
        sim = tr.Simulator("PSM", SET, elastic_mount=mount, contacts=False)
        spread.append(pivot(poses_at_rest(sim, ["end"], q)["end"]).spread)
    assert spread[0] > 2e-6
    assert spread[1] == pytest.approx(spread[0] / 2, rel=2e-3)


def test_a_mount_too_soft_to_carry_the_arm_is_reported():
    sim = tr.Simulator("PSM", SET, elastic_mount=tr.ElasticMount(pivot=(0, -0.5, -1.0), rotation=(20.0, 20.0, 20.0)))
    with pytest.raises(tr.TrocarError, match="too soft"):
        sim.reset(AWAY["PSM"])


def test_one_arm_of_a_scene_can_have_an_elastic_mount_and_a_snapshot_restores_it():
    far = np.eye(4)
    far[0, 3] = 1.5
    arms = {"a": tr.SceneArm(arm="PSM", base=np.eye(4)), "b": tr.SceneArm(arm="PSM", base=far, elastic_mount=MOUNT)}
    scene = tr.Scene(arms)
    start = np.array([0.4, 0.3, 0.12, 0, 0, 0, 0])
    scene.reset({"b": start})
    assert scene.arms["a"].rcm_error() < 1e-12
    assert scene.arms["b"].rcm_error() > 1e-4
    np.testing.assert_allclose(scene.arms["b"].q, start, atol=1e-12)
    snapshot, ends = scene.snapshot(), []
    for _ in range(2):
        scene.restore(snapshot)
        for _ in range(20):
            scene.step({"a": np.zeros(7), "b": np.ones(7) * 0.01})
        ends.append(scene.data.qpos.copy())
    np.testing.assert_array_equal(*ends)


def test_set_up_joints_that_turn_the_base_keep_the_mount_level_at_home():
    scene = tr.Scene({"PSM1": tr.SceneArm(mount="PSM1", elastic_mount=MOUNT)}, cart="Classic", contacts=False)
    q_setup = np.array(scene.cart.q_setup["PSM1"])
    q_setup[4] += 0.3  # turns the base about a level axis
    scene.set_up("PSM1", q_setup)
    scene.reset()
    assert scene.arms["PSM1"].rcm_error() < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pivot": (0, 0)}, "pivot of an ElasticMount must be three finite numbers"),
        ({"rotation": (1, 1, 0)}, "rotation of an ElasticMount must be three stiffnesses > 0"),
        ({"translation": (1, 1)}, "translation of an ElasticMount must be three stiffnesses"),
        ({"loss": -1.0}, "loss of an ElasticMount must be a time >= 0"),
        ({"rotation": (np.inf,) * 3}, "without a finite stiffness is rigid"),
    ],
)
def test_an_invalid_mount_is_rejected(options, message):
    with pytest.raises(tr.TrocarError, match=message):
        tr.ElasticMount(**({"pivot": (0, 0, 0), "rotation": (1.0, 1.0, 1.0)} | options))


def test_exporting_an_elastic_mount_is_an_error():
    with pytest.raises(tr.TrocarError, match="elastic_mount"):
        model_files(tr.Simulator("ECM", SET, elastic_mount=MOUNT))
