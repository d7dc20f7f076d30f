"""Every example runs as a user would run it, without a warning, and prints something."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trocar

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples_and_they_are_numbered():
    assert EXAMPLES
    assert all(re.match(r"\d\d_", path.name) for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    package = str(Path(trocar.__file__).parents[1])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]),
        "MPLBACKEND": "Agg",
    }
    run = subprocess.run(
        [sys.executable, "-W", "error", str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert run.stdout.strip()
