"""`trocar ferro-task`: recordings, logs and refused options."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner, Result

import trocar.recording.figure as figure_module
from trocar.cli import app
from trocar.recording import Recording


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the figure of a recording, which takes a second, with an empty one."""
    monkeypatch.setattr(figure_module, "recording_figure", lambda *_: Figure(figsize=(1, 1)))


@pytest.mark.parametrize(("task", "control"), [("spiral", "kinematic"), ("line", "torque"), ("regulation", "torque")])
def test_a_task_runs_and_writes_its_logs(no_figure: None, tmp_path: Path, task: str, control: str) -> None:
    result = call("ferro-task", task, "--control", control, "-d", 0.6, "-o", tmp_path, "--log", tmp_path / "log")
    assert result.exit_code == 0, result.output
    assert f"{task}, {control} control" in result.output
    assert {path.name for path in tmp_path.iterdir()} == {"recording.npz", "recording.csv", "recording.png", "log"}
    recording = Recording.load(tmp_path / "recording.npz")
    assert len(recording) == 60
    assert (recording.provenance["task"], recording.provenance["control"]) == (task, control)
    rows = (tmp_path / "log" / "tauMsr.txt").read_text().splitlines()
    assert len(rows) == 60
    assert all(row.endswith(";") and row.count(",") == 7 for row in rows)


def test_a_task_runs_with_the_masses_of_the_published_scene(no_figure: None, tmp_path: Path) -> None:
    scene = ("-p", "ferro2022_scene", "--transmission", "mirrored")
    result = call("ferro-task", "line", *scene, "-d", 0.1, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    about = Recording.load(tmp_path / "recording.npz").provenance
    assert (about["parameters"], about["transmission"], about["friction"]) == ("ferro2022_scene", "mirrored", False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("line", "--along", "x.csv"), "--along gives the motion of the task excitation"),
        (("line", "-d", "11"), "longer than the task 'line', which has 10 s"),
        (("excitation",), "run 'trocar fetch wang2019', set TROCAR_DATA"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.setenv("TROCAR_DATA", str(tmp_path))
    result = call("ferro-task", *arguments, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()
