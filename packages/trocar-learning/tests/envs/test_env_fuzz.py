"""Odd actions, seeds and options of an environment give an answer or one clear line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.support.odd_values import INPUTS, SEED, number, numbers, python_nonsense, rounds, text
from trocar.commands.options import pixels
from trocar.errors import TrocarError
from trocar_learning.commands.contest import client_words
from trocar_learning.envs import TaskEnv, make_task
from trocar_learning.envs.policies import load_policy

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


LINES = (
    "def policy(env):",
    "    return lambda observation: [0.0] * 7",
    "policy = 3",
    "raise KeyError",
    "return",
    "\0",
    "",
)


def test_odd_policy_files_give_a_policy_or_one_clear_line(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(SEED), tmp_path / "odd.py"
    for _ in range(rounds(20)):
        INPUTS["Policy file"] += 1
        lines = [text(rng) if rng.integers(4) == 0 else str(rng.choice(LINES)) for _ in range(rng.integers(6))]
        path.write_bytes("\n".join(lines).encode(errors="replace"))
        try:
            assert callable(load_policy(path))
        except TrocarError as error:
            check_line(error)


def test_odd_commands_and_sizes_of_clients_give_an_answer_or_one_clear_line() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(rounds(100)):
        INPUTS["Client command"] += 1
        for read in (client_words, partial(pixels, "--image-size")):
            try:
                assert read(text(rng))
            except TrocarError as error:
                check_line(error)
