"""Approach: the expert backs off a rail of the tray instead of pressing on it."""

from __future__ import annotations

import pytest

from trocar_learning.envs import make_task

HARD, LONG = 5.0, 1.0  # [N], [s]


@pytest.mark.parametrize("seed", [5, 29, 53, 74, 96])
def test_the_expert_backs_off_if_a_finger_stands_on_a_rail(seed: int) -> None:
    """In these episodes a finger meets a rail on the way down, 1.0 to 1.2 mm above the grip."""
    env, over = make_task("Approach"), False
    observation, info = env.reset(seed=seed)
    act = env.task.expert(env)
    pressed = longest = largest = 0.0
    while not over:
        observation, _, terminated, truncated, info = env.step(act(observation))
        force, over = env.world.scene.arms["PSM"].contact_force(), terminated or truncated
        pressed = pressed + env.period if force > HARD else 0.0
        longest, largest = max(longest, pressed), max(largest, force)
    env.close()
    assert largest > HARD  # it did meet the rail
    assert longest <= LONG
    assert info["is_success"]
