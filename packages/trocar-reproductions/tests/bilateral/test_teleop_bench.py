"""`trocar teleop bench`: claims, report, recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trocar.cli import app
from trocar.errors import TrocarError
from trocar_reproductions.bilateral import SECTIONS, Bench, run_bench


def test_the_bench_writes_claims_and_a_report(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app,
        ["teleop", "bench", "--section", "engine", "--json", str(tmp_path / "a.json"), "--report", str(tmp_path)],
    )
    assert result.exit_code == 0, result.output
    (claim,) = json.loads((tmp_path / "a.json").read_text())["claims"]
    assert claim["holds"] is True
    assert claim["id"].startswith("bilateral/")
    assert "bilateral/engine" in (tmp_path / "teleoperation.html").read_text()


def test_network_claims_hold_and_the_outage_is_kept_as_recordings(tmp_path: Path) -> None:
    bench = run_bench(["network", "z_width"], quick=True)
    assert bench.report.ok, bench.report.summary()
    assert len(bench.report.claims) == 14
    assert len(bench.report.figures) == 2
    names = [path.name for path in bench.logs["outage"].save(tmp_path, "outage")]
    assert names == ["outage-master.npz", "outage-slave.npz"]


def test_claims_are_written_although_a_section_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(bench: Bench) -> None:
        raise TrocarError("no compiler")

    monkeypatch.setitem(SECTIONS, "drift", broken)
    (file := tmp_path / "a.json").write_text("left from before")
    result = CliRunner().invoke(app, ["teleop", "bench", "--section", "drift", "--json", str(file)])
    assert result.exit_code == 2
    assert "no compiler" in result.output
    assert json.loads(file.read_text()) == {"claims": []}


def test_the_option_runs_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(SECTIONS):
        monkeypatch.delitem(SECTIONS, name)
    result = CliRunner().invoke(app, ["teleop", "--bench", "--json", str(tmp_path / "a.json")])
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "a.json").read_text()) == {"claims": []}


def test_an_unknown_section_is_a_one_line_error() -> None:
    result = CliRunner().invoke(app, ["teleop", "bench", "--section", "nothing"])
    assert result.exit_code == 2
    assert "section of the bench" in result.output
    assert result.output.count("\n") == 1
