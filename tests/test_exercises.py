"""The notebooks of the exercises match their sources, and solutions pass their checks; `make docs` runs all of them."""

import json

import pytest

from tools import exercises


def test_there_are_eleven_exercises_with_task_solution_and_check():
    assert len(exercises.sources()) == 11
    for source in exercises.sources():
        kinds = [cell.kind for cell in exercises.cells(source.read_text("utf-8"))]
        assert kinds.count("solution") == kinds.count("check") == 1, source.name
        assert kinds[-1] == "check"


@pytest.mark.parametrize(("path", "text"), exercises.notebooks().items(), ids=lambda x: getattr(x, "stem", ""))
def test_a_notebook_matches_its_source(path, text):
    assert path.read_text("utf-8") == text, "run python -m tools.exercises"
    solved = path.parent.name == "solutions"
    codes = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert any(code == exercises.BLANK for code in codes) is not solved


@pytest.mark.parametrize("name", ["01_remote_centre", "07_friction"])
def test_a_solution_passes_its_check_and_a_wrong_one_does_not(name, tmp_path):
    source = exercises.FOLDER / "source" / f"{name}.py"
    assert exercises.executed(source)
    wrong = tmp_path / source.name
    wrong.write_text(source.read_text("utf-8").replace("# %% check", "distance = Fc = 1.0\n# %% check"))
    with pytest.raises(AssertionError):
        exercises.executed(wrong)
