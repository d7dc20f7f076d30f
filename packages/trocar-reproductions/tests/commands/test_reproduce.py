"""`trocar reproduce`: exit status, messages and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from trocar.cli import app
from trocar.errors import TrocarError
from trocar.report import Claim, Report
from trocar_reproductions import experiments

Run = Callable[[Any], Report]


def report(name: str, ours: float | None = 1.0) -> Report:
    claim = Claim(
        id=f"{name}/number",
        published=1.0,
        ours=ours,
        unit="mm",
        relation="equal",
        tolerance=0.1,
        source="Table 1",
        note="" if ours is not None else "not run: no data",
    )
    return Report(f"Title of {name}", [claim])


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Replace the registered experiments with the given ones, independent of the environment."""
    for variable in ("TROCAR_DATA", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def register(**runs: Run) -> None:
        fakes = {name: SimpleNamespace(name=name, title=f"About {name}", run=run) for name, run in runs.items()}
        monkeypatch.setattr(experiments, "EXPERIMENTS", fakes)

    return register


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def claims(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["claims"]


def test_all_experiments_run_when_none_is_named(register: Callable[..., None], tmp_path: Path) -> None:
    register(first=lambda _: report("first"), second=lambda _: report("second", ours=None))
    result = call("reproduce", "--json", tmp_path / "claims.json", "--report", tmp_path / "reports")
    assert result.exit_code == 0, result.output
    assert [(c["id"], c["holds"]) for c in claims(tmp_path / "claims.json")] == [
        ("first/number", True),
        ("second/number", None),
    ]
    counts = "1 of 2 printed numbers met (1 not run); claims: 1 passed, 0 failed, 1 skipped (1 not run)"
    assert counts == result.stdout.splitlines()[-1]
    assert "Title of first" in (tmp_path / "reports" / "first.html").read_text()
    assert "Title of second" in (tmp_path / "reports" / "second.html").read_text()


def test_only_the_named_experiments_run_each_once(register: Callable[..., None], tmp_path: Path) -> None:
    ran = []

    def experiment(name: str) -> Run:
        return lambda _: ran.append(name) or report(name)  # type: ignore[func-returns-value]

    register(first=experiment("first"), second=experiment("second"), third=experiment("third"))
    assert call("reproduce", "third", "first", "third").exit_code == 0
    assert ran == ["third", "first"]


def test_a_failing_claim_gives_status_1_and_writes_the_json_file(register: Callable[..., None], tmp_path: Path) -> None:
    register(first=lambda _: report("first", ours=5.0), second=lambda _: report("second"))
    result = call("reproduce", "--json", tmp_path / "claims.json")
    assert result.exit_code == 1
    assert [c["holds"] for c in claims(tmp_path / "claims.json")] == [False, True]
    assert "FAILED" in result.stdout


@pytest.mark.parametrize("error", [RuntimeError("it broke"), TrocarError("it broke")])
def test_a_raising_experiment_does_not_stop_the_others(
    register: Callable[..., None], tmp_path: Path, error: Exception
) -> None:
    def fail(_: object) -> Report:
        raise error

    register(first=fail, second=lambda _: report("second"))
    result = call("reproduce", "--json", tmp_path / "claims.json")
    assert result.exit_code == 1
    assert "error: first: it broke" in result.stderr.splitlines()
    assert ("Traceback" in result.stderr) == isinstance(error, RuntimeError)
    broken, other = claims(tmp_path / "claims.json")
    assert (broken["holds"], broken["note"]) == (None, f"not run: {type(error).__name__}: it broke")
    assert (other["id"], other["holds"]) == ("second/number", True)


def test_experiments_may_not_share_claim_ids(register: Callable[..., None]) -> None:
    register(first=lambda _: report("same"), second=lambda _: report("same"))
    result = call("reproduce")
    assert result.exit_code == 1
    assert "error: second: claim 'same/number' is already in the report" in result.stderr


def test_an_unknown_name_gives_status_2_and_a_suggestion(register: Callable[..., None], tmp_path: Path) -> None:
    register(ferro2022=lambda _: report("ferro2022"), patel2018=lambda _: report("patel2018"))
    (tmp_path / "claims.json").write_text('{"claims": ["left from an earlier run"]}')
    result = call("reproduce", "ferro202", "--json", tmp_path / "claims.json")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert "Did you mean 'ferro2022'?" in line
    assert "patel2018" in line
    assert claims(tmp_path / "claims.json") == []


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_missing_data_folder_gives_status_2(
    register: Callable[..., None], tmp_path: Path, by_environment: bool
) -> None:
    register(first=lambda _: report("first"))
    missing = tmp_path / "missing"
    environment = {"TROCAR_DATA": str(missing)} if by_environment else {}
    arguments = [] if by_environment else ["--data", str(missing)]
    result = CliRunner().invoke(app, ["reproduce", *arguments], env=environment)
    assert result.exit_code == 2
    assert str(missing) in result.stderr
    assert "does not exist" in result.stderr


def test_the_context_has_the_folders_and_the_progress(register: Callable[..., None], tmp_path: Path) -> None:
    seen: list[Any] = []

    def look(context: Any) -> Report:
        context.progress("half way")
        seen.append(context)
        return report("first")

    register(first=look)
    assert call("reproduce").exit_code == 0
    result = call("reproduce", "--data", tmp_path, "--report", tmp_path / "reports", "--video")
    assert result.exit_code == 0, result.output
    assert [(context.data, context.video) for context in seen] == [
        (None, None),
        (tmp_path, tmp_path / "reports" / "video"),
    ]


def test_video_requires_a_report_folder(register: Callable[..., None]) -> None:
    register(first=lambda _: report("first"))
    result = call("reproduce", "--video")
    assert result.exit_code == 2
    assert "--video requires --report" in result.stderr


def test_an_unwritable_json_file_gives_status_2(register: Callable[..., None], tmp_path: Path) -> None:
    register(first=lambda _: report("first"))
    result = call("reproduce", "--json", tmp_path)
    assert result.exit_code == 2
    assert str(tmp_path) in result.stderr
    assert "Traceback" not in result.stderr


def interrupt(*_: object) -> Report:
    raise KeyboardInterrupt


def test_reproduce_checks_its_paths_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[object] = []
    fake = SimpleNamespace(name="one", title="One", run=ran.append)
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"one": fake})
    (tmp_path / "file").touch()
    result = call("reproduce", "--data", tmp_path, "--report", tmp_path / "file")
    assert result.exit_code == 2
    assert "is a file, not a folder" in result.stderr
    assert not ran


def test_interrupted_reproduce_prints_how_to_continue_and_lists_missing_experiments(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = {"one": lambda _: Report("One"), "two": interrupt, "three": lambda _: Report("Three")}
    fakes = {name: SimpleNamespace(name=name, title=name.title(), run=run) for name, run in runs.items()}
    monkeypatch.setattr(experiments, "EXPERIMENTS", fakes)
    result = call("reproduce", "--data", tmp_path, "--json", tmp_path / "claims.json")
    assert result.exit_code == 130
    assert result.stderr == "interrupted; to continue, run: trocar reproduce two three\n"
    listed = claims(tmp_path / "claims.json")
    assert [(claim["id"], claim["holds"], claim["note"]) for claim in listed] == [
        ("two/run", None, "not run: interrupted"),
        ("three/run", None, "not run: interrupted"),
    ]
