"""Examples in the docstrings of modules: those that begin with an import run as printed, on a smaller robot."""

import ast
import re
import textwrap
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "trocar"
SMALLER = {'"dvrk"': '"psm"', '"PSM1"': '"PSM"', "count=100": "count=2"}  # one arm instead of six, two episodes
ELSEWHERE = {
    "arms/urdf.py": "needs a file: tests/arms/test_urdf.py",
    "batch/__init__.py": "compiled code: tests/batch",
    "envs/worlds/__init__.py": "needs a GPU: tests/envs/test_worlds.py",
    "teleoperation/__init__.py": "masters and patient arms: tests/teleoperation",
    "teleoperation/devices/__init__.py": "needs a gamepad",
}


def examples():
    """Path and code of every indented block of a module's docstring that begins with an import."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for block in re.findall(r"(?<=\n\n)((?:    .*\n?|\n(?=    ))+)", text):
            code = textwrap.dedent(block)
            if re.match("import |from .* import ", code):
                yield str(path.relative_to(SOURCE)), code


EXAMPLES = dict(examples())


def test_the_examples_are_found():
    assert {"__init__.py", "robot/__init__.py", "robot/conformance/__init__.py", "envs/__init__.py"} <= set(EXAMPLES)
    assert set(ELSEWHERE) <= set(EXAMPLES)


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path not in ELSEWHERE])
def test_an_example_runs_as_printed(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    if path.startswith("envs"):
        pytest.importorskip("gymnasium")
    code = EXAMPLES[path]
    for name, smaller in SMALLER.items():
        code = code.replace(name, smaller)
    exec(compile(code, path, "exec"), {"__name__": "example"})
