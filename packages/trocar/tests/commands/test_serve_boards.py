"""`trocar serve --fpga`: refused combinations of options. The boards themselves: tests/transports/test_fpga*.py."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from trocar.cli import app


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--fpga", "--ros1"], "choose an interface"),
        (["--fpga", "--images", "5"], "omit --record"),
        (["--fpga", "--boards", "XYZ"], "QLA1, DQLA"),
        (["--fpga", "--config", "missing.json"], "missing.json cannot be read"),
        (["--fpga", "--arms", "PSM9"], "PSM9"),
        (["--fpga", "--host", "somewhere"], "IP address"),
        (["--ros1", "--config", "system.json"], "apply to --fpga only"),
    ],
)
def test_wrong_options_are_refused(options, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["serve", *options], env={"COLUMNS": "300"})
    assert result.exit_code == 2
    assert text in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_io_files_is_refused_with_the_reason(tmp_path):
    arm = {"name": "PSM1", "type": "PSM", "serial": "1"}
    (tmp_path / "system.json").write_text(json.dumps({"arms": [arm]}))
    result = CliRunner().invoke(app, ["serve", "--fpga", "--config", str(tmp_path / "system.json")])
    assert result.exit_code == 2
    assert "no arm with an IO file next to it" in result.output
