"""The history of benchmarks: what it keeps, and what it calls slower."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import bench_history


def add(folder: Path, **figures: float) -> int:
    (folder / "figures.json").write_text(json.dumps(figures))
    return bench_history.main([str(folder / "figures.json"), "-o", str(folder / "history")])


def test_runs_are_appended_drawn_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for ratio in (1.2, 1.25, 1.15, 1.3):
        assert add(tmp_path, step_us=9.0, step_over_mj_step=ratio, step_over_mj_step_spread=0.01) == 0
    assert add(tmp_path, step_us=9.0, step_over_mj_step=1.36, new_over_mj_step=3.0) == 1
    assert "slower: step_over_mj_step is 1.36, 11 % above 1.23 before" in capsys.readouterr().out
    runs = [json.loads(line) for line in (tmp_path / "history" / "bench.jsonl").read_text().splitlines()]
    assert [run["ratios"]["step_over_mj_step"] for run in runs] == [1.2, 1.25, 1.15, 1.3, 1.36]
    assert set(runs[-1]["ratios"]) == {"step_over_mj_step", "new_over_mj_step"}  # no times of this machine
    assert "step_over_mj_step" in (tmp_path / "history" / "bench.svg").read_text()


def test_only_the_last_ten_runs_are_compared(tmp_path: Path) -> None:
    for ratio in [2.0] * 20 + [1.0] * 10:
        assert add(tmp_path, a_over_b=ratio) == 0
    assert add(tmp_path, a_over_b=1.2) == 1
