"""Commands with bad input: one line with cause and remedy, the right exit status, no data lost."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import trocar.simulation
from trocar.cli import app
from trocar.control import JointPID, hold
from trocar.report import Report

POSES = "yaw,pitch,insertion,tau_yaw,tau_pitch,tau_insertion\n"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"TROCAR_DATA": ""})


def line(result: Result, status: int = 2) -> str:
    """The single line on stderr."""
    assert result.exit_code == status, (result.output, result.exception)
    (said,) = result.stderr.splitlines()
    return said


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    path = tmp_path / "two.tml"
    assert f"the file {path} does not exist" in line(call("view", path))


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any simulation fail: none must start."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the work began before its place was looked at")

    monkeypatch.setattr(trocar, "Simulator", fail)
    monkeypatch.setattr(trocar, "load_scene", fail)


# Unwritable outputs


@pytest.mark.usefixtures("unbuilt")
@pytest.mark.parametrize("command", [("sim", "PSM"), ("scene", "psm"), ("export", "PSM"), ("demo",), ("excite",)])
def test_an_output_folder_that_is_a_file_is_rejected_before_the_run(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").touch()
    said = line(call(*command, "-o", tmp_path / "file"))
    assert f"cannot be written: {tmp_path / 'file'} is a file, not a folder" in said
    assert "Errno" not in said


@pytest.mark.parametrize("option", ["--json", "-o", "--predictions"])
def test_identify_names_a_folder_given_for_a_file(tmp_path: Path, option: str) -> None:
    result = call("identify", tmp_path / "train.csv", option, tmp_path)
    assert result.exit_code == 2, result.exception
    assert set(result.stderr.splitlines()) == {f"error: {tmp_path}: is a folder; name a file"}


# Unreadable inputs


@pytest.mark.parametrize("name", ["empty.npz", "empty.csv", "empty.bag"])
def test_view_rejects_an_unreadable_recording_before_it_opens_a_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the page was opened")

    monkeypatch.setattr("trocar.commands.view.open_page", fail)
    (tmp_path / name).touch()
    assert str(tmp_path / name) in line(call("view", tmp_path / name, "--no-browser"))


@pytest.mark.parametrize("name", ["folder", "notes.md"])
def test_identify_names_the_kinds_of_recordings_if_it_gets_something_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.mkdir() if name == "folder" else path.touch()
    kinds = ".npz, .csv, .bag, .db3 or .mcap, or the folder of a ROS 2 bag"
    assert line(call("identify", path)) == f"error: {path}: not a recording; give a file ending in {kinds}"


def test_a_taken_port_of_coppelia_is_named_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = line(call("serve", "coppelia", "--port", port))
    reason = f"cannot be opened: {os.strerror(errno.EADDRINUSE)}"
    assert said == f"error: port {port} of 127.0.0.1 {reason}; choose another port"


# Ctrl-C


def interrupt(*_: object, **__: object) -> Report:
    raise KeyboardInterrupt


def test_an_interrupted_command_prints_one_line_and_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(trocar, "Simulator", interrupt)
    said = line(call("sim", "PSM", "-o", tmp_path / "out"), 130)
    assert said == "interrupted; no partial files were written; a shorter --duration takes less time"
    assert not list(tmp_path.iterdir())


# Options without effect


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "mine.txt"), "a parameter set must be named NAME.toml, got mine.txt"),
        (("--seconds", 3), "--seconds requires --recalibrate"),
        (("--recalibrate", "b.toml", "--test", "t.csv"), "--test cannot be combined with --recalibrate"),
        (("--recalibrate", "b.toml", "--report", "r"), "--report cannot be combined with --recalibrate"),
        (("--predictions", "p.csv"), "--predictions requires --test"),
        (("--namespace", "PSM1"), "--namespace selects an arm in a bag, and train.csv is not a bag"),
        (("--namespace", "PSM1", "--search"), "--namespace selects an arm in a bag, and train.csv is not a bag"),
    ],
)
def test_identify_rejects_options_without_effect(options: tuple[object, ...], message: str) -> None:
    assert message in line(call("identify", "train.csv", *options))


def test_a_path_that_is_not_a_parameter_set_is_reported_as_typed(tmp_path: Path) -> None:
    table = tmp_path / "train.csv"
    table.write_text(("0," * 20 + "0\n") * 3)
    said = line(call("identify", table, "--recalibrate", "base.csv"))
    assert "parameter set of PSM 'base.csv' is unknown" in said


@pytest.mark.parametrize("rate", [-1, 0, "nan"])
def test_a_table_needs_a_positive_rate(tmp_path: Path, rate: object) -> None:
    table = tmp_path / "train.csv"
    table.write_text(("0," * 20 + "0\n") * 3)
    assert "the rate of a table must be positive [Hz], got" in line(call("identify", table, "--rate", rate))


@pytest.mark.parametrize("option", [("--rate", 0), ("--rate", "nan"), ("--periods", 0), ("--seed", -1)])
def test_excite_rejects_bad_numbers_before_the_search(tmp_path: Path, option: tuple[str, object]) -> None:
    result = call("excite", *option, "-o", tmp_path / "out")
    assert result.exit_code == 2, result.exception
    assert option[0] in result.stderr


@pytest.mark.parametrize("option", [("--seconds", -1.0), ("--seconds", "nan"), ("--starts", 0)])
def test_excite_names_the_invalid_number(tmp_path: Path, option: tuple[str, object]) -> None:
    name, value = option
    said = line(call("excite", "--arm", "ECM", name, value, "-o", tmp_path / "out"))
    assert said == f"error: {name.removeprefix('--')} must be positive, got {value}"


# Files of the wrong kind


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bytes(range(256)) * 1000, "is not valid JSON: 'utf-8' codec can't decode byte 0x80"),
        (b"{", "is not valid JSON: Expecting property name"),
        (b"[1, 2]", "does not hold the coefficients of an excitation: expected an object, got [1, 2]"),
        (b'{"centre": [0]}', "does not hold the coefficients of an excitation: 'a' is missing"),
    ],
)
def test_excite_continues_only_from_an_excitation_file(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "junk.json").write_bytes(content)
    said = line(call("excite", "--arm", "ECM", "--from", tmp_path / "junk.json", "-o", tmp_path / "out"))
    assert f"{tmp_path / 'junk.json'} {message}" in said
    assert len(said) < 300


@pytest.mark.parametrize("name", ["junk.bag", "junk.npz", "junk.csv"])
def test_a_file_that_is_not_a_recording_gives_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(bytes(range(128, 256)) * 50)
    said = line(call("identify", tmp_path / name))
    assert said.startswith(f"error: {tmp_path / name}: not a")
    assert "pickle" not in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xb6\x00", "not a text file"),
        (POSES.encode() + b"0,0,0.1,0,0,1\n0,0,0.1,0,nan,1\n", "line 3: tau_pitch must be finite"),
    ],
)
def test_gravity_names_the_line_of_bad_poses(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "poses.csv").write_bytes(content)
    assert message in line(call("gravity", tmp_path / "poses.csv"))


def test_gravity_takes_a_table_saved_by_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "poses.csv").write_text("\ufeff" + POSES + "0,0,0.1,0,0,1\n", encoding="utf-8")
    assert "these 1 poses do not determine" in line(call("gravity", tmp_path / "poses.csv"))


def test_gravity_writes_nothing_if_one_of_its_outputs_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "poses.csv").write_text(POSES)
    said = line(call("gravity", tmp_path / "poses.csv", "--json", tmp_path / "g.json", "-o", tmp_path / "g.txt"))
    assert "a parameter set must be named NAME.toml" in said
    assert not (tmp_path / "g.json").exists()


def test_the_help_of_gravity_lists_the_units_of_its_columns() -> None:
    assert "rad, m, N m, N" in " ".join(call("gravity", "--help").stdout.replace("│", " ").split())


@pytest.fixture(scope="module")
def motion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording that names a PSM as its arm."""
    sim = trocar.simulation.Simulator("PSM", timestep=1 / 1500)
    home = hold(sim.arm.home)
    sim.reset(sim.arm.home)
    return trocar.simulation.simulate(sim, JointPID(sim.arm), home, 0.01).save(tmp_path_factory.mktemp("m") / "m.npz")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--arm", "PSMM"), "arm 'PSMM' is unknown. Did you mean 'PSM'?"),
        (("--arm", "ECM"), "was recorded with PSM; omit --arm ECM"),
        (("--fps", 1e9), "--fps must be at most 240, got 1e+09"),
    ],
)
def test_render_rejects_options_that_do_not_fit_the_recording(
    motion: Path, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    assert message in line(call("render", motion, "-o", tmp_path / "film.gif", *options))
    assert not list(tmp_path.iterdir())
