"""ForceHold: its expert presses on a surface that turns, against the friction of the arm."""

from __future__ import annotations

import numpy as np

from trocar_learning.envs import TaskEnv, make_task
from trocar_learning.envs.episode import play
from trocar_learning.envs.tasks import force_hold

SEED = 15  # 0.53 N on 2860 N/m; the surface turns in the middle of the episode


def test_the_expert_holds_the_force_where_the_surface_turns_because_it_knows_friction(monkeypatch):
    env = make_task("ForceHold")
    assert play(env, TaskEnv.expert, SEED).held
    followed = force_hold._followed

    def without_friction(env, pad):
        commanded, servo = followed(env, pad)
        times = env.world.time + env.period * np.arange(len(commanded))
        return np.array([pad.height(t) for t in times]), servo

    monkeypatch.setattr(force_hold, "_followed", without_friction)
    assert not play(env, TaskEnv.expert, SEED).held
