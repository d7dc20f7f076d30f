"""Random command lines of `trocar run`: status 2 and one line, never a traceback.

TROCAR_FUZZ=N tries N lines instead of a few; TROCAR_FUZZ_SEED=N selects other lines.
"""

import re

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from tests.support.odd_values import INPUTS, SEED, rounds, text
from trocar.cli import app

pytestmark = pytest.mark.xdist_group("run")
OPTIONS = ("--speed", "--api", "--start", "--pedal", "--input", "--scene", "--port", "--frobnicate")


def test_odd_command_lines_end_with_status_2_and_never_a_traceback(tmp_path, monkeypatch):
    command = typer.main.get_command(app)
    monkeypatch.setattr("typer.testing._get_command", lambda _: command)  # which builds all commands for every line
    (script := tmp_path / "script.py").write_text("print(1)\n")
    rng, runner = np.random.default_rng(SEED), CliRunner()
    for _ in range(rounds(40)):
        line = []
        for _ in range(rng.integers(1, 4)):
            line += [OPTIONS[rng.integers(len(OPTIONS))], text(rng).replace("\x00", "") or "@"]
        INPUTS["command lines of trocar run"] += 1
        ran = runner.invoke(app, ["run", *line, "--speed", "odd", str(script)])
        assert ran.exit_code == 2, (line, ran.output)
        assert ran.exception is None or isinstance(ran.exception, SystemExit), (line, ran.exception)
        assert not re.search("Traceback", ran.output), line
