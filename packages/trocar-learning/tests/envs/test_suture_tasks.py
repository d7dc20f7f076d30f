"""Suturing steps: needles that start in tissue, forces that end an episode."""

from __future__ import annotations

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar_learning.envs import make_task
from trocar_learning.envs.tasks.suture_task import ARM, MAX_FORCE, SHAPE


def test_tissue_holds_a_needle_that_was_placed_through_it_by_friction_alone():
    env = make_task("Regrasp")
    env.reset(seed=1)
    task, world = env.task, env.world
    tissue = task.tissue(world)
    kinds = [point.kind for point in tissue.forces]
    assert kinds[0] == "exit"
    assert kinds[-1] == "entry"
    assert set(kinds[1:-1]) == {"path"}
    before, resting = world.T_world_object("needle"), env.modes[ARM].resting
    for _ in range(5):
        env.step(resting)
    assert np.linalg.norm(world.T_world_object("needle")[:3, 3] - before[:3, 3]) < 1e-4
    assert world.value("force") < 0.02  # only the weight of needle and thread
    # the friction of the tunnel is that of its length
    drag = tissue.thing.piercing.drag
    inside = tissue.forces[-1].s - tissue.forces[0].s
    limits = sum(tie.friction for tie in tissue._passage._ties)
    assert limits == pytest.approx(drag * inside, rel=1e-6)


def test_only_a_needle_that_is_through_can_be_placed_so():
    env = make_task("Insert")
    env.reset(seed=1)
    with pytest.raises(TrocarError, match="not through the tissue"):
        env.task.tissue(env.world).pass_through()


def test_a_straight_pull_of_a_curved_needle_ends_the_episode_by_its_force():
    env = make_task("Pullout")
    env.reset(seed=0)
    pull, over = np.array([-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, env.modes[ARM].resting[6]]), False
    while not over:
        *_, terminated, truncated, info = env.step(pull)
        over = terminated or truncated
    assert terminated
    assert not info["is_success"]
    assert env.world.value("strongest") > MAX_FORCE
    assert env.task.passed(env.world)[0] < SHAPE.length
