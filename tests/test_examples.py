"""Every example runs as a user would run it, without a warning, and prints something."""

import os
import re
from pathlib import Path

import pytest

import trocar
from tests.support.forked_runs import ForkingInterpreter

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples_and_they_are_numbered():
    assert EXAMPLES
    assert all(re.match(r"\d\d_", path.name) for path in EXAMPLES)


@pytest.fixture(scope="module")
def interpreter():
    package = str(Path(trocar.__file__).parents[1])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]),
        "MPLBACKEND": "Agg",
    }
    result = ForkingInterpreter(environment)
    yield result
    result.close()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, interpreter, tmp_path):
    run = interpreter.run(path, tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert run.stdout.strip()


def test_a_script_that_fails_or_warns_is_noticed(interpreter, tmp_path):
    for name, text in (("fails", "1 / 0"), ("warns", "import warnings\nwarnings.warn('old')"), ("ends", "exit(3)")):
        script, folder = tmp_path / f"{name}.py", tmp_path / name
        script.write_text(text)
        folder.mkdir()
        run = interpreter.run(script, folder)
        assert run.returncode == (3 if name == "ends" else 1)
        assert ("Error" in run.stderr or "UserWarning" in run.stderr) is (name != "ends")
