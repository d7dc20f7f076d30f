"""The runner of long fuzz campaigns: pieces, seeds, failures, the end, the report of each test."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.odd_values import INPUTS, add_piece
from tools import fuzz

NAMES = ["a.py::test_a", "a.py::test_b", "b.py::test_c"]
A, B, C = NAMES


@pytest.fixture
def pieces(monkeypatch):
    """Processes that were run, as (tests, inputs, seed); the third piece of test_b fails."""
    ran = []

    def run(command, env, **_options):
        tests = [name for name in command if name in NAMES]
        rounds, seed = int(env["TROCAR_FUZZ"]), int(env["TROCAR_FUZZ_SEED"])
        ran.append((tests, rounds, seed))
        lines = []
        for test in tests:
            failed = test == B and seed == 7
            lines.append(
                {"test": test, "inputs": rounds, "seconds": 2.0, "cpu": 1.0, "failed": failed, "output": "a trace"}
            )
        Path(env["TROCAR_FUZZ_REPORT"]).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return ran


def test_the_pieces_of_an_interface_share_a_process_and_later_ones_have_their_own_seeds_and_grow(pieces, tmp_path):
    campaign = fuzz.Campaign(tmp_path / "fuzz.json", 5, 20_000)
    campaign.run(NAMES)
    assert pieces[:2] == [([A, B], fuzz.FIRST_ROUNDS, 5), ([C], fuzz.FIRST_ROUNDS, 5)]
    assert [piece[0] for piece in pieces[2:4]] == [[A, B], [C]]
    assert [seed for tests, _, seed in pieces if A in tests] == [5, 6, 7]
    rounds = [count for tests, count, _ in pieces if A in tests]
    assert rounds[0] < rounds[1] < rounds[2]
    assert campaign.results[A]["inputs"] == sum(rounds) == 20_001


def test_a_failure_has_its_seed_and_ends_the_test(pieces, tmp_path):
    campaign = fuzz.Campaign(tmp_path / "fuzz.json", 5, 1_000_000)
    campaign.run([B])
    rounds = [count for _, count, _ in pieces]
    assert campaign.results[B]["failure"] == f"TROCAR_FUZZ={rounds[2]} TROCAR_FUZZ_SEED=7"
    assert campaign.results[B]["output"] == "a trace"
    assert len(rounds) == 3
    assert "TROCAR_FUZZ_SEED=7" in campaign.table()


def test_a_campaign_resumes_with_the_next_seed(pieces, tmp_path):
    for rounds in (300, 1000):
        fuzz.Campaign(tmp_path / "fuzz.json", 5, rounds).run([A])
    assert [seed for _, _, seed in pieces] == [5, 6]
    assert json.loads((tmp_path / "fuzz.json").read_text())[A]["inputs"] == 1001


def test_the_inputs_of_an_interface_are_divided_evenly_between_its_doors(pieces, monkeypatch, tmp_path):
    doors = ["a.py::test_a", "a.py::test_b", "a.py::test_c", "b.py::test_a"]
    monkeypatch.setattr(sys.modules[__name__], "NAMES", doors)
    campaign = fuzz.Campaign(tmp_path / "fuzz.json", 5, 9000, per_interface=True)
    campaign.run(doors)
    inputs = {door: campaign.results[door]["inputs"] for door in doors}
    assert inputs == {**dict.fromkeys(doors[:3], 3001), "b.py::test_a": 9001}
    table = [line.split() for line in campaign.interface_table().splitlines()[1:]]
    assert [(line[0], line[2], line[4]) for line in table] == [("9003", "3", "a.py"), ("9001", "1", "b.py")]


def test_a_test_whose_process_dies_has_failed_and_one_that_is_skipped_has_not(monkeypatch, tmp_path):
    for status in (-11, 0):
        done = subprocess.CompletedProcess([], status, "Fatal Python error", "")
        monkeypatch.setattr(subprocess, "run", lambda *_args, done=done, **_options: done)
        campaign = fuzz.Campaign(tmp_path / f"fuzz{status}.json", 5, 300)
        campaign.run([A])
        assert ("failure" in campaign.results[A]) == (status != 0)
        assert campaign.results[A]["pieces"] == 1


def test_only_the_test_that_kills_a_shared_process_has_failed(monkeypatch, tmp_path):
    doors = ["a.py::test_a", "a.py::test_b", "a.py::test_c"]

    def run(command, env, **_options):
        tests = [name for name in command if name in doors]
        reached = tests[: tests.index(doors[1])] if doors[1] in tests else tests
        piece = {"inputs": 300, "seconds": 2.0, "cpu": 1.0, "failed": False, "output": ""}
        Path(env["TROCAR_FUZZ_REPORT"]).write_text("".join(json.dumps({"test": t, **piece}) + "\n" for t in reached))
        return subprocess.CompletedProcess(command, 0 if reached == tests else -11, "Fatal Python error", "")

    monkeypatch.setattr(subprocess, "run", run)
    campaign = fuzz.Campaign(tmp_path / "fuzz.json", 5, 300)
    campaign.run(doors)
    assert {door: (result["inputs"], "failure" in result) for door, result in campaign.results.items()} == {
        doors[0]: (300, False),
        doors[1]: (0, True),
        doors[2]: (300, False),
    }


def test_every_test_reports_its_own_inputs(tmp_path):
    for inputs, outcome in ((3, "passed"), (4, "failed")):
        INPUTS["a test of the campaign"] += inputs
        add_piece(
            pytest.TestReport(f"test_{inputs}", ("", 1, ""), {}, outcome, "a trace", "call", duration=2.0),
            tmp_path / "r",
        )
    lines = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    assert [(line["test"], line["inputs"], line["failed"]) for line in lines[1:]] == [("test_4", 4, True)]
    assert lines[1]["output"] == "a trace"
    assert lines[1]["seconds"] == 2.0
