"""The bench runs, and names have units. Speed is not tested."""

from __future__ import annotations

import os
import re
import threading

import numpy as np
import pytest

from trocar.bench import (
    NotQuiet,
    Timing,
    batch_figures,
    check_quiet,
    crtk_figures,
    figures,
    scene_figures,
    step_figures,
)
from trocar.bench.timing import TimedCall, named_figures, timed
from trocar.errors import TrocarError
from trocar.robot.controller.constants import PERIOD
from trocar.robot.pace import Pace


@pytest.fixture(scope="module")
def found() -> dict[str, Timing]:
    seen: list[float] = []
    found = figures(rounds=2, steps=3, batch=5, progress=seen.append)
    assert seen[-1] == 1.0
    return found


def test_every_figure_is_positive_and_names_its_unit(found: dict[str, Timing]) -> None:
    check_positive(found)
    for name in found:
        assert re.fullmatch(r"psm_.*(_us|_us_per_(step|state|pose)|_over_\w+|real_time_factor\w*)", name), name


def check_positive(found: dict[str, Timing]) -> None:
    for name, figure in found.items():
        assert np.isfinite(figure).all(), name
        assert figure.value > 0, name
        assert figure.spread >= 0, name


def test_the_names_of_the_figures_are_those_of_earlier_releases(found: dict[str, Timing]) -> None:
    names = {name.removeprefix("psm_") for name in found}
    assert names >= {"step_us", "step_over_mj_step", "real_time_factor", "simulate_over_mj_step", "terms_us"}
    assert len(names) == 32


def test_a_ratio_is_the_median_of_the_ratios_of_the_rounds() -> None:
    us = {"a": np.array([2.0, 9.0, 4.0]), "b": np.array([1.0, 3.0, 4.0]), "step": np.array([200.0, 500.0, 400.0])}
    found = named_figures(("a_us", "a_over_b", "real_time_factor"), us, "psm")
    values = {name: figure.value for name, figure in found.items()}
    assert values == {"psm_a_us": 4.0, "psm_a_over_b": 2.0, "psm_real_time_factor": 2.5}


def test_the_spread_of_a_figure_covers_its_median() -> None:
    rng = np.random.default_rng(0)
    figures = [Timing.of(rng.normal(2.0, 0.1, 30)) for _ in range(2000)]
    assert np.mean([abs(value / 2.0 - 1.0) <= spread for value, spread in figures]) == pytest.approx(0.95, abs=0.02)


def test_all_calls_take_turns_and_every_other_round_is_reversed() -> None:
    order: list[str] = []
    calls = {name: TimedCall(lambda name=name: order.append(name), 1) for name in "abc"}
    us = timed(calls, rounds=10)
    assert [len(times) for times in us.values()] == [10, 10, 10]
    turns = ["".join(order[i : i + 3]) for i in range(0, len(order), 3)]
    assert turns == ["abc", "cba"] * 6  # two rounds of warm-up before


def test_a_machine_that_is_not_quiet_is_refused() -> None:
    check_quiet({"a_us": Timing(3.0, 0.5), "a_over_b": Timing(1.5, 0.02)})
    with pytest.raises(NotQuiet, match="a_over_b is uncertain by 4 %, at most 3 % is accepted"):
        check_quiet({"a_over_b": Timing(1.5, 0.04), "c_over_b": Timing(1.5, 0.02)})


def test_zero_rounds_or_steps_are_rejected() -> None:
    with pytest.raises(TrocarError, match="1 or more"):
        figures(rounds=0)


def test_the_bench_also_steps_the_ecm() -> None:
    found = step_figures("ECM", rounds=2, steps=3)
    assert set(found) == {"ecm_mj_step_us", "ecm_step_us", "ecm_step_over_mj_step", "ecm_real_time_factor"}
    check_positive(found)


def test_figures_of_a_scene_are_positive_and_name_their_unit() -> None:
    found = scene_figures("cart_classic", rounds=1, steps=2)
    assert {"scene_cart_classic_step_over_psm_step", "scene_cart_classic_real_time_factor"} <= set(found)
    check_positive(found)
    for name in found:
        assert re.fullmatch(r"scene_cart_classic_.*(_us|_over_\w+|real_time_factor\w*)", name), name


def test_figures_of_a_batch_are_positive() -> None:
    found = batch_figures(rounds=1, steps=2, arms=16, arm="ECM", jax=False)
    assert {"c_step_us", "c_step_over_mj_step", "c_batch_over_mj_step", "c_two_threads_speedup"} <= set(found)
    check_positive(found)
    assert found["c_step_over_mj_step"].value == pytest.approx(found["c_call_us"].value / found["mj_step_us"].value)


def test_figures_of_a_dvrk_under_its_controllers_agree_with_each_other() -> None:
    found = {name: figure.value for name, figure in crtk_figures(rounds=1, seconds=0.02).items()}
    for state in ("holding", "moving"):
        assert found[f"crtk_dvrk_cycle_{state}_us"] > 0
        speed = found[f"crtk_dvrk_real_time_factor_{state}"]
        assert speed == pytest.approx(1e6 / 1500 / found[f"crtk_dvrk_cycle_{state}_us"])
    ours, bare = (found[f"crtk_dvrk_{loop}late_cycles_percent"] for loop in ("", "bare_loop_"))
    assert 0 <= min(ours, bare) <= max(ours, bare) <= 100
    assert found["crtk_dvrk_late_cycles_above_bare_loop_percentage_points"] == pytest.approx(ours - bare)
    assert found["crtk_dvrk_real_time_priority"] in (0.0, 1.0)
    assert len(found) == 8
    with pytest.raises(TrocarError, match="1 or more"):
        crtk_figures(rounds=0)


def test_a_cycle_that_begins_more_than_a_period_after_it_was_due_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, closing = [0.0], threading.Event()

    def cycle() -> None:
        clock[0] += 3.5 * PERIOD if pace.cycles == 2 else 0.0  # the second cycle is slow
        if pace.cycles == 6:
            closing.set()

    def rest(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr("trocar.robot.pace.time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("trocar.robot.pace.time.sleep", rest)
    pace = Pace()
    pace.keep(cycle, closing)
    assert (pace.cycles, pace.late) == (6, 2)


def test_cycles_run_when_due_and_a_long_lag_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, closing = [0.0], threading.Event()
    before = os.sched_getscheduler(0)
    begun: list[float] = []
    rests: list[int] = []

    def cycle() -> None:
        begun.append(clock[0])
        clock[0] += 1.0 if pace.cycles == 3 else 0.3 * PERIOD
        if pace.cycles == 200:
            closing.set()

    def rest(seconds: float) -> None:
        clock[0] += seconds
        rests.append(pace.cycles)

    monkeypatch.setattr("trocar.robot.pace.time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("trocar.robot.pace.time.sleep", rest)
    pace = Pace(speed=0.5)  # every two periods of real time
    pace.keep(cycle, closing)
    due = 2 * PERIOD * np.arange(1, 4)
    assert begun[:3] == pytest.approx(due)
    whole = 2 * PERIOD * round((clock[0] - 0.9) / (2 * PERIOD))  # 1 s was lost, of which 0.1 s are caught up
    assert pace.cycles == pytest.approx(whole / (2 * PERIOD), abs=2)
    assert max(np.diff([0, *rests])) <= 15  # other threads also get the bus while the loop is behind
    assert os.sched_getscheduler(0) == before  # the priority is restored
