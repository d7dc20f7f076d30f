"""`trocar teleop`: devices and their recordings."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.waiting import TIMEOUT
from trocar.cli import app
from trocar.recording.loading import load_recording


def test_a_command_line_without_a_master_is_a_one_line_error() -> None:
    result = CliRunner().invoke(app, ["teleop"])
    assert result.exit_code == 2
    assert "nothing to do: give --master" in result.output
    assert result.output.count("\n") == 1


def test_a_scripted_device_drives_a_psm_and_leaves_a_recording(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["teleop", "--master", "scripted", "--no-page", "--duration", "1.5", "-o", str(tmp_path)]
    )
    assert result.exit_code == 0, result.output
    assert str(tmp_path / "PSM1.npz") in result.output
    recording = load_recording(tmp_path / "PSM1.npz")
    assert recording.extra["following"].any()
    assert recording.provenance["teleoperation"] == "script"


def test_sigterm_keeps_figures_and_recordings(tmp_path: Path) -> None:
    command = ["teleop", "--master", "scripted", "--no-page", "--duration", "600", "-o", str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-u", "-m", "trocar", *command], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        while "End with Ctrl-C" not in (line := process.stdout.readline()):
            assert line, "the command ended by itself"
        time.sleep(0.5)  # something to record
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert "following" in output
    assert load_recording(tmp_path / "PSM1.npz").t[-1] > 0.0


def test_phones_and_a_headset_get_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography", reason="pip install 'trocar[vr]'")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    masters = ["--master", "vr@:0", "--master", "phone@:0", "--master", "vr@:0"]
    command = ["teleop", *masters, "--no-page", "--duration", "0.1", "--task", "none"]
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
        (["--master", "scripted@0.0.0.0"], "a device of this machine; leave out @0.0.0.0"),
        (["--master", "vr@127.0.0.1:70000"], "0 to 65535"),
        (["--master", "vr@127.0.0.1:1", "--master", "phone@127.0.0.1:2"], "have one server"),
        (["--master", "scripted", "--allow-motion"], "--allow-motion is for masters in ROS"),
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
