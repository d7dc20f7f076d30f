"""Scores of tasks: exact intervals, runs that continue, a table."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from typer.testing import CliRunner

from tools.bench import tasks as timing
from trocar.cli import app
from trocar.errors import TrocarError
from trocar.report.success_rate import clopper_pearson
from trocar_learning.envs import make_task, scoring
from trocar_learning.envs.episode import Episode


def test_the_interval_is_that_of_clopper_and_pearson():
    # 0 of 10 and 8 of 10, two-sided 95 %: Clopper and Pearson 1934
    assert clopper_pearson(0, 10) == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert clopper_pearson(8, 10) == pytest.approx((0.4439, 0.9748), abs=1e-4)
    assert clopper_pearson(100, 100) == pytest.approx((0.9638, 1.0), abs=1e-4)


def test_a_run_continues_where_it_stopped(tmp_path, monkeypatch):
    file = tmp_path / "episodes.jsonl"
    first = list(scoring.episodes(["Reach"], ["random"], ["nominal"], range(1), file))
    counted: list[int] = []

    def run(env, policy, seed):
        counted.append(seed)
        return Episode(
            seed=seed, held=True, first=True, steps=2, seconds=1.0, time=0.04, path=0.0, peak_force=0.0, drops=0
        )

    monkeypatch.setattr(scoring, "play", run)
    both = list(scoring.episodes(["Reach"], ["random"], ["nominal"], range(2), file))
    assert counted == [1]
    assert both[0] == first[0]
    assert scoring.read(file) == both
    assert scoring.table(both)[0][:4] == ("Reach", "nominal", "random", "2")
    assert scoring.markdown(both).count("\n") == 3


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "x").write_text("[1]\n")
    with pytest.raises(TrocarError, match="holds no episodes"):
        scoring.read(tmp_path / "x")


def test_the_command_prints_a_table(tmp_path):
    arguments = ["score", "--table", "Reach", "--policy", "expert", "--level", "nominal", "-n", "1"]
    result = CliRunner().invoke(app, [*arguments, "--json", str(tmp_path / "t.json")])
    assert result.exit_code == 0, result.output
    assert "100 % (3 to 100)" in result.output
    (episode,) = json.loads((tmp_path / "t.json").read_text())["episodes"]
    assert (episode["task"], episode["policy"], episode["held"]) == ("Reach", "expert", True)


def test_the_command_refuses_an_unknown_task():
    result = CliRunner().invoke(app, ["score", "--table", "Juggle"])
    assert result.exit_code != 0
    assert "Juggle" in result.output


def test_the_bare_loop_of_the_timings_moves_the_arm_as_the_environment_does():
    env = make_task("ForceHold")
    env.reset(seed=0)
    bare = pickle.loads(pickle.dumps(env))
    for action in np.random.default_rng(0).uniform(-1, 1, (3, 7)):
        env.step(action)
        timing._bare_period(bare, action)
    assert bare.world.scene.data.qpos.tobytes() == env.world.scene.data.qpos.tobytes()
