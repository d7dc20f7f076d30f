"""`trocar serve boards`: refused options. The boards themselves: transports/test_fpga*.py."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trocar.cli import app
from trocar.transports.fpga.server import BoardServer

DATA = Path(os.environ.get("TROCAR_DATA", "")) / "dvrk_config_jhu"
SYSTEMS = sorted(
    str(path.relative_to(DATA)) for path in DATA.rglob("*.json") if path.name[:7] in ("system-", "console")
)


@pytest.mark.skipif(not SYSTEMS, reason="needs the configuration files of a real dVRK")
@pytest.mark.parametrize("name", SYSTEMS or [""])
def test_every_system_file_of_jhu_is_served(name, monkeypatch):
    served = []
    monkeypatch.setattr(BoardServer, "serve", lambda server, *, ready: (served.append(server), ready()))
    result = CliRunner().invoke(app, ["serve", "boards", "--config", str(DATA / name)], env={"COLUMNS": "300"})
    assert result.exit_code == 0, result.output
    assert len(served) == 1
    content = (DATA / name).read_text()
    if '"SUJ_Classic"' in content and '"sawRobotIO1394-SUJ.json"' in content:
        assert "set-up joints; boards" in result.output
        assert "12 (QLA1)" in result.output


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--boards", "XYZ"], "QLA1, DQLA"),
        (["--config", "missing.json"], "missing.json cannot be read"),
        (["--arms", "PSM9"], "PSM9"),
        (["--host", "somewhere"], "IP address"),
        (["--rate", "0"], "--rate must be positive"),
    ],
)
def test_wrong_options_are_refused(options, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["serve", "boards", *options], env={"COLUMNS": "300"})
    assert result.exit_code == 2
    assert text in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_io_files_is_refused_with_the_reason(tmp_path):
    arm = {"name": "PSM1", "type": "PSM", "serial": "1"}
    (tmp_path / "system.json").write_text(json.dumps({"arms": [arm]}))
    result = CliRunner().invoke(app, ["serve", "boards", "--config", str(tmp_path / "system.json")])
    assert result.exit_code == 2
    assert "no arm with an IO file next to it" in result.output


def test_the_announcement_comes_from_the_loop_that_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(BoardServer, "serve", lambda server, *, ready: None)  # a loop that never gets ready
    result = CliRunner().invoke(app, ["serve", "boards", "--arms", "PSM1"])
    assert result.exit_code == 0
    assert "start the dVRK" not in result.output
