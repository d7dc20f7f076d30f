"""Timings of teleoperation, `python -m tools.bench teleop`."""

import multiprocessing
from contextlib import contextmanager

import numpy as np
import pytest

from tests.support.crtk_robot import started
from tools.bench.page import looked_at
from tools.bench.teleop import figures
from trocar.errors import TrocarError


def test_timings_have_parts_that_add_up():
    times = figures(rounds=1, seconds=0.02, page=None)
    for state in ("holding", "two_pairs", "camera"):
        parts = sum(times[f"teleop_{state}_{part}_us_per_ms"] for part in ("teleoperation", "arms", "engine"))
        assert parts == pytest.approx(times[f"teleop_{state}_us_per_ms"])
        assert times[f"teleop_{state}_real_time_factor"] == pytest.approx(1e3 / parts)
    assert {"teleop_psm_ik_us", "teleop_mtmr_ik_us", "teleop_mtmr_ik_at_platform_us"} <= set(times)
    assert min(value for name, value in times.items() if "engine" not in name) > 0.0  # the engine is what is left
    with pytest.raises(TrocarError, match="rounds"):
        figures(rounds=0)


def test_timings_with_a_page_refresh_it_30_times_per_simulated_second():
    refreshed = []

    @contextmanager
    def page(robot):
        yield lambda: refreshed.append(robot.time)

    times = figures(rounds=1, seconds=0.1, page=page)
    np.testing.assert_allclose(np.diff(refreshed), [1 / 30, 1 / 30], atol=1e-6)
    state = "teleop_two_pairs_pushed_with_page"
    whole = times[f"{state}_us_per_ms"]
    assert times[f"{state}_real_time_factor"] == pytest.approx(1e3 / whole)
    assert 0.0 < times[f"{state}_drawing_us_per_ms"] < whole
    assert times[f"{state}_server_us_per_ms"] < whole
    assert times[f"{state}_wall_real_time_factor"] > 0.0


def test_the_page_of_the_bench_is_open_in_a_browser():
    robot = started("PSM")
    before = len(multiprocessing.active_children())
    with looked_at(robot) as refresh:
        robot.run(0.1)
        refresh()
        assert len(multiprocessing.active_children()) == before + 1
    assert len(multiprocessing.active_children()) == before
