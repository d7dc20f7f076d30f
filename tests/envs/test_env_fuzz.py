"""Odd actions, seeds and options of an environment give an answer or one clear line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.support.odd_values import INPUTS, SEED, number, numbers, python_nonsense, rounds, text
from trocar.envs import TaskEnv, make_task
from trocar.errors import TrocarError

DOORS: dict[str, Callable[[TaskEnv, np.random.Generator], Any]] = {
    "step": lambda env, rng: env.step(numbers(rng, 7) if rng.integers(3) else python_nonsense(rng)),
    "reset seed": lambda env, rng: env.reset(seed=number(rng) if rng.integers(2) else python_nonsense(rng)),  # type: ignore[arg-type]
    "reset options": lambda env, rng: env.reset(
        options={"level": text(rng)} if rng.integers(2) else python_nonsense(rng)
    ),
    "options": lambda env, rng: make_task("Reach", **{str(rng.choice(["mode", "level", "reward"])): text(rng)}),
}


def check_line(error: TrocarError) -> None:
    """The message is one short line."""
    assert 0 < len(str(error)) <= 600
    assert "\n" not in str(error)


@pytest.mark.parametrize("door", DOORS)
def test_odd_values_of_an_environment_give_an_answer_or_one_clear_line(door: str) -> None:
    rng, env = np.random.default_rng([SEED, sum(door.encode())]), make_task("Reach")
    env.reset(seed=0)
    for _ in range(rounds(20)):
        INPUTS[f"Environment: {door}"] += 1
        try:
            DOORS[door](env, rng)
        except TrocarError as error:
            check_line(error)
        except gymnasium.error.ResetNeeded:
            env.reset(seed=0)
    observation, _ = env.reset(seed=0)
    assert np.isfinite(observation).all()
