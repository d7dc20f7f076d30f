"""Batches of scenes with contact, against the simulator one by one."""

import numpy as np
import pytest

import trocar as tr
from trocar import batch
from trocar.simulation import Box, Solid

STEPS = 60


def table(tip):
    """A table just below the jaws."""
    return Solid("table", Box(tip - [0.0, 0.0, 0.0205], (0.2, 0.2, 0.02)), friction=0.3)


@pytest.fixture(scope="module")
def pressed():
    """A simulator over a table, and efforts (STEPS, 7, 3) that press, lift and push aside."""
    free = tr.Simulator("PSM", contacts=False)
    home = np.array(free.arm.home)
    sim = tr.Simulator("PSM", objects=[table(free.mechanism.forward_kinematics(home)[:3, 3])])
    tau = np.repeat(sim.mechanism.gravity(home)[None, :, None], STEPS, axis=0).repeat(3, axis=2)
    tau[:, 2] += [8.0, -8.0, 8.0]
    tau[:, 0, 2] += 0.5
    return sim, home, tau


def test_scenes_move_as_the_simulator_does(pressed):
    sim, home, tau = pressed
    scenes = batch.SceneRollouts(sim, threads=2)
    end, log = scenes.rollout(scenes.state(np.repeat(home[:, None], 3, axis=1)), tau, every=5)
    assert log.q.shape == (STEPS // 5, 7, 3)
    for k in range(3):
        sim.reset(home)
        for row in tau[:, :, k]:
            sim.step(row)
        np.testing.assert_allclose(end.q[:, k], sim.q, rtol=0, atol=1e-7)
    travel = end.q[2] - home[2]
    assert travel[1] < -0.002  # lifted
    assert abs(travel[0]) < 0.2 * abs(travel[1])  # held up by the table
    np.testing.assert_allclose(log.recording(1).q[0], home)


def test_scenes_can_have_different_parameters(pressed):
    sim, home, tau = pressed
    names = sim.mechanism.tree.names
    mass = np.repeat(sim.mechanism.tree.mass[:, None], 3, axis=1)
    mass[names.index("insertion"), 1] *= 2.0
    gravity = np.repeat(sim.gravity_vector[:, None], 3, axis=1)
    gravity[:, 2] = 0.0
    scenes = batch.SceneRollouts(sim, mass=mass, gravity=gravity, friction=np.ones(3))
    same = np.repeat(tau[:, :, 1:2], 3, axis=2)
    end, _ = scenes.rollout(scenes.state(np.repeat(home[:, None], 3, axis=1)), same)
    sim.reset(home)
    for row in tau[:, :, 1]:
        sim.step(row)
    np.testing.assert_allclose(end.q[:, 0], sim.q, rtol=0, atol=1e-7)
    assert np.abs(end.q[:, 1:] - end.q[:, :1]).max(axis=0).min() > 1e-4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda sim: batch.SceneRollouts(tr.Simulator("MTML")), "outside MuJoCo's model"),
        (lambda sim: batch.SceneRollouts(tr.Simulator("PSM", accuracy="exact")), "accuracy"),
        (lambda sim: batch.SceneRollouts(sim, mass=np.ones(3)), "mass must be"),
        (lambda sim: batch.SceneRollouts(sim, threads=0), "threads must be"),
        (lambda sim: batch.SceneRollouts(sim, friction=np.ones(2), gravity=np.ones((3, 4))), "different sizes"),
        (lambda sim: batch.SceneRollouts(sim).state(np.zeros(7)), "must have shape"),
        (lambda sim: batch.SceneRollouts(sim, friction=np.ones(2)).state(np.zeros((7, 3))), "belong to 2 scenes"),
    ],
)
def test_mistakes_are_reported_in_one_line(pressed, make, message):
    with pytest.raises(tr.TrocarError, match=message) as caught:
        make(pressed[0])
    assert "\n" not in str(caught.value)
