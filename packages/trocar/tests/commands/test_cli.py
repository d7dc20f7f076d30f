"""The command line: exit status, messages and files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner, Result

import trocar.appearance
import trocar.bench
import trocar.demo
from trocar import cli
from trocar.__main__ import program
from trocar.bench import Timing
from trocar.cli import app
from trocar.commands import terminal
from trocar.errors import TrocarError
from trocar.recording import Recording
from trocar.recording import figure as figure_module
from trocar.report import Claim, Report


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


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(("ours", "status"), [(1.0, 0), (5.0, 1)])
def test_demo_saves_a_report_and_its_pictures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ours: float, status: int
) -> None:
    def run(output: Path, progress: Callable[[float], None]) -> Report:
        made = report("demo", ours)
        made.next_steps.append(("trocar view PSM", "drive an arm"))
        made.add_figure(Figure(figsize=(1, 1)), "A caption")
        return made

    monkeypatch.setattr(trocar.demo, "run", run)
    result = call("demo", "-o", tmp_path / "out")
    assert result.exit_code == status, result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["demo.html", "figure-1.png"]
    page = (tmp_path / "out" / "demo.html").read_text("utf-8")
    assert f"{terminal.own_command()} view PSM</code>" in page  # as the user started it, which works as printed
    assert page.count("<td>one-sided</td>") == 0  # only kinds of evidence that the claims have
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert str(tmp_path / "out" / "demo.html") in lines
    assert str(tmp_path / "out" / "figure-1.png") in lines
    assert re.search(r"Took \d+\.\d s\.", result.stdout)


def test_an_error_of_trocar_is_one_line_without_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(output: Path, progress: Callable[[float], None]) -> Report:
        raise TrocarError("the arm 'PSMM' is unknown")

    monkeypatch.setattr(trocar.demo, "run", run)
    result = call("demo", "-o", tmp_path)
    assert result.exit_code == 2
    assert result.stderr.strip() == "error: the arm 'PSMM' is unknown"


def test_help_lists_the_commands_and_each_gives_an_example() -> None:
    def text(*arguments: str) -> str:
        # Without colour codes, which some CI services force on, and without line breaks.
        return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", call(*arguments, "--help").stdout).split())

    for command in ("demo", "reproduce", "sim", "bench"):
        assert f" {command} " in text()
        assert f"Example: trocar {command}" in text(command)
        assert "<bool>" not in text(command)  # a flag takes no value


def test_help_is_wrapped_by_the_terminal_and_not_by_the_source() -> None:
    commands = [command for command in app.registered_commands if command.callback]
    names = [command.name or command.callback.__name__.replace("_", "-") for command in commands]
    assert len(names) > 10
    for name in names:
        shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "1500", "NO_COLOR": "1"}).stdout
        body = [line.strip() for line in shown.partition("\u256d")[0].splitlines()]  # above the box of the options
        lines = [line for line in body if line and not line.startswith(("Usage:", "Example"))]
        assert lines
        assert [line for line in lines if line[-1] not in ".;:,"] == []


@pytest.fixture
def no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the figure of a recording, which takes a second, with an empty one."""
    monkeypatch.setattr(figure_module, "recording_figure", lambda *_: Figure(figsize=(1, 1)))


@pytest.fixture
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make rendering fail, as on a machine without OpenGL."""

    def render(*_: object) -> None:
        raise TrocarError("no OpenGL here")

    monkeypatch.setattr(trocar.appearance, "render", render)


@pytest.mark.parametrize("controller", ["pid", "pd", "gravity", "computed-torque", "velocity", "effort"])
def test_sim_saves_a_recording_and_a_plot(no_picture: None, no_figure: None, tmp_path: Path, controller: str) -> None:
    result = call("sim", "PSM", "--controller", controller, "--duration", 0.02, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["recording.csv", "recording.npz", "recording.png"]
    recording = Recording.load(tmp_path / "recording.npz")
    assert recording.provenance["timestep"] == (1 / 1500 if controller == "pid" else 1e-3)
    assert (recording.q == Recording.load(tmp_path / "recording.csv").q).all()
    assert "no picture: no OpenGL here" in result.stderr.splitlines()
    for text in ("RMS tracking error", "wrist_pitch", "Largest RCM error: ", "Real-time factor"):
        assert text in result.stdout


@pytest.mark.parametrize("trajectory", ["hold", "step", "sinusoid", "quintic"])
def test_sim_moves_the_named_joints_only(no_picture: None, no_figure: None, tmp_path: Path, trajectory: str) -> None:
    options = ("--joint", "roll", "--joint", "jaw", "-d", 0.05, "--no-friction", "--no-counterweight")
    result = call("sim", "-c", "computed-torque", "-t", trajectory, *options, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    recording = Recording.load(tmp_path / "recording.npz")
    moved = {j for j, q in zip(recording.joints, recording.commands["q"].T, strict=True) if q.max() > q.min()}
    assert moved == (set() if trajectory == "hold" else {"roll", "jaw"})
    about = recording.provenance
    assert (about["friction"], about["counterweight"], about["trajectory"]) == (False, False, trajectory)


def test_sim_takes_instrument_mounting_start_and_a_push(no_picture: None, no_figure: None, tmp_path: Path) -> None:
    start = "-0.3,0.1,0.1,0.2,0,0,0.2"
    options = ("-i", "400007", "--set", "mounting=-20", "--start", start, "--push", "-1,0,2", "-t", "hold", "-d", 0.2)
    result = call("sim", "psm", "-c", "gravity", *options, "--no-friction", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    recording = Recording.load(tmp_path / "recording.npz")
    np.testing.assert_allclose(recording.q[0], [float(value) for value in start.split(",")])
    about = recording.provenance
    assert about["arm"] == "PSM"
    assert about["instrument"].endswith("400007")
    assert about["tip_force"] == [-1.0, 0.0, 2.0]
    np.testing.assert_allclose(
        about["gravity"], trocar.arms.gravity_vector(trocar.arms.load_arm("PSM"), None, np.radians(-20))
    )
    mech = trocar.load_mechanism("PSM", instrument="400007", mounting=np.radians(-20))
    want = mech.forward_dynamics(
        recording.q[0],
        0 * recording.q[0],
        mech.gravity(recording.q[0]) + mech.effort_of_tip_force(recording.q[0], [-1.0, 0.0, 2.0]),
    )
    np.testing.assert_allclose(recording.ddq[0], want, rtol=0.02, atol=1e-3)  # the push accelerates the arm


def test_follow_simulates_the_motion_of_a_recording(no_picture: None, no_figure: None, tmp_path: Path) -> None:
    recorded = call("sim", "-t", "quintic", "--joint", "yaw", "-d", 0.5, "-o", tmp_path / "one")
    assert recorded.exit_code == 0, recorded.output
    path = tmp_path / "one" / "recording.npz"
    result = call("follow", path, "-c", "computed-torque", "-o", tmp_path / "two")
    assert result.exit_code == 0, result.output
    one, two = (Recording.load(tmp_path / name / "recording.npz") for name in ("one", "two"))
    assert two.provenance["trajectory"] == "motion of recording.npz"
    assert two.t[-1] == pytest.approx(one.t[-1], abs=2e-3)
    assert np.ptp(one.q[:, 0]) > 0.1  # rad
    np.testing.assert_allclose(two.q[::10, 0], np.interp(two.t[::10], one.t, one.q[:, 0]), atol=2e-3)
    result = call("follow", path, "-d", 60, "-o", tmp_path / "three")
    assert "is longer than" in result.stderr
    assert not (tmp_path / "three").exists()


def test_sim_saves_a_picture_if_rendering_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    picture = np.zeros((4, 6, 3), dtype=np.uint8)
    monkeypatch.setattr(trocar.appearance.rendering, "render", lambda *_: picture)
    result = call("sim", "-t", "hold", "-d", 0.01, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    for name in ("picture.png", "recording.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "picture.png") in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["PSMM"], "Did you mean 'PSM'?"),
        (["--joint", "rol"], "Did you mean 'roll'?"),
        (["--amplitude", "0.6"], "--amplitude must be a fraction"),
        (["--frequency", "0"], "--frequency must be positive"),
        (["--duration", "-1"], "--duration must be positive"),
        (["--set", "timestep=0.001"], "Possible timesteps: 0.000666666667"),
        (["--set", "timestep=soon"], "takes 1 comma-separated numbers"),
        (["--set", "timestep=0"], "--timestep must be positive"),
        (["--set", "engine=odd"], "engine 'odd' is unknown"),
        (["--set", "speed=1"], "setting 'speed' is unknown"),
        (["--set", "engine"], "--set takes KEY=VALUE"),
        (["--parameters", "wang2019_published"], "is not physical"),
        (["--start", "0,0"], "--start takes 7 comma-separated numbers"),
        (["--start", "0,0,0.1,0,0,0,nan"], "--start takes 7 comma-separated numbers"),
        (["--start", "9,0,0.1,0,0,0,0"], "--start: joint 1 (yaw) violates"),
        (["--push", "1,2"], "--push takes 3 comma-separated numbers"),
    ],
)
def test_sim_rejects_bad_options_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = call("sim", *arguments, "-o", tmp_path / "out")
    assert result.exit_code == 2
    line = result.stderr.strip()
    assert line.startswith("error: ")
    assert message in line
    assert "\n" not in line
    assert not (tmp_path / "out").exists()


def test_bench_prints_and_writes_its_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def figures(rounds: int, progress: Callable[[float], None]) -> dict[str, Timing]:
        progress(1.0)
        return {"psm_step_us": Timing(12.5 + rounds), "psm_step_over_mj_step": Timing(1.25, spread)}

    def others(name: str, rounds: int) -> dict[str, Timing]:
        return {f"{name.lower()}_step_us": Timing(2.0 * rounds)}

    spread = 0.01
    monkeypatch.setattr(trocar.bench, "figures", figures)
    monkeypatch.setattr(trocar.bench, "step_figures", others)
    monkeypatch.setattr(trocar.bench, "scene_figures", others)
    result = call("bench", "--rounds", 3, "--json", tmp_path / "bench.json")
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "bench.json").read_text())
    ratio = {"cart_classic_step_us": 6.0, "psm_step_over_mj_step": 1.25, "psm_step_over_mj_step_spread": 0.01}
    assert written == {"psm_step_us": 15.5, "ecm_step_us": 6.0, "mtmr_step_us": 6.0} | ratio
    assert "psm_step_us" in result.stdout
    assert "15.5" in result.stdout
    spread = 0.1
    noisy = call("bench", "--rounds", 3, "--json", tmp_path / "noisy.json")
    assert (noisy.exit_code, "not quiet" in noisy.stderr, (tmp_path / "noisy.json").exists()) == (2, True, False)
    assert call("bench", "--rounds", 3, "--noisy", "--json", tmp_path / "noisy.json").exit_code == 0
    assert (tmp_path / "noisy.json").exists()
    assert call("bench", "--rounds", 0).exit_code == 2


def test_bench_crtk_measures_only_the_dvrk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        trocar.bench, "crtk_figures", lambda rounds, progress: {"crtk_dvrk_cycle_us": Timing(100.0 * rounds)}
    )
    result = call("bench", "crtk", "--rounds", 2, "--json", tmp_path / "bench.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "bench.json").read_text()) == {"crtk_dvrk_cycle_us": 200.0}
    refused = call("bench", "crkt")
    assert refused.exit_code == 2
    assert "crtk" in refused.stderr


def test_version() -> None:
    assert re.fullmatch(r"trocar \d+\.\d+\.\d+\n", call("--version").stdout)


def test_the_figure_of_a_recording_shows_every_joint_with_its_reference_and_units() -> None:
    rng = np.random.default_rng(0)
    q, dq, tau = rng.normal(size=(3, 4, 2))
    recording = Recording(
        t=np.arange(4.0), q=q, dq=dq, tau=tau, joints=("yaw", "insertion"), joint_units=("rad", "m"), commands={"q": dq}
    )
    figure = figure_module.recording_figure(recording, "A title")
    assert len(figure.axes) == 6
    first, *_, last = figure.axes
    np.testing.assert_array_equal([line.get_ydata() for line in first.lines], [q[:, 0], dq[:, 0]])
    np.testing.assert_array_equal([line.get_ydata() for line in last.lines], [tau[:, 1]])
    assert (first.get_ylabel(), last.get_ylabel()) == ("position [rad]", "effort [N]")


def test_compare_reports_the_differences_and_draws_both(tmp_path: Path) -> None:
    t = np.arange(0.0, 1.0, 0.01)
    arm = trocar.load_arm("ECM")
    q = 0.1 * np.sin(t)[:, None] + np.zeros(4)
    a = Recording(t=t, q=q, dq=np.gradient(q, t, axis=0), tau=q, joints=arm.joint_names, joint_units=arm.joint_units)
    b = replace(a, t=t + 5.0, q=q + [0.0, 0.25, 0.0, 0.0], tau=None).between(5.0, 5.5)
    paths = [x.save(tmp_path / f"{name}.npz") for name, x in (("a", a), ("b", b))]
    result = call("compare", *paths, "-o", tmp_path / "both.png")
    assert result.exit_code == 0, result.output
    assert "51 rows, 0.5 s" in result.stdout
    cells = {words[1]: words[3:8:2] for line in result.stdout.splitlines() if len(words := line.split()) > 7}
    assert cells["pitch"][:2] == ["0.25", "0.25"]
    assert cells["yaw"][:2] == ["0", "0"]
    assert "dq max" in result.stdout
    assert "tau" not in result.stdout
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")


def test_compare_tells_two_files_of_one_name_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    figure = figure_module.recording_figure
    monkeypatch.setattr(figure_module, "recording_figure", lambda *a: drawn.append(figure(*a)) or drawn[0])
    arm = trocar.load_arm("ECM")
    zero = np.zeros((2, arm.n))
    still = Recording(t=[0, 1], q=zero, dq=zero, joints=arm.joint_names, joint_units=arm.joint_units)
    monkeypatch.chdir(tmp_path)
    paths = [still.save(Path(name) / "recording.npz") for name in ("one", "two")]
    result = call("compare", *paths, "-o", "both.png")
    assert result.exit_code == 0, result.output
    assert "two/recording.npz minus one/recording.npz" in " ".join(result.stdout.split())
    assert [text.get_text() for text in drawn[0].legends[0].texts] == ["one/recording.npz", "two/recording.npz"]


def test_compare_refuses_recordings_of_different_arms(tmp_path: Path) -> None:
    for name in ("ECM", "PSM"):
        arm = trocar.load_arm(name)
        zero = np.zeros((2, arm.n))
        Recording(t=[0, 1], q=zero, dq=zero, joints=arm.joint_names, joint_units=arm.joint_units).save(
            tmp_path / f"{name}.csv"
        )
    result = call("compare", tmp_path / "ECM.csv", tmp_path / "PSM.csv")
    assert result.exit_code == 2
    assert "nothing to compare" in result.stderr


def test_sim_mirrors_the_counterweight(no_picture: None, no_figure: None, tmp_path: Path) -> None:
    result = call("sim", "-t", "hold", "-d", 0.05, "--set", "transmission=mirrored", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert Recording.load(tmp_path / "recording.npz").provenance["transmission"] == "mirrored"


def test_a_second_ctrl_c_after_the_command_ends_the_process_without_a_traceback(monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(cli, "app", lambda **_: sys.exit(3))
    try:
        with pytest.raises(SystemExit) as leaving:
            program()
        assert (leaving.value.code, signal.getsignal(signal.SIGINT)) == (3, signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_terminal_of_ascii_shows_other_characters_by_their_numbers():
    code = "import trocar.cli, trocar.__main__ as main\n"
    code += "trocar.cli.app = lambda **_: print('5 \\u00b5m')\nmain.program()"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", "5 \\xb5m\n")


def test_ctrl_c_while_commands_are_imported_is_one_line():
    code = """
import os, signal, sys
import trocar.__main__ as main
class Interrupting:
    def find_spec(self, name, *_):
        if name == "trocar.commands":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
main.program()
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr, ran.stdout) == (130, "interrupted\n", "")
