"""`trocar serve boards`: refused options. The boards themselves: transports/test_fpga*.py."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from trocar.cli import app


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
