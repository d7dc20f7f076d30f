"""`trocar record` and `score` with bad input: one line before any work; no option is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import trocar_learning.envs.task_env
from trocar import checks
from trocar.cli import app
from trocar.errors import TrocarError
from trocar_learning.episodes import EpisodeRecipe

POLICY = "def policy(env):\n    return lambda observation: env.action_space.sample()\n"


@pytest.fixture(autouse=True)
def unplayed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in a folder with a policy; an episode that begins is an error."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("an episode began before the options were checked")

    monkeypatch.setattr(trocar_learning.envs.task_env.TaskEnv, "reset", fail)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(POLICY)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("score Reach --policy mine.py -n 0", "-n must be at least 1"),
        ("score Reach --policy mine.py --seed -1", "--seed at least 0"),
        ("score Reach --policy mine.py --set rate=30", "--set goes with a server"),
        ("score Reach --policy mine.py --set pictures=64x64", "--set goes with a server"),
        ("score Reach --policy mine.py --set timeout=3", "--set goes with a server"),
        ("score Reach --policy 127.0.0.1:1 --set timeout=nan", "timeout must be a number"),
        ("score Reach --policy 127.0.0.1:1 --set timeout=-1", "timeout must be a number"),
        ("score Reach --policy 127.0.0.1:1 --set pictures=0x0", "from 1 to 4096 pixels"),
        ("score Reach --policy 127.0.0.1:1 --set pictures=64", "WIDTHxHEIGHT"),
        ("score CameraCentre --policy 127.0.0.1:1", "commands tips of PSMs; the task CameraCentre has ECM"),
        ("score Reach --expert --set rate=30", "--set goes with a server"),
        ("score Reach --expert --set speed=3", "setting 'speed' is unknown"),
        ("score Reach --policy 127.0.0.1:1 --set rate=fast", "--set rate takes a number"),
        ("score Reach Track --expert", "several with --table"),
        ("score Reach", "choose one of --expert"),
        ("record Reach -o new --stereo 5x5", "from 16 to 4096 pixels and even"),
        ("record Reach -o new --stereo -4x8", "WIDTHxHEIGHT"),
        ("record Reach -o new --workers 0", "workers must be"),
        ("record Reach -o new --pictures png", "--pictures requires --stereo"),
        ("record Reach -o new --stereo 64x48 --format npz --pictures mp4", "stores single pictures"),
        ("record reech -o new", "Did you mean 'Reach'"),
        ("score --table peg_transfr", "Did you mean 'PegTransfer'"),
    ],
)
def test_bad_options_give_one_line_and_no_files(command: str, message: str) -> None:
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 2, (result.output, result.exception)
    (line,) = result.stderr.splitlines()
    assert message in line
    assert [path.name for path in Path().iterdir()] == ["mine.py"]


@pytest.mark.parametrize(("format", "kind"), [("lerobot3", "mp4"), ("robomimic", "png"), ("npz", "png")])
def test_the_kind_of_pictures_follows_the_format(format: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(recipe: EpisodeRecipe, *_: object, **__: object) -> None:
        raise TrocarError(f"recipe with {recipe.pictures} of {recipe.size}")

    monkeypatch.setattr("trocar_learning.episodes.record", refuse)
    result = CliRunner().invoke(app, f"record Reach -o new --stereo 64x48 --format {format}".split())
    assert f"recipe with {kind} of (64, 48)" in result.output


@pytest.mark.parametrize("spelling", ["peg_transfer", "peg-transfer", "PEGTRANSFER"])
@pytest.mark.parametrize(
    "command",
    ["record {} -o new --fps 99", "score {}", "score --table {} --level none"],
)
def test_all_commands_take_any_spelling_of_a_task(command: str, spelling: str) -> None:
    result = CliRunner().invoke(app, command.format(spelling).split())
    assert result.exit_code == 2
    assert "task" not in result.stderr  # the error is another one


@pytest.mark.parametrize("size", [None, 64, "64x64", (64,), (64, 64.5), (64, float("nan")), (64, 2**70), (True, True)])
def test_a_size_of_a_picture_is_two_whole_numbers(size: object) -> None:
    with pytest.raises(TrocarError, match=r"size must be \(width, height\)"):
        checks.picture_size("size", size)
    assert checks.picture_size("size", [64, 32.0]) == (64, 32)


def test_the_tasks_are_listed_with_their_summaries() -> None:
    from trocar_learning.envs.registration import ALL_TASKS

    result = CliRunner().invoke(app, ["score"])
    assert result.exit_code == 0, result.output
    for task in ALL_TASKS:
        assert f"│ {task} " in result.output
    assert "Move the tip to a point by joint efforts" in result.output
