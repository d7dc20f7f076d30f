"""The planner: paths around a box that blocks the straight path, checked by the collision engine."""

from __future__ import annotations

import numpy as np
import pytest

import trocar as tr
from trocar.control.trajectories import check_path, time_optimal
from trocar.errors import TrocarError
from trocar.simulation import Box, CollisionScene
from trocar.simulation.planning.planner import PlanningFailed, plan

PSM = tr.load_mechanism("PSM")
START = np.array([-0.5, 0.0, 0.16, 0.0, 0.0, 0.0, 0.0])
GOAL = np.array([0.5, 0.0, 0.16, 0.0, 0.0, 0.0, 0.0])
SCENE = CollisionScene(PSM.arm, {"box": Box((0.0, 0.0, -0.12), (0.03, 0.06, 0.08))})


@pytest.mark.parametrize("wrist", [0.0, 0.5])
def test_the_path_goes_around_a_box(wrist):
    """In three joints, and in six if the wrist must turn as well."""
    goal = GOAL.copy()
    goal[3:6] = wrist
    straight = check_path(PSM, time_optimal(PSM.arm, [START, goal]), contacts=SCENE)
    assert "obstacle 'box'" in straight.first("collision").text

    found = plan(SCENE, START, goal)
    reference = found.reference
    np.testing.assert_array_equal(reference(0.0).q, START)
    np.testing.assert_array_equal(reference(reference.end).q, goal)
    assert len(found.via) > 2
    checked = check_path(PSM, reference, step=1e-3, contacts=SCENE)
    assert checked, str(checked)
    distances = [SCENE.clearance(reference(t).q).distance for t in np.linspace(0.0, reference.end, 1500)]
    assert min(distances) > 1e-3
    assert found.clearance == pytest.approx(min(distances), abs=1e-3)
    assert max(checked.peak_velocity.max(), checked.peak_acceleration.max()) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_array_equal(np.ptp(found.via, axis=0)[6:], 0.0)


def test_the_same_seed_gives_the_same_path_and_another_seed_another():
    a, b, c = (plan(SCENE, START, GOAL, seed=seed).via for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert a.shape != c.shape or not np.allclose(a, c)


def test_a_free_straight_path_is_taken():
    away = START - [0.3, 0.0, 0.02, 0, 0, 0, 0]
    found = plan(SCENE, START, away)
    np.testing.assert_array_equal(found.via, [START, away])
    np.testing.assert_array_equal(plan(CollisionScene(PSM.arm), START, GOAL).via, [START, GOAL])


def test_the_simulated_arm_follows_a_plan():
    """A plan is a reference like any other."""
    sim = tr.Simulator("PSM", friction=False, timestep=1 / 1500)
    reference = plan(SCENE, START, GOAL, jerk=50.0).reference
    sim.reset(START)
    servo = tr.control.ComputedTorque(PSM, kp=900.0, kd=60.0)
    rec = tr.simulate(sim, servo, reference, reference.duration, every=10)
    np.testing.assert_allclose(rec.q[-1, :3], GOAL[:3], atol=1e-3)
    assert not any(SCENE.collides(q) for q in rec.q)


def test_a_colliding_start_or_goal_is_named_with_its_obstacle():
    inside = np.array([0.0, 0.0, 0.16, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(PlanningFailed, match=r"the start is not free: \w+ of PSM overlaps obstacle 'box'"):
        plan(SCENE, inside, GOAL)
    with pytest.raises(PlanningFailed, match="the goal is not free"):
        plan(SCENE, START, inside)


def test_a_failed_search_is_reported():
    """A sheet in the plane of yaw = 0 above the remote centre, where the column is at every pitch and insertion."""
    sheet = CollisionScene(PSM.arm, {"sheet": Box((0.0, 0.0, 0.4), (1e-3, 2.0, 0.6))})
    start, goal = START - [0.5, 0, 0, 0, 0, 0, 0], GOAL + [0.5, 0, 0, 0, 0, 0, 0]
    with pytest.raises(PlanningFailed, match=r"no path in 60 iterations \(\d+ states reached from the start"):
        plan(sheet, start, goal, iterations=60)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plan(SCENE, START, START), "start and goal are equal"),
        (lambda: plan(SCENE, START, GOAL * 10), r"via point 1: joint 1 \(yaw\) violates"),
        (lambda: plan(SCENE, START[:3], GOAL[:3]), "PSM has 7 joints"),
        (lambda: plan(SCENE, START, GOAL, joints=0), "differ in joint 1"),
        (lambda: plan(SCENE, START, GOAL, resolution=0.0), "resolution must be positive"),
        (lambda: plan(SCENE, START, GOAL, margin=-1.0), "margin must be"),
        (lambda: plan(CollisionScene({"a": PSM.arm, "b": PSM.arm}), START, GOAL), "the planner moves one arm"),
    ],
)
def test_bad_input_is_rejected(make, message):
    with pytest.raises(TrocarError, match=message):
        make()
