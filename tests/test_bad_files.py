"""Files that once caused a traceback, a wrong result or memory exhaustion: each is now a clear one-line error."""

from __future__ import annotations

import copy
import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar import files
from trocar.arms.parameters import load_parameters, to_toml
from trocar.cli import app
from trocar.errors import MAX_MESSAGE, TrocarError, UnknownName, shown
from trocar.files import read_json, read_whole
from trocar.identification.recipes.recipe import load_recipe
from trocar.recording import formats
from trocar.toml_file import read_toml

DATA = Path(tr.__file__).parent / "arms" / "data"
DEEP = 100_000
DIGITS = "9" * 400


def refused(function: Any, *arguments: Any, **options: Any) -> str:
    """The one line of the error."""
    with pytest.raises(TrocarError) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 500
    return message


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """A file of trocar's with one change."""
    text = (DATA / name).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


# Parameter files


PSM, MTM = "parameters/psm_wang2019.toml", "parameters/mtm_wang2019.toml"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[drives.yaw]", "[drives.yaw]\nIm = -0.1", "drives.yaw: 'Im' must not be negative, got -0.1"),
        ("\nFv = ", "\nFv = -", "drives.yaw: 'Fv' must not be negative, got -0.09"),
        ("\nFc = ", "\nFc = -", "drives.yaw: 'Fc' must not be negative, got -0.05"),
        ("mass = ", "mass = -", "bodies.yaw: 'mass' must be at least 1e-09 [kg], got -7"),
        ("mass = ", "mass = 0  # ", "bodies.yaw: 'mass' must be at least 1e-09 [kg], got 0"),
        (
            "mass = ",
            "mass = 1e300  # ",
            "bodies.yaw: 'mass' must be at most 10000 [kg] in magnitude, got 1e",
        ),
        ("mass = ", f"mass = {DIGITS}\nold = ", "bodies.yaw: 'mass' must be a finite number, got 99"),
        ("com = [", "com = [1e4, ", "'com' must be 3 finite numbers"),
        (
            "[bodies.yaw]",
            "[bodies.yaw]\nweight = 3",
            "bodies.yaw: field 'weight' is unknown. Known: inertia, mass, com",
        ),
        ("[bodies.yaw]", "[boddies.x]\n[bodies.yaw]", "field 'boddies' is unknown. Did you mean 'bodies'?"),
        ('name = "wang2019"', 'name = "wang2019"\nphysical = 1', "'physical' must be true or false, got 1"),
        ("joints = {yaw = 1.0}", "joints = {yaw = 0.0}", "'joints' needs at least one weight that is not 0"),
        ("joints = {yaw = 1.0}", "joints = {}", "'joints' must hold weights by name"),
    ],
)
def test_an_error_in_a_parameter_file_names_table_key_value_and_allowed_range(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = changed(tmp_path, PSM, old, new)
    message = refused(tr.load_mechanism, "PSM", path)
    assert message.startswith(f"{path}: ")
    assert said in message


def test_stiffness_offsets_and_friction_by_position_keep_their_sign(tmp_path: Path) -> None:
    path = changed(tmp_path, PSM, "[drives.yaw]", "[drives.yaw]\nK = -0.1\nK2 = -0.2\nFx = -0.001\nK0 = -3")
    drive = load_parameters("PSM", path).drives[0]
    assert (drive.K, drive.K2, drive.Fx, drive.K0) == (-0.1, -0.2, -0.001, -3.0)


@pytest.mark.parametrize("arm", ["PSM", "MTML"])
def test_a_published_set_marked_as_not_physical_cannot_be_simulated(tmp_path: Path, arm: str) -> None:
    published = load_parameters(arm, "wang2019_published")
    assert not published.physical
    assert min(drive.Im for drive in published.drives) < 0
    (path := tmp_path / "mine.toml").write_text(to_toml(published))
    assert load_parameters(arm, path).drives == published.drives
    path.write_text(to_toml(published).replace("physical = false\n", ""))
    assert "'Im' must not be negative" in refused(load_parameters, arm, path)


def test_a_set_with_negative_friction_cannot_be_simulated_even_if_marked_physical(tmp_path: Path) -> None:
    path = changed(tmp_path, PSM, 'arm = "PSM"', 'arm = "PSM"\nphysical = false')
    path.write_text(path.read_text().replace("\nFc = ", "\nFc = -", 1))
    tr.load_mechanism("PSM", path)
    assert "drives.yaw: 'Fc' must not be negative" in refused(tr.Simulator, "PSM", path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("r = 0.0075", "r = 0", "elastics.wrist_pitch_spring: 'r' must be positive [m], got 0"),
        ("upper = 3.3802", "upper = -3.3802", "elastics.platform_cable: has lower -1.4687 > upper -3.3802"),
    ],
)
def test_an_invalid_elastic_element_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refused(tr.load_mechanism, "MTML", changed(tmp_path, MTM, old, new))


# Geometry, recipe, instrument


def geometry_file(tmp_path: Path, old: str = "", new: str = "") -> Path:
    published = read_toml(DATA / "psm.toml", "file")["geometry"]["gondokaryono2019"]
    lengths = "".join(f"{name} = {value}\n" for name, value in published.items() if isinstance(value, float))
    text = f'arm = "PSM"\nframes = "gondokaryono2019"\nsource = "a test"\n[lengths]\n{lengths}'
    assert old in text
    (path := tmp_path / "geometry.toml").write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("l_back = ", "l_back = 1e300 # ", "lengths: 'l_back' must be at most 100 [m or rad] in magnitude, got 1e+300"),
        ("l_back = ", "l_bak = 1\nl_back = ", "lengths: field 'l_bak' is unknown. Did you mean 'l_back'?"),
        ('frames = "gondokaryono2019"', "frames = []", "'frames' must be a non-empty string, got []"),
        ('source = "a test"', 'source = "a test"\nnotes = 1', "field 'notes' is unknown"),
        ("l_back = ", "l_back = 0.0 # ", "do not form a valid PSM: float division by zero"),
        ("[lengths]", "lengths = 3\n[sigma]", "'lengths' must be a table [lengths], got 3"),
    ],
)
def test_a_geometry_file_names_key_and_value(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert tr.load_mechanism("PSM", geometry_file(tmp_path)).arm.geometry == "geometry"
    assert said in refused(tr.load_mechanism, "PSM", geometry_file(tmp_path, old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("trim = 1.0", "trim = -1.0", "filters: 'trim' must be at least 0 [s], got -1"),
        ("prior = 5e-4", "prior = 1e300", "weights: 'prior' must be at most 1e+06 in magnitude, got 1e+300"),
        ("rad = [0.001,", "rad = [-0.001,", "delta of a Dahl element must be positive [rad, m], got -0.001"),
        ("[deltas]", "[notes]\nx = 1\n[deltas]", "field 'notes' is unknown"),
        ('hysteresis = "rad"', "hysteresis = []", "drives.yaw: 'hysteresis': [] is unknown"),
        ('terms = ["Fv", "Fo"]', 'terms = ["Fv", "Fv"]', "drives.yaw: 'terms' names a term twice"),
        ("motion = [6.0,", "motion = [0.0,", "filters: motion needs 7 positive cut-offs [Hz], got (0.0,"),
    ],
)
def test_a_recipe_names_table_key_and_value(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refused(load_recipe, "PSM", changed(tmp_path, "recipe_psm.toml", old, new))


# Scenes


ARM = '[arms.A]\narm = "PSM"\n'


@pytest.mark.parametrize("name", ["..", ".hidden", "a/b", "a\nb", "", "\\\\", "x" * 61, " x", "a\tb"])
def test_an_arm_name_that_is_not_a_file_name_is_rejected(tmp_path: Path, name: str) -> None:
    (path := tmp_path / "scene.toml").write_text(f"[arms.{json.dumps(name)}]\narm = 'PSM'\n")
    assert "the name of an arm in a scene must start with a letter or digit" in refused(tr.load_scene, path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mass = 1e300", "object 1: 'mass' must be at most 10000 [kg] in magnitude, got 1e+300"),
        ("mass = -1.0", "object 1: 'mass' must be at least 0 [kg], got -1"),
        ("mass = 1e-300", "MuJoCo rejects the model"),
        (
            "mass = 0.1\nsize = [0.1, 0.1, 1e-13]",
            "object 1: 'size' must be at least 1e-06 m in each direction, got [0.1,",
        ),
        ("weight = 1", "object 1: field 'weight' is unknown"),
        ("friction = 1e300", "object 1: 'friction' must be at most 1e+06 in magnitude"),
    ],
)
def test_a_scene_names_object_key_and_value(tmp_path: Path, text: str, said: str) -> None:
    size = "" if "size" in text else "size = [0.1, 0.1, 0.1]\n"
    thing = f'[[objects]]\nname = "x"\nshape = "box"\nposition = [1.0, 1.0, 1.0]\n{size}{text}\n'
    (path := tmp_path / "scene.toml").write_text(ARM + thing)
    assert said in refused(tr.load_scene, path)


@pytest.mark.parametrize(
    ("timestep", "expected"), [("timestep = 0.0005\n", 0.0005), ("timestep = 0.001\n", 0.001), ("", 1 / 1500)]
)
def test_the_scene_command_uses_the_time_step_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timestep: str, expected: float
) -> None:
    monkeypatch.setattr("trocar.commands.simulate.drawn", lambda *_: [])
    (path := tmp_path / "scene.toml").write_text(timestep + ARM)
    result = CliRunner().invoke(app, ["scene", str(path), "-d", "0.01", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    found = tr.Recording.load(tmp_path / "out" / "A.npz")
    np.testing.assert_allclose(np.diff(found.t), expected, rtol=1e-9)


# TOML and JSON


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * DEEP, "is nested too deeply"),
        ("a = " + "{x=" * DEEP, "is nested too deeply"),
        ("[" + ".".join("a" * DEEP) + "]", "is nested too deeply"),
        (" . ".join("a" * DEEP) + " = 1", "is nested too deeply"),
        ("a = " + "9" * 5000, "is not valid TOML"),
        ("a = \x00", "is not valid TOML"),
    ],
    ids=["lists", "tables", "table", "key", "digits", "null"],
)
def test_endlessly_nested_toml_is_a_one_line_error(tmp_path: Path, text: str, said: str) -> None:
    (path := tmp_path / "x.toml").write_text(text)
    assert said in refused(read_toml, path, "recipe")
    for read in (tr.load_scene, lambda path: tr.load_mechanism("PSM", path), lambda path: load_recipe("PSM", path)):
        refused(read, path)


def test_endlessly_nested_json_is_a_one_line_error(tmp_path: Path) -> None:
    (path := tmp_path / "x.json").write_text("[" * DEEP)
    assert "is nested too deeply" in refused(read_json, path, "excitation")
    path.write_text("9" * 5000)
    assert "is not valid JSON" in refused(read_json, path, "excitation")


def test_a_file_is_read_up_to_a_size_limit(tmp_path: Path) -> None:
    with open(path := tmp_path / "x.toml", "wb") as stream:
        stream.truncate(10**12)  # a sparse file
    assert "is too large: more than 3 MB" in refused(read_whole, path, "recipe", 3_000_000)


def test_an_invalid_path_is_a_one_line_error(tmp_path: Path) -> None:
    for path in (tmp_path, "a\0b.toml", "x" * 5000 + ".toml"):
        assert "cannot be read" in refused(read_toml, path, "recipe")


# Recordings


def recording(**changes: Any) -> tr.Recording:
    arm = tr.load_arm("ECM")
    q = np.zeros((3, 4))
    given = {"t": np.arange(3.0), "q": q, "dq": q, "joints": arm.joint_names, "joint_units": arm.joint_units}
    return tr.Recording(**{**given, **changes})


def repacked(path: Path, entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    """The recording with some entries replaced or added."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in {**content, **entries}.items():
            archive.writestr(name, data)
    return path


def npy(shape: str, data: bytes, descr: str = "'<f8'") -> bytes:
    """An array in NumPy's format with an arbitrary header."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (npy("(1000000000000,)", bytes(24)), "an array (1000000000000,) of float64 in 24 bytes"),
        (npy("(-3,)", bytes(24)), "an array (-3,) of float64 in 24 bytes"),
        (npy("(3,)", bytes(24), "'|O'"), "an array (3,) of object in 24 bytes"),
        (npy("(" * 2000 + ")" * 2000, bytes(24)), "not a recording"),
        (b"", "not a recording"),
    ],
)
def test_an_npz_header_that_claims_too_much_is_rejected(tmp_path: Path, array: bytes, said: str) -> None:
    path = repacked(recording().save(tmp_path / "x.npz"), {"t.npy": array})
    assert said in refused(tr.Recording.load, path)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "UNPACKED", 1_000_000)
    bomb = npy("(5000000,)", bytes(40_000_000))
    path = repacked(recording().save(tmp_path / "x.npz"), {"extra/bomb.npy": bomb}, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    message = refused(tr.Recording.load, path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "its entries unpack to 40 MB, from a file of 39." in message
    assert peak < 2_000_000


def test_at_most_the_stated_size_of_an_entry_is_unpacked(tmp_path: Path) -> None:
    """The stream of an entry inflates to 40 MB, but the directory states 400 kB for it."""
    path = repacked(recording().save(tmp_path / "x.npz"), {"t.npy": bytes(40_000_000)}, zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("extra/rewrite.npy", b"")  # makes the archive write its directory again
        archive.getinfo("t.npy").file_size = 400_000
    tracemalloc.start()
    message = refused(tr.Recording.load, path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "not a recording" in message
    assert peak < 3_000_000


@pytest.mark.parametrize(("name", "said"), [("q", "occurs 2 times"), ("extra/again", "overlaps another one")])
def test_entries_that_share_bytes_are_refused(tmp_path: Path, name: str, said: str) -> None:
    path = recording().save(tmp_path / "x.npz")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("extra/rewrite.npy", b"")
        shared = copy.copy(archive.getinfo("q.npy"))
        shared.filename = f"{name}.npy"
        archive.filelist.append(shared)
    assert said in refused(tr.Recording.load, path)


def test_a_pipe_or_device_is_refused_as_a_recording(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "x.csv")
    (device := tmp_path / "x.npz").symlink_to("/dev/zero")
    for path in (pipe, device):
        for read in (tr.load_recording, tr.Recording.load):
            assert "is a pipe, device or socket" in refused(read, path)


def test_a_compressed_recording_of_constants_is_read(tmp_path: Path) -> None:
    N = 20_000
    still = recording(t=np.arange(N) / 1500, q=np.zeros((N, 4)), dq=np.zeros((N, 4)))
    path = repacked(still.save(tmp_path / "x.npz"), {}, zipfile.ZIP_DEFLATED)
    assert len(tr.Recording.load(path)) == N


@pytest.mark.parametrize(
    ("flag", "said"), [(0x1, "is encrypted"), (0x20, "not a recording"), (0x40, "not a recording")]
)
def test_odd_zip_flags_are_a_one_line_error(tmp_path: Path, flag: int, said: str) -> None:
    path = recording().save(tmp_path / "x.npz")
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(signature)
        content[place + offset] |= flag
    path.write_bytes(content)
    assert said in refused(tr.Recording.load, path)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("t [s],q_yaw [deg],dq_pitch [rad/s]", "unit of q_yaw 'deg' is unknown. Known: rad, m."),
        ("t [s],q_yaw [],dq_yaw [rad/s]", "unit of q_yaw '' is unknown"),
        ("t [s],q_yaw [rad],dq_yaw [rad/s]]", "has no unit"),
        ("t [s],q_yaw [rad],dq_yaw [rad/s", "has no unit"),
        ("t [s],q_yaw [rad],x[" + "9" * 5000 + "] [m]", "is out of order"),
        ("t [s],q_yaw [rad],x[²] [m]", ""),
        ("t [s],q_yaw [rad]," + "y" * 5000, "has no unit"),
        ("t [s],q_yaw [rad],a" + " " * 500_000 + "b", "has no unit"),  # this once took hours
        ("t [s],q_yaw [rad],x [[m]]", "has no unit"),
    ],
    ids=["degrees", "none", "bracket", "open", "index", "power", "long", "spaces", "brackets"],
)
def test_broken_csv_units_are_a_one_line_error(tmp_path: Path, header: str, said: str) -> None:
    (path := tmp_path / "x.csv").write_text(f"{header}\n0,0,0\n1,1,1\n")
    assert said in refused(tr.load_recording, path, "PSM")


def test_a_comment_nested_without_end_is_text(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text(f"# note: {'[' * DEEP}\nt [s],q_a [rad],dq_a [rad/s]\n0,0,0\n")
    assert tr.Recording.load(path).provenance["note"].startswith("[[")


def test_digits_grouped_by_underscores_are_rejected(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text("t [s],q_a [rad],dq_a [rad/s]\n0,1_0,0\n")
    assert "line 2: '1_0' in column 'q_a [rad]' is not a number" in refused(tr.Recording.load, path)


@pytest.mark.parametrize(
    "about", [{"joints": [1, 2, 3, 4]}, {"joint_units": [["rad"]] * 4}, {"extra_units": {"x": 3}}, {"joints": [[]]}]
)
def test_a_description_with_wrong_types_is_a_one_line_error(tmp_path: Path, about: dict[str, Any]) -> None:
    path = recording().save(tmp_path / "x.npz")
    with np.load(path) as file:
        whole = json.loads(str(file["about"])) | about
    buffer = io.BytesIO()
    np.save(buffer, np.array(json.dumps(whole)))
    refused(tr.Recording.load, repacked(path, {"about.npy": buffer.getvalue()}))


# Memory


@pytest.mark.parametrize(
    "command",
    [
        ("sim", "PSM", "-d", "1e7"),
        ("sim", "PSM", "--set", "timestep=1e-13"),
        ("scene", "psm", "-d", "1e7"),
        ("excite", "--arm", "ECM", "--rate", "1e12"),
    ],
)
def test_a_run_that_exceeds_the_memory_fails_before_it_starts_with_the_size(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    result = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2, result.exception
    (said,) = result.stderr.splitlines()
    assert " TB of memory; this machine has " in said
    assert not list(tmp_path.iterdir())


def test_simulate_reports_the_memory_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = tr.Simulator("ECM")
    assert "rows of ECM needs" in refused(tr.simulate, sim, lambda *_: np.zeros(4), None, 1e9)
    monkeypatch.setattr(files, "memory", lambda: 1_000_000)
    assert "needs 1.08 MB" in refused(tr.simulate, sim, lambda *_: np.zeros(4), None, 1.3)
    assert sim.time == 0.0


@pytest.mark.parametrize(("text", "expected"), [("1000\n", 1000), ("max\n", None), (f"{10**30}\n", None), ("", None)])
def test_the_memory_limit_of_a_container_applies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: int | None
) -> None:
    monkeypatch.setattr(files, "CONTAINER", tmp_path / "missing")
    machine = files.memory()
    (path := tmp_path / "memory.max").write_text(text)
    monkeypatch.setattr(files, "CONTAINER", path)
    assert files.memory() == (expected or machine)


def test_running_out_of_memory_in_a_command_is_a_one_line_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(tr, "Simulator", fail)
    result = CliRunner().invoke(app, ["sim", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr == "error: not enough memory: Unable to allocate 9 TiB; simulate or record less at a time\n"


# Messages


def test_a_message_is_one_line_of_bounded_length() -> None:
    error = TrocarError(f"first\nsecond\x1b[31m {'x' * 10_000} the end")
    assert str(error).startswith(r"first\nsecond\x1b[31m xxx")
    assert str(error).endswith("xxx the end")
    assert len(str(error)) <= MAX_MESSAGE
    assert str(TrocarError("12 µm ± 3 °")) == "12 µm ± 3 °"
    assert len(str(UnknownName("body", "y" * 5000, [f"name{k}" for k in range(1000)]))) < 500


def test_a_quoted_value_is_short() -> None:
    assert shown([1, 2]) == "[1, 2]"
    assert shown("x" * 5000) == "'" + "x" * 76 + "..."
    assert len(shown(list(range(10**6)))) == 80
    nested: list[Any] = []
    for _ in range(DEEP):
        nested = [nested]
    assert shown(nested) == "[[[[...]]]]"
    assert shown(10**5000) == "<int>"
    while nested:  # freed one by one, not by recursion
        nested = nested[0]


def test_a_file_name_that_is_too_long_is_a_one_line_error() -> None:
    result = CliRunner().invoke(app, ["sim", "-o", "x" * 5000])
    assert result.exit_code == 2, result.exception
    assert result.stderr.endswith("File name too long\n")
    assert len(result.stderr) < 500


# Divergence


def diverge(sim: tr.Simulator) -> str:
    sim.reset(sim.arm.home)
    with pytest.raises(tr.Diverged) as caught:
        sim.step([1e8] * sim.n)
    return str(caught.value)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("TROCAR_DIVERGED_STATES", raising=False)
    return tmp_path


def test_the_last_five_divergences_are_kept(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sim = tr.Simulator("ECM")
    (temporary / "trocar-other").mkdir()
    said = [diverge(sim) for _ in range(8)]
    kept = sorted(temporary.glob("trocar-diverged-*/last_state.npz"))
    assert len(kept) == 5
    assert all(any(str(path) in line for path in kept) for line in said[-5:])
    monkeypatch.setenv("TROCAR_DIVERGED_STATES", "2")
    diverge(sim)
    assert len(list(temporary.glob("trocar-diverged-*"))) == 2
    assert (temporary / "trocar-other").is_dir()


@pytest.mark.parametrize(("number", "said"), [("0", "is not saved (TROCAR_DIVERGED_STATES = 0)"), ("x", "got 'x'")])
def test_saving_the_diverged_state_can_be_disabled(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, number: str, said: str
) -> None:
    monkeypatch.setenv("TROCAR_DIVERGED_STATES", number)
    assert said in diverge(tr.Simulator("ECM"))
    assert not list(temporary.iterdir())


def test_a_divergence_is_reported_even_if_its_state_cannot_be_saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert "the last state cannot be saved: No such file or directory" in diverge(tr.Simulator("ECM"))
