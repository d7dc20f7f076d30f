"""The committed policies still do what docs/learning.md says, on a few seeds that no training used."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.repository import ROOT
from trocar_learning.envs import make_task
from trocar_learning.envs.episode import play
from trocar_learning.envs.network_policy import load_network

FOLDER = ROOT / "examples" / "policies"


def trials(name: str, level: str, seeds: range, scale: float = 1.0) -> list[tuple[bool, object]]:
    """Success and task of every seed; scale: of the policy's actions."""
    policy = load_network(FOLDER / f"{name}.npz")
    env = make_task(policy.task, level=level, **policy.options)
    act = policy(env)
    results = []
    for seed in seeds:
        held = play(env, lambda env: lambda x: scale * act(x), seed).held
        results.append((held, float(env.task.rms(env.world)[0]) if name == "track" else None))
    return results


def test_reach_is_learned():
    assert sum(held for held, _ in trials("reach", "nominal", range(200, 208))) >= 7


def test_tracking_with_a_learned_residual_beats_nominal_computed_torque_by_a_third_at_3_sigma():
    learned, nominal = (np.array([rms for _, rms in trials("track", "3sigma", range(200, 202), s)]) for s in (1.0, 0.0))
    assert np.sqrt(np.mean(learned**2) / np.mean(nominal**2)) < 0.7


def test_a_needle_is_picked_by_the_cloned_expert():
    assert sum(held for held, _ in trials("needle_pick", "nominal", range(200, 203))) >= 2


def test_a_peg_is_lifted_by_a_policy_learned_on_a_gpu():
    assert all(held for held, _ in trials("peg_lift_ppo", "nominal", range(200, 202)))


@pytest.mark.parametrize("name", ["reach", "track", "needle_pick"])
def test_the_page_has_the_figures_of_the_scores(name):
    scores = json.loads((FOLDER / "scores.json").read_text())[name]
    page = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    interval = (
        f"{100 * scores['success']:.0f} % ({100 * scores['low']:.0f} to {100 * scores['high']:.0f}), n = {scores['n']}"
    )
    assert interval in page
    if name == "track":
        assert f"{scores['rms_mm']:.2f} instead of {scores['nominal_rms_mm']:.2f} mm" in page
    assert (FOLDER / f"{name}.npz").stat().st_size < 200_000
