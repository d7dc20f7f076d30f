"""The template of a package: built, installed elsewhere, and used through every entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from trocar import plugins
from trocar.cli import PACKAGES, application

TEMPLATE = ROOT / "examples" / "package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment of a process that finds the template, installed from its wheel."""
    pytest.importorskip("hatchling", reason="builds the template: pip install hatchling")
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    subprocess.run([*pip, str(TEMPLATE)], check=True)
    return {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"}


def run(environment: dict[str, str], *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_command_is_listed_and_runs(installed: dict[str, str], tmp_path: Path) -> None:
    assert "My lab" in run(installed, "-m", "trocar", "--help", cwd=tmp_path)
    assert run(installed, "-m", "trocar", "reach-height", "ECM", cwd=tmp_path).startswith("ECM: tip from ")


def test_its_scene_set_panel_and_device_are_offered_by_name(installed: dict[str, str], tmp_path: Path) -> None:
    code = """
import json, numpy as np, trocar as tr
from trocar.plugins import plugin
from trocar.teleoperation.devices import DEVICES
from trocar.view.pages import viewer_page
from trocar.view.server import serve
scene = tr.load_scene("bench", seed=3)
own, best = (tr.load_mechanism("PSM", name).gravity(np.full(7, 0.1)) for name in ("our_arm", "wang2019"))
with tr.Robot(scene, start="ready", speed="real", playing=False) as robot:
    server = serve(port=0)
    page = viewer_page(server, robot)
    titles = [type(panel).__name__ for panel in page.panels]
    page.close()
    server.stop()
print(json.dumps([list(scene.arms), np.allclose(own, best), titles, DEVICES["circle"].open(0).name]))
"""
    pytest.importorskip("viser")
    arms, same, panels, device = json.loads(run(installed, "-c", code, cwd=tmp_path).splitlines()[-1])
    assert (arms, same, device) == (["PSM1"], True, "circle")
    assert "HeightPanel" in panels


def test_a_scene_of_another_package_runs_in_every_command(installed: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import crtk, dvrk\narm = dvrk.psm(crtk.ral('me'), 'PSM1')\nprint(arm.measured_jp()[0].shape)\n")
    options = ("run", "--scene", "bench", "--seed", "2", "--speed", "fast", "--api", "2.4", str(script))
    assert "(6,)" in run(installed, "-m", "trocar", *options, cwd=tmp_path)
    options = (
        "teleop",
        "--task",
        "bench",
        "--master",
        "circle",
        "--no-page",
        "--duration",
        "0.5",
        "--json",
        "run.json",
    )
    run(installed, "-m", "trocar", *options, "--json", "run.json", cwd=tmp_path)
    assert json.loads((tmp_path / "run.json").read_text())["PSM1"]["duration"] > 0.4


class Entry:
    """An entry point of a package that is broken."""

    def __init__(self, name: str, value: str, package: str = "broken-lab") -> None:
        self.name, self.value, self.dist = name, value, type("Distribution", (), {"name": package})

    def load(self) -> object:
        raise ImportError("No module named 'nowhere'")


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch):
    """Replace the entry points of all groups."""
    listed: list[Entry] = []
    monkeypatch.setattr(plugins, "entry_points", lambda group: listed)
    caches = (plugins.names, plugins.plugin, plugins._entries)
    for function in caches:
        function.cache_clear()
    yield listed
    for function in caches:
        function.cache_clear()


def test_a_broken_package_is_named(entries: list[Entry]) -> None:
    entries.append(Entry("bench", "nowhere:SCENE"))
    with pytest.raises(plugins.TrocarError, match="'bench' of the package broken-lab cannot be loaded"):
        plugins.plugin("trocar.scenes", "bench")


def test_two_packages_with_the_same_name_are_named(entries: list[Entry]) -> None:
    entries += [Entry("bench", "one:SCENE", "one"), Entry("bench", "two:SCENE", "two")]
    with pytest.raises(plugins.TrocarError, match="the packages one and two both add 'bench'"):
        plugins.names("trocar.scenes")


def test_commands_of_a_broken_package_are_left_out_with_a_warning(
    entries: list[Entry], capsys: pytest.CaptureFixture[str]
) -> None:
    entries.append(Entry("mine", "nowhere:COMMANDS"))
    application()
    assert "warning: 'mine' of the package broken-lab cannot be loaded" in capsys.readouterr().err


def test_a_missing_command_names_its_package(entries: list[Entry]) -> None:
    from typer.testing import CliRunner

    for package, commands in PACKAGES.items():
        for command in commands:
            result = CliRunner().invoke(application(), command.split())
            assert result.exit_code == 2
            assert f"pip install {package}" in result.stderr, command
