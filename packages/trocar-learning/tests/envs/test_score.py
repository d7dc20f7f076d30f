"""Scores of experts and policies: figures, page, film, and one line for everything that goes wrong."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from trocar.cli import app
from trocar_learning.envs import make_task
from trocar_learning.envs.episode import Episode
from trocar_learning.envs.score_report import score_report
from trocar_learning.envs.scoring import headings, summary

OWN = """
import numpy as np
from trocar_learning.envs import expert

def policy(env):
    act = expert(env)
    return lambda observation: act(observation)
"""


def invoke(*arguments: object):
    return CliRunner().invoke(app, ["score", *map(str, arguments)])


@pytest.fixture
def write(tmp_path):
    def written(content: str, name: str = "own.py"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return written


def test_the_expert_and_the_same_policy_from_a_file_have_the_same_score(tmp_path, write):
    files = [tmp_path / "expert.json", tmp_path / "own.json"]
    assert invoke("reach", "--expert", "-n", 2, "--seed", 3, "--json", files[0]).exit_code == 0
    result = invoke("Reach", "--policy", write(OWN), "-n", 2, "--seed", 3, "--json", files[1])
    assert result.exit_code == 0, result.output
    first, second = (json.loads(file.read_text()) for file in files)
    assert first["trials"] == second["trials"]
    assert [trial["seed"] for trial in first["trials"]] == [3, 4]
    assert first["summary"]["success"] == 1.0
    assert first["summary"]["success_low"] == pytest.approx(0.025**0.5)  # exact interval of 2 of 2
    assert "success 100 % (95 % interval 16 to 100 %, n = 2)" in result.output


def test_the_page_has_every_trial_and_a_film(tmp_path):
    result = invoke("ForceHold", "--expert", "--video", "-o", tmp_path / "page")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page" / "score.html").read_text()
    assert "ForceHold: expert" in page
    assert "data:image/gif;base64," in page
    assert (tmp_path / "page" / "score.gif").read_bytes().startswith(b"GIF89a")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("def policy(env:", "cannot be executed: SyntaxError"),
        ("import sys; sys.exit(3)", "cannot be executed: SystemExit"),
        ("1 / 0", "cannot be executed: ZeroDivisionError"),
        ("act = 1", "must define policy(env)"),
        ("def policy(env): return 1", "must return a function: action = f(observation), got 1"),
        ("def policy(env): return env.nothing", "failed: AttributeError"),
        ("def policy(env): return lambda o: o['x']", "the policy failed at 0.00 s of seed 0: IndexError"),
        ("import sys\ndef policy(env): return lambda o: sys.exit(0)", "failed at 0.00 s of seed 0: SystemExit"),
        ("import sys\ndef policy(env): sys.exit(0)", "failed: SystemExit"),
        ("def policy(env): return lambda o: [0.0]", "action must be"),
        ("def policy(env): return lambda o: [float('nan')] * 7", "action must be"),
    ],
)
def test_a_bad_policy_is_one_line(write, content, reason):
    result = invoke("Reach", "--policy", write(content))
    assert result.exit_code == 2
    assert reason in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["Juggle", "--expert"], "task 'Juggle' is unknown"),
        (["Reach"], "choose one of --expert"),
        (["Reach", "--expert", "--policy", "x.py"], "choose one of --expert"),
        (["Reach", "--policy", "no_such.py"], "does not exist"),
        (["Reach", "--policy", "weights.zip"], "ends in .py"),
        (["Reach", "--expert", "-n", "0"], "-n must be at least 1"),
        (["Reach", "--expert", "--level", "9sigma"], "level of randomisation '9sigma' is unknown"),
    ],
)
def test_bad_options_are_one_line(arguments, reason):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert reason in result.output
    assert result.output.count("\n") == 1


def test_the_file_of_an_earlier_run_is_replaced_after_an_error(tmp_path, write):
    file = tmp_path / "score.json"
    file.write_text("old")
    assert invoke("Reach", "--policy", write("1 / 0"), "--json", file).exit_code == 2
    assert json.loads(file.read_text())["summary"] == {"n": 0}


def test_the_summary_counts_held_and_first_apart():
    trials = [
        Episode(seed=0, held=True, first=True, time=1.0, path=0.1, peak_force=2.0, drops=1),
        Episode(seed=1, held=False, first=True, time=3.0, path=0.3, peak_force=1.0, drops=0),
    ]
    figures = summary(trials)
    assert (figures["success"], figures["first_success"], figures["drops"]) == (0.5, 1.0, 1)
    assert (figures["mean_time"], figures["peak_force"]) == (2.0, 2.0)


def test_the_page_keeps_the_capitals_of_units_and_names_columns_with_them():
    details = {"points": 3, "last_point": 41.5}
    figures = {"time": 60.0, "path": 1.5, "peak_force": 2.5, "drops": 0}
    trial = Episode.read({"seed": 0, "held": True, "first": True, **figures, **details})
    report = score_report("PegTransfer", "expert", "nominal", [trial])
    assert report.paragraphs[0] == (
        "Level: nominal. Mean points 3.00, success 100 % (95 % interval 3 to 100 %, n = 1), 0 drops, "
        "mean time 60.00 s, peak force 2.50 N."
    )
    assert headings([trial])[-2:] == ("points", "last point [s]")


def test_points_of_the_peg_transfer_are_figures_of_its_trials():
    env = make_task("PegTransfer")
    _, info = env.reset(seed=0)
    trial = Episode.of(0, info)
    assert trial.details["points"] == 0
    assert summary([trial])["mean_points"] == 0.0
