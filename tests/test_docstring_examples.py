"""Examples in the docstrings of modules: those that begin with an import run as printed, on a smaller robot."""

import ast
import re
import textwrap

import pytest

from tests.support.repository import SOURCES

SMALLER = {'"dvrk"': '"psm"', '"PSM1"': '"PSM"', "count=100": "count=2"}  # one arm instead of six, two episodes
ELSEWHERE = {
    "trocar/arms/urdf.py": "needs a file: arms/test_urdf.py",
    "trocar/batch/__init__.py": "compiled code: tests/batch",
    "trocar_learning/envs/worlds/__init__.py": "needs a GPU: envs/test_worlds.py",
    "trocar/teleoperation/__init__.py": "masters and patient arms: tests/teleoperation",
    "trocar/teleoperation/devices/__init__.py": "needs a gamepad",
}


def examples():
    """Path and code of every indented block of a module's docstring that begins with an import."""
    for folder, path in ((source, path) for source in SOURCES for path in sorted(source.rglob("*.py"))):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for block in re.findall(r"(?<=\n\n)((?:    .*\n?|\n(?=    ))+)", text):
            code = textwrap.dedent(block)
            if re.match("import |from .* import ", code):
                yield str(path.relative_to(folder)), code


EXAMPLES = dict(examples())


def test_the_examples_are_found():
    modules = "trocar", "trocar/robot", "trocar/robot/conformance", "trocar_learning", "trocar_learning/envs"
    assert {f"{module}/__init__.py" for module in modules} <= set(EXAMPLES)
    assert set(ELSEWHERE) <= set(EXAMPLES)


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path not in ELSEWHERE])
def test_an_example_runs_as_printed(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    code = EXAMPLES[path]
    for name, smaller in SMALLER.items():
        code = code.replace(name, smaller)
    exec(compile(code, path, "exec"), {"__name__": "example"})
