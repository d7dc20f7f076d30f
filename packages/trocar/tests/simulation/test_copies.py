"""Copies of simulations: a pickled or deep-copied simulator or scene continues bit for bit like the original."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar.simulation import SceneArm

COPIES = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copied_simulator_continues_bit_for_bit(copied):
    sim = tr.Simulator("PSM", "wang2019_refit", mounting=0.3)
    sim.reset([0.1, -0.2, 0.12, 0.3, 0.1, -0.1, 0.2])
    tau = np.array([0.5, -0.3, 1.0, 0.01, 0.0, 0.01, 0.0])
    for _ in range(20):
        sim.step(tau)
    other = copied(sim)
    assert other.time == sim.time
    for _ in range(20):
        sim.step(tau)
        other.step(tau)
    np.testing.assert_array_equal(other.q, sim.q)
    np.testing.assert_array_equal(other.dq, sim.dq)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copied_scene_has_its_cart_and_continues_bit_for_bit(copied):
    scene = tr.Scene({"PSM1": SceneArm(mount="PSM1"), "ECM": SceneArm(mount="ECM")}, cart="Classic")
    efforts = {"PSM1": np.zeros(7), "ECM": np.zeros(4)}
    scene.step(efforts)
    other = copied(scene)
    np.testing.assert_array_equal(other.T_world_base("PSM1"), scene.T_world_base("PSM1"))
    for _ in range(10):
        scene.step(efforts)
        other.step(efforts)
    for name, arm in scene.arms.items():
        np.testing.assert_array_equal(other.arms[name].q, arm.q)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_facts_equations_and_recordings_can_be_copied(copied):
    mechanism = tr.load_mechanism("MTMR")
    q = np.array(mechanism.arm.home)
    np.testing.assert_array_equal(copied(mechanism).gravity(q), mechanism.gravity(q))
    assert copied(mechanism.arm).name == "MTMR"
    joints = {"joints": list("abcdefg"), "joint_units": ["rad"] * 7}
    recording = tr.Recording(t=[0.0, 0.1], q=np.zeros((2, 7)), dq=np.zeros((2, 7)), **joints)
    np.testing.assert_array_equal(copied(recording).t, recording.t)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_what_cannot_be_copied_names_what_can(copied):
    scene = tr.load_scene("psm")
    with pytest.raises(TrocarError, match="copy its scene"):
        copied(scene.arms["PSM"])
    with tr.Robot("psm") as robot, pytest.raises(TrocarError, match=r"simulation\(\)\.snapshot"):
        copied(robot)
