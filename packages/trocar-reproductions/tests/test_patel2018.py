"""Patel et al. 2018: their chain as printed and corrected, without joint limits, and point masses with a wrist."""

import numpy as np
import pytest

import trocar as tr
from trocar.mechanics import Mechanism
from trocar_reproductions.patel2018 import ENDS, TABLE_I, TABLE_II, model


@pytest.fixture(scope="module")
def point_masses():
    return Mechanism(tr.load_arm("PSM"), model.point_mass_parameters())


@pytest.mark.parametrize(("corrected", "off"), [(False, model.BETA), (True, 0.0)])
def test_the_printed_counterweight_slides_beta_off_the_insertion(corrected, off):
    q = np.array([0.3, -0.2, 0.1, 0.4, 0.2, 0.1])
    insertion = model.table(q, corrected=True)[6][:3, 2]
    _, T = model.counterweight(q, corrected)
    assert np.arccos(np.clip(-T[:3, 2] @ insertion, -1, 1)) == pytest.approx(off, abs=1e-7)


def test_the_counterweight_slides_by_the_insertion():
    q = np.array([0.3, -0.2, 0.1, 0.4, 0.2, 0.1])
    (at, deep) = (model.counterweight(q + [0, 0, d, 0, 0, 0], True)[1][:3, 3] for d in (0.0, 0.05))
    tool = [model.table(q + [0, 0, d, 0, 0, 0], True)[6][:3, 3] for d in (0.0, 0.05)]
    np.testing.assert_allclose(deep - at, tool[0] - tool[1], atol=1e-12)


def test_their_chain_without_limits_reaches_points_metres_away():
    for p in ENDS:
        solutions = model.unlimited(p, corrected=False)
        assert len(solutions) == 4
        for q in solutions:
            np.testing.assert_allclose(model.table([*q, 0, 0, 0], False)[-1][:3, 3], p, atol=1e-9)
    assert np.abs(model.unlimited(ENDS[0], corrected=False)[:, 2]).min() > 9.0


def test_no_joint_values_give_both_rows_of_table_1():
    """The first row has the tip 2.6 m from the pitch axis: 0.1 rad moves it by 0.26 m, but the table has 0.10 m."""
    moved = []
    for q in model.unlimited(TABLE_I[0], corrected=False):
        wrong = model.table([q[0], q[1] + 0.1, q[2], 0, 0, 0], False)[-1][:3, 3]
        moved.append(np.linalg.norm(wrong - TABLE_I[0]))
    np.testing.assert_allclose(moved, 0.2597, atol=1e-3)
    assert np.linalg.norm(TABLE_I[1] - TABLE_I[0]) == pytest.approx(0.100, abs=1e-3)


@pytest.mark.parametrize("joint", [2, 3, 4, 5])
def test_one_joint_of_point_masses_follows_euler_and_lagrange(joint, point_masses):
    t = np.linspace(0.0, 0.9, 20)
    effort = model.torque_along(point_masses, joint, t)[:, joint]
    assert np.abs(effort).max() > 1e-8
    np.testing.assert_allclose(effort, model.by_hand(joint, t), rtol=1e-9, atol=1e-15)


def test_every_pose_requires_table_2_at_some_acceleration(point_masses):
    for q in ([0, 0, 0.12, 0, 0.5, 0.5, 0], [0.4, -0.3, 0.2, 1.0, -0.6, 0.4, 0.2]):
        q = np.array(q)
        ddq = point_masses.forward_dynamics(q, np.zeros(7), np.append(TABLE_II, 0.0))
        np.testing.assert_allclose(point_masses.inverse_dynamics(q, np.zeros(7), ddq)[:6], TABLE_II, rtol=1e-8)
        assert np.abs(ddq[3:6]).min() > 1e5  # the wrist is so light that the table cannot describe a motion
