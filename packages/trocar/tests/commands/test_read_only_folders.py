"""A folder that cannot be written: every command says so in one line, before its work, and writes nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from tests.support.repository import SUPPORT
from trocar.cli import app

SCENE = SUPPORT / "run_scripts" / "psm1.toml"
COMMANDS = (
    "demo -o {folder}/demo",
    "sim ECM -d 0.01 -o {folder}/out",
    "scene {scene} -d 0.01 -o {folder}/out",
    "sweep sensitivity -o {folder}/sweep",
    "render {recording} -o {folder}/picture.png",
    "render {recording} -o {folder}/film.gif",
    "compare {recording} {recording} -o {folder}/figure.png",
    "excite --arm ECM -o {folder}/out",
    "identify {recording} --arm ECM --json {folder}/x.json",
    "identify {recording} --arm ECM --predictions {folder}/x.csv",
    "identify {recording} --arm ECM -o {folder}/x.toml",
    "identify {recording} --arm ECM --report {folder}/report",
    "export ECM -o {folder}/model",
    "bench --json {folder}/x.json",
    "fetch -o {folder}/data",
    "reproduce --json {folder}/x.json",
    "reproduce --report {folder}/report",
    "crtk-check --json {folder}/x.json",
    "serve ros2 {scene} --record {folder}/x.bag",
    "serve launch-files {folder}/launch",
    "serve coppelia --port 0 --log {folder}/logs",
    "serve boards --arms PSM1",  # its configuration files in the current folder
    "teleop bench --json {folder}/x.json",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on a disk that is mounted read-only, which stops root too."""
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a disk requires root")
    yield folder
    os.chdir("/")
    subprocess.run(["umount", folder], check=True)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arm, q = tr.load_arm("ECM"), np.zeros((3, 4))
    channels = {"q": q, "dq": q, "tau": q, "joints": arm.joint_names, "joint_units": arm.joint_units}
    return tr.Recording(t=np.arange(3.0), **channels).save(tmp_path_factory.mktemp("in") / "recording.npz")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_read_only_folder_is_one_line_and_status_2(
    command: str, folder: Path, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = [word.format(folder=folder, scene=SCENE, recording=recording) for word in command.split()]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 2, ran.output
    (line,) = ran.stderr.splitlines()
    assert line.startswith("error: ")
    assert "permission" in line or "Read-only" in line
    assert not list(folder.iterdir())
