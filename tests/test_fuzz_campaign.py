"""The runner of long fuzz campaigns: pieces, seeds, failures, the end."""

import subprocess

import pytest

from tools import fuzz


@pytest.fixture
def pieces(monkeypatch):
    """Pieces that were run, as (inputs, seed); the third one fails."""
    ran = []

    def run(command, env, **_options):
        ran.append((int(env["TROCAR_FUZZ"]), int(env["TROCAR_FUZZ_SEED"])))
        output = f"==== {ran[-1][0]} inputs, seed {ran[-1][1]} ====\n{ran[-1][0]:8d}  file: table\n1 passed in 2.00s\n"
        return subprocess.CompletedProcess(command, int(len(ran) == 3), output, "")

    monkeypatch.setattr(subprocess, "run", run)
    return ran


def test_pieces_have_their_own_seeds_grow_and_end_with_the_first_failure(pieces):
    result = {"seed": 5, "pieces": 0, "inputs": 0, "seconds": 0.0}
    while fuzz.unfinished(result, 1_000_000):
        fuzz.run_piece("test", result, 1_000_000)
    assert [seed for _, seed in pieces] == [5, 6, 7]
    assert pieces[0][0] < pieces[1][0] < pieces[2][0]
    assert result["inputs"] == sum(count for count, _ in pieces)
    assert result["failure"] == f"TROCAR_FUZZ={pieces[2][0]} TROCAR_FUZZ_SEED=7"


def test_a_test_ends_with_its_number_of_inputs_and_one_without_inputs_at_once(pieces):
    result = {"seed": 5, "pieces": 0, "inputs": 0, "seconds": 0.0}
    assert fuzz.unfinished(None, 500)
    while fuzz.unfinished(result, 500):
        fuzz.run_piece("test", result, 500)
    assert result["inputs"] >= 500
    assert "failure" not in result
    assert not fuzz.unfinished({"inputs": 0, "pieces": 1}, 500)
