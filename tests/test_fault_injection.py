"""Full disks, folders that cannot be written, signals at every step of a write, and bare environments."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import trocar as tr
from trocar import files
from trocar.commands.terminal import plain_errors
from trocar.files import check_writable, write_whole

HERE = Path(__file__).parent
SOURCE = Path(tr.__file__).parent


def recording(rows: int) -> tr.Recording:
    arm, q = tr.load_arm("ECM"), np.zeros((rows, 4))
    return tr.Recording(t=np.arange(rows), q=q, dq=q, joints=arm.joint_names, joint_units=arm.joint_units)


def run(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300, **options)


# Disks


class Full:
    """A stream on a full disk: it takes half of the data."""

    def __init__(self, *given: Any) -> None:
        self._stream = open(*given)  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, data: bytes) -> None:
        self._stream.write(data[: len(data) // 2])
        self._stream.flush()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = (recording(3)).save(tmp_path / "x.npz").read_bytes()
    monkeypatch.setattr(files, "open", Full, raising=False)
    with pytest.raises(OSError, match="No space left on device"):
        recording(1000).save(tmp_path / "x.npz")
    assert (tmp_path / "x.npz").read_bytes() == old
    assert os.listdir(tmp_path) == ["x.npz"]


def test_a_full_device_is_named() -> None:
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write_whole("/dev/full", "new")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk requires root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_command_on_a_disk_that_fills_up_is_one_line(small_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = (recording(3)).save(small_disk / "x.npz").read_bytes()
    with pytest.raises(typer.Exit) as caught, plain_errors():
        recording(5000).save(small_disk / "x.npz")
    assert caught.value.exit_code == 2
    assert capsys.readouterr().err == f"error: {small_disk / 'x.npz'}: No space left on device\n"
    assert (small_disk / "x.npz").read_bytes() == old
    assert os.listdir(small_disk) == ["x.npz"]


def test_a_disk_that_is_read_only_is_reported_before_the_work(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(PermissionError, match="no permission in the folder"):
        check_writable(small_disk / "x.npz")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_a_folder_that_is_read_only_is_reported_before_the_work(tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir(mode=0o555)
    with pytest.raises(PermissionError, match="no permission in the folder"):
        check_writable(folder / "x.npz")


def test_a_file_in_place_of_a_folder_is_reported_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(NotADirectoryError, match="is a file, not a folder"):
        write_whole(tmp_path / "file" / "x.npz", "new")
    assert (tmp_path / "file").read_text() == "old"


def test_the_folder_is_flushed_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    replace, fsync = os.replace, os.fsync

    def flushed(handle: int) -> None:
        done.append("folder" if os.path.samestat(os.fstat(handle), tmp_path.stat()) else "file")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("rename"), replace(*paths)))
    write_whole(tmp_path / "x", "new")
    assert done == ["file", "rename", "folder"]


def test_the_longest_name_of_a_file_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127 + "x")
    assert write_whole(path, "new").read_text() == "new"
    assert os.listdir(tmp_path) == [path.name]


# Signals


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Files left by writers that were sent a signal at each step of their writing."""
    done = run(HERE / "support" / "interrupted_writers.py", tmp_path_factory.mktemp("writers"))
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_a_signal_at_any_step_leaves_the_old_file_or_the_whole_new_one(interrupted: list[dict[str, Any]]) -> None:
    assert {row["file"] for row in interrupted} == {"old", "new"}
    assert len({row["writer"] for row in interrupted}) == 10
    for number, status in ((signal.SIGKILL, -9), (signal.SIGTERM, -15), (signal.SIGINT, 130)):
        rows = [row for row in interrupted if row["signal"] == number]
        assert {row["status"] for row in rows} == {status, 0}
        # each was interrupted both before and after the rename
        assert {row["file"] for row in rows if row["status"] == status} == {"old", "new"}


def test_a_terminated_writer_leaves_no_other_file(interrupted: list[dict[str, Any]]) -> None:
    assert not [row for row in interrupted if row["signal"] != signal.SIGKILL and row["stray"]]
    # SIGKILL leaves one hidden file, which the next writer removes, never one that looks like a result
    killed = [row["stray"] for row in interrupted if row["signal"] == signal.SIGKILL and row["stray"]]
    assert killed
    assert all(len(stray) == 1 and re.fullmatch(r"\..*\.[0-9a-f]{16}\.tmp", stray[0]) for stray in killed)


def test_the_next_writer_removes_only_the_files_of_a_killed_one(tmp_path: Path) -> None:
    stale, others = tmp_path / f".x.{'0' * 16}.tmp", [".y.0123456789abcdef.tmp", ".x.tmp", ".x.0123.tmp"]
    for name in (stale.name, *others):
        (tmp_path / name).write_text("half")
    live = tmp_path / f".x.{'1' * 16}.tmp"
    with files._created(live):
        write_whole(tmp_path / "x", "new")
        assert sorted(os.listdir(tmp_path)) == sorted(["x", live.name, *others])
    files._temporaries.discard(live)
    write_whole(tmp_path / "x", "newer")  # it is no longer locked
    assert sorted(os.listdir(tmp_path)) == sorted(["x", *others])


def test_a_folder_that_cannot_be_listed_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(folder: Path) -> list[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))

    monkeypatch.setattr(os, "listdir", refused)
    assert write_whole(tmp_path / "x", "new").read_text() == "new"


def test_a_file_removed_before_it_is_locked_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, taken = fcntl.flock, []

    def late(stream: Any, how: int) -> None:
        if how == fcntl.LOCK_EX and not taken:  # another writer was quicker
            taken.append(stream.name)
            os.unlink(stream.name)
        lock(stream, how)

    monkeypatch.setattr(fcntl, "flock", late)
    assert write_whole(tmp_path / "x", "new").read_text() == "new"
    assert len(taken) == 1
    assert os.listdir(tmp_path) == ["x"]


def test_the_programs_own_signal_handler_is_kept(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        write_whole(tmp_path / "x", "new")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_signal_handler_is_restored_after_a_write(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        write_whole(tmp_path / "x", "new")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


WRITE_OFTEN = """
import sys
sys.path.insert(0, {source!r})
import types
sys.modules["trocar"] = types.ModuleType("trocar")  # without the whole package: two processes start at once
sys.modules["trocar"].__path__ = [{package!r}]
from trocar.files import write_whole
for _ in range(300):
    write_whole({path!r}, {letter!r} * 100_000)
"""


def test_two_runs_into_one_folder_leave_one_whole_result(tmp_path: Path) -> None:
    path = tmp_path / "result"
    path.write_text("old")
    given = {"source": str(SOURCE.parent), "package": str(SOURCE), "path": str(path)}
    programs = [WRITE_OFTEN.format(**given, letter=letter) for letter in "ab"]
    runs = [subprocess.Popen([sys.executable, "-c", program]) for program in programs]
    seen = set()
    while any(process.poll() is None for process in runs):
        seen.add(path.read_text())
    assert [process.returncode for process in runs] == [0, 0]
    assert seen | {path.read_text()} <= {"old", "a" * 100_000, "b" * 100_000}
    assert len(seen) > 1
    assert os.listdir(tmp_path) == ["result"]


def test_every_file_is_written_through_the_module_files() -> None:
    direct = re.compile(r"\.write_(text|bytes)\(|savefig\((?!buffer)|np\.savez?\((?!buffer)")
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if direct.search(path.read_text(encoding="utf-8"))
    }
    # a pipe is written to in place; uploaded recordings, sources to be compiled, lists of films to join and generated
    # ROS packages go to a temporary folder, which is removed or renamed whole
    temporary = {"robot/track.py", "c_library.py", "transports/ros1/rospy_types.py", "episodes/films.py"}
    assert found <= {"files.py", *temporary}


KILLED_FILM = """
import os, signal, sys
import numpy as np
from trocar.appearance import render_video
def frames():
    yield np.zeros((16, 16, 3), np.uint8)
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
render_video(sys.argv[1], frames())
"""


def test_the_unfinished_film_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    (folder := tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    film = tmp_path / "film.mp4"
    killed = run("-c", KILLED_FILM, film, "kill", env=environment)
    assert killed.returncode == -signal.SIGKILL
    assert not film.exists()
    assert len(list(folder.glob("trocar-film-*"))) == 1
    done = run("-c", KILLED_FILM, film, "finish", env=environment)
    assert done.returncode == 0, done.stderr
    assert film.stat().st_size > 0
    assert not list(folder.iterdir())


def test_temporary_folders_are_those_that_the_next_run_removes() -> None:
    users = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(r"TemporaryDirectory|mkdtemp|NamedTemporaryFile", path.read_text(encoding="utf-8"))
    }
    # Ray's folder is removed by a watching process, that of diverged states keeps the last five, and an unfinished
    # package of ROS messages is in the cache
    assert users == {"files.py", "sweep/executors.py", "simulation/engine.py", "transports/ros1/rospy_types.py"}


# Environments


def test_commands_run_without_a_home_in_the_c_locale_and_with_assertions_off(tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "PYTHONPATH", "OPENBLAS_NUM_THREADS")}
    bare = {**kept, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    told = run("-O", "-m", "trocar", "--help", env=bare, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "identify" in told.stdout
    assert told.stdout.isascii()
    done = run("-O", "-m", "trocar", "sim", "ECM", "-d", "0.01", "-o", tmp_path / "out", env=bare, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(tr.Recording.load(tmp_path / "out" / "recording.csv")) == 15
    assert os.listdir(tmp_path) == ["out"]
