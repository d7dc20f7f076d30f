"""`trocar teleop`: devices and their recordings; `--bench`: claims, report, recordings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trocar.cli import app
from trocar.errors import TrocarError
from trocar.recording.loading import load_recording
from trocar_reproductions.bilateral import SECTIONS, Bench, run_bench


def test_the_bench_writes_claims_and_a_report(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app,
        ["teleop", "--bench", "--section", "engine", "--json", str(tmp_path / "a.json"), "--report", str(tmp_path)],
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "nothing to do: give --master"), (["--bench", "--section", "nothing"], "section of the bench")],
)
def test_a_senseless_command_line_is_a_one_line_error(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["teleop", *arguments])
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1


def test_claims_are_written_although_a_section_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(bench: Bench) -> None:
        raise TrocarError("no compiler")

    monkeypatch.setitem(SECTIONS, "drift", broken)
    (file := tmp_path / "a.json").write_text("left from before")
    result = CliRunner().invoke(app, ["teleop", "--bench", "--section", "drift", "--json", str(file)])
    assert result.exit_code == 2
    assert "no compiler" in result.output
    assert json.loads(file.read_text()) == {"claims": []}


def test_a_scripted_device_drives_a_psm_and_leaves_a_recording(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["teleop", "--master", "scripted", "--no-page", "--duration", "1.5", "-o", str(tmp_path)]
    )
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "PSM1.npz") in result.output
    recording = load_recording(tmp_path / "PSM1.npz")
    assert recording.extra["following"].any()
    assert recording.provenance["teleoperation"] == "script"


def test_phones_and_a_headset_get_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography", reason="pip install 'trocar[vr]'")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    masters = ["--master", "vr", "--master", "phone", "--master", "vr"]
    command = ["teleop", *masters, "--no-page", "--duration", "0.1", "--device-port", "0", "--task", "none"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "PSM1: right controller" in result.output
    assert "PSM3: left controller" in result.output
    for name, device in (("headset", "vr"), ("phone", "phone")):
        (line,) = [line for line in result.output.splitlines() if line.startswith(f"Open on the {name}: ")]
        assert re.fullmatch(rf"https://127\.0\.0\.1:\d+/\?device={device}&token=[\w-]{{22}}", line.split()[-1])
    (file,) = tmp_path.rglob("*.pem")
    assert str(file) in result.output
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_person_who_plays_the_peg_transfer_gets_a_score() -> None:
    arguments = ["--task", "peg_transfer", "--seed", "2", "--master", "scripted", "--no-page", "--duration", "2.5"]
    result = CliRunner().invoke(app, ["teleop", *arguments])
    assert result.exit_code == 0, result.output
    found = re.search(r"Score: 0 points, .* 0 drops, path (\d+) \+ (\d+) mm", result.output)
    assert found, result.output
    first, second = map(int, found.groups())
    assert sorted([first > 2, second > 2]) == [False, True]  # the script draws a circle with PSM1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--master", "scripted", "--seed", "2"], "--seed"),
        (["--bench", "--master", "scripted"], "do not go together"),
        (["--master", "joystick"], "master 'joystick'"),
        (["--master", "keyboard", "--no-page", "--duration", "1"], "a part of the page"),
        (["--master", "scripted", "--no-page"], "needs --duration"),
        (["--master", "scripted", "--arm", "PSM7"], "arm 'PSM7'"),
        (["--master", "scripted", "--arm", "PSM1", "--arm", "PSM2"], "one --arm for each --master"),
        (["--master", "scripted", "--master", "scripted", "--no-page", "--duration", "1"], "can be given once"),
        (["--master", "scripted", "--scale", "2"], "--scale"),
        (["--master", "scripted", "--scale", "nan"], "--scale"),
        (["--master", "scripted", "--delay", "-1"], "--delay"),
        (["--master", "scripted", "--delay", "nan"], "--delay"),
        (["--master", "scripted", "--duration", "0"], "--duration"),
        (["--master", "scripted", "--task", "surgery"], "task 'surgery'"),
        (["--master", "scripted", "--port", "70000"], "port must be"),
        (["--master", "scripted", "--host", "0.0.0.0"], "--host and --device-port are for"),
        (["--master", "scripted", "--device-port", "1"], "--host and --device-port are for"),
        (["--master", "scripted", "--record", "run.csv"], "--record takes FILE.npz"),
        (["--master", "vr", "--master", "vr", "--master", "vr"], "--master vr can be given twice"),
        (["--master", "gamepad", "--no-page", "--duration", "1"], "gamepad 1 was not found"),
        (["--master", "spacemouse", "--no-page", "--duration", "1"], "no SpaceMouse can be used"),
    ],
)
def test_unusable_masters_are_a_one_line_error(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["teleop", *arguments])
    assert result.exit_code == 2, result.output
    (line,) = [line for line in result.output.splitlines() if line.startswith("error:")]
    assert message in line
    assert len(line) < 490
