"""The bench: it runs, and its names say what they are. No speed is tested here."""

from __future__ import annotations

import math
import re

import pytest

from trocar.bench import batch_figures, figures, scene_figures, step_figures
from trocar.errors import TrocarError


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    seen: list[float] = []
    found = figures(rounds=2, steps=3, batch=5, progress=seen.append)
    assert seen[-1] == 1.0
    return found


def test_every_figure_is_positive_and_names_its_unit(found: dict[str, float]) -> None:
    for name, value in found.items():
        assert re.fullmatch(r"psm_.*(_us|_us_per_(step|state|pose)|_over_\w+|real_time_factor\w*)", name), name
        assert math.isfinite(value), name
        assert value > 0, name


@pytest.mark.parametrize(
    "name",
    [
        "psm_step_us",
        "psm_mj_step_us",
        "psm_step_over_mj_step",
        "psm_real_time_factor",
        "psm_step_with_joint_pd_over_mj_step",
        "psm_step_with_hysteresis_over_mj_step",
        "psm_step_with_load_friction_over_mj_step",
        "psm_exact_step_us",
        "psm_terms_us",
        "psm_pinocchio_bare_us",
        "psm_terms_over_pinocchio",
        "psm_terms_batch_us_per_state",
        "psm_terms_batch_over_pinocchio",
        "psm_ik_batch_us_per_pose",
        "psm_fk_batch_us_per_state",
        "psm_regressor_us",
        "psm_regressor_batch_us_per_state",
    ],
)
def test_the_figure_is_there(found: dict[str, float], name: str) -> None:
    assert name in found


def test_the_real_time_factor_is_for_one_millisecond(found: dict[str, float]) -> None:
    assert found["psm_real_time_factor"] == pytest.approx(1000.0 / found["psm_step_us"])


def test_nothing_to_time_is_refused() -> None:
    with pytest.raises(TrocarError, match="1 or more"):
        figures(rounds=0)


def test_the_ecm_steps_in_the_bench_too() -> None:
    found = step_figures("ECM", rounds=2, steps=3)
    assert set(found) == {"ecm_mj_step_us", "ecm_step_us", "ecm_step_over_mj_step", "ecm_real_time_factor"}
    assert found["ecm_real_time_factor"] == pytest.approx(1000.0 / found["ecm_step_us"])
    assert all(math.isfinite(value) and value > 0 for value in found.values())


def test_figures_of_a_scene_are_positive_and_name_their_unit() -> None:
    found = scene_figures("cart_classic", rounds=1, steps=2)
    assert {"scene_cart_classic_step_over_psm_step", "scene_cart_classic_real_time_factor"} <= set(found)
    for name, value in found.items():
        assert re.fullmatch(r"scene_cart_classic_.*(_us|_over_\w+|real_time_factor\w*)", name), name
        assert math.isfinite(value), name
        assert value > 0, name


def test_figures_of_a_batch_are_positive() -> None:
    found = batch_figures(rounds=1, steps=2, arms=16, arm="ECM", jax=False)
    assert {"c_step_us", "c_step_over_mj_step", "c_batch_over_mj_step", "c_two_threads_speedup"} <= set(found)
    assert all(math.isfinite(value) and value > 0 for value in found.values())
    assert found["c_step_over_mj_step"] == pytest.approx(found["c_call_us"] / found["mj_step_us"])
