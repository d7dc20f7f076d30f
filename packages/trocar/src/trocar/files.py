"""Atomic file writes and size-limited reads: a reader never sees a partial result."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, TypeAlias

from trocar import file_locks
from trocar.errors import TrocarError
from trocar.file_locks import lock

Json: TypeAlias = dict[str, Any]  # an object of a JSON file

TEXT_SIZE = 4 * 2**20  # most bytes of a TOML or JSON file; the largest that trocar writes have 200 kB
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # memory limit of the container, if there is one

_temporaries: set[Path] = set()  # files being written; SIGTERM removes them
_creating = threading.RLock()  # held while one is created, so that SIGTERM sees either no file or a registered one


def check_writable(*paths: str | os.PathLike[str] | None) -> None:
    """Raise an OSError unless every path (None is skipped) can be written as a file once missing folders are created.

    Called before long computations, so that their result can be saved. This check creates nothing.
    """
    for path in (Path(path) for path in paths if path is not None):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", str(path))
        folder = path.parent
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"cannot be written: {folder} is a file, not a folder", str(path))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"cannot be written: no permission in the folder {folder}", str(path))


def write_whole(path: str | os.PathLike[str], data: bytes | str, *, private: bool = False) -> Path:
    """Write `data` (text as UTF-8) to `path` atomically, creating missing folders; return the path.

    A private file can be read and written by its owner only (mode 0600), from the moment it exists.

    The data go to a temporary file in the same folder, which then replaces `path`.
    On failure `path` keeps its old content and the temporary file is removed. A process that is killed leaves the
    temporary file behind; the next writer of `path` removes it.
    """
    path = Path(path)
    content = data.encode() if isinstance(data, str) else data
    if path.exists() and not path.is_file() and not path.is_dir():
        # A device or a pipe, such as /dev/stdout, must be written to, never replaced.
        with _named(path):
            path.write_bytes(content)
        return path

    check_writable(path)
    # Resolve the path, so that a symbolic link is kept and its target is replaced.
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    start = f".{target.name[:40]}."  # file names are limited to 255 bytes
    temporary = target.with_name(f"{start}{secrets.token_hex(8)}.tmp")
    with _named(path), _removed_on_termination():
        _remove_stale(target.parent, re.compile(re.escape(start) + r"[0-9a-f]{16}\.tmp"))
        try:
            with _created(temporary, private) as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
                if not file_locks.AVAILABLE:
                    stream.close()  # Windows replaces no file that is open; elsewhere the open file keeps its lock
                os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
            _temporaries.discard(temporary)
    _sync_folder(target.parent)
    return path


def _created(temporary: Path, private: bool = False) -> BinaryIO:
    """A new file, open and locked. Without the lock another writer would treat it as stale and remove it."""
    while True:
        with _creating:
            _temporaries.add(temporary)
            # open() rather than tempfile: the result gets the usual permissions, not 0600.
            stream = open(temporary, "xb", opener=_open_private) if private else open(temporary, "xb")  # noqa: SIM115
        with suppress(OSError):  # on file systems without locks, no writer removes stale files
            lock(stream, wait=True)
        if temporary.exists():
            return stream
        stream.close()  # another writer removed it before it was locked


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _remove_stale(folder: Path, name: re.Pattern[str]) -> None:
    """Remove the temporary files of this name that no running writer has locked."""
    names: list[str] = []
    with suppress(OSError):  # a folder can be writable but not readable
        names = os.listdir(folder)
    for stale in filter(name.fullmatch, names):
        with suppress(OSError), open(folder / stale, "rb+") as stream:
            lock(stream, wait=False)
            os.unlink(folder / stale)


@contextmanager
def scratch_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder for unfinished results, removed at the end; removes those that killed processes left in `parent`.

    A running process holds the lock of its folder.

    Args:
        prefix: of its name. parent: default the system's folder for temporary files.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    for stale in parent.glob(f"{prefix}*/.lock"):
        with suppress(OSError), open(stale, "rb+") as stream:
            lock(stream, wait=False)
            shutil.rmtree(stale.parent, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with open(folder / ".lock", "xb") as held:
            with suppress(OSError):  # on file systems without locks, no process removes stale folders
                lock(held, wait=True)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Make an OSError name this file instead of a temporary one or none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power failure, if the file system supports it."""
    with suppress(OSError):  # not supported by some file systems; the file itself is complete
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _removed_on_termination() -> Iterator[None]:
    """Context manager in which SIGTERM removes the temporary files before it ends the process."""
    ours = remove_temporaries_on_termination()
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def remove_temporaries_on_termination() -> bool:
    """Make SIGTERM remove the temporary files of every thread before it ends the process.

    Returns False, and changes nothing, if the program handles SIGTERM itself, as the command line does, or the caller
    is not the main thread.
    """
    main = threading.current_thread() is threading.main_thread()
    if free := main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    return free


def remove_temporaries() -> None:
    """Remove the temporary files of every thread, before the process ends."""
    with _creating:
        for temporary in list(_temporaries):
            temporary.unlink(missing_ok=True)


def _terminate(number: int, _: FrameType | None) -> None:
    remove_temporaries()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def user_cache() -> Path:
    """Folder for files of this user that can be made or fetched again."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "trocar"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "trocar" / "trocar" / "Cache"
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (chosen if chosen.is_absolute() else home / ".cache") / "trocar"


def read_whole(path: str | os.PathLike[str], what: str, most: int = TEXT_SIZE) -> bytes:
    """Read the bytes of a file. Raise an error naming `what` if it is unreadable or longer than `most` bytes."""
    check_regular(path, what)
    parts, total = [], 0
    try:
        with open(path, "rb") as stream:
            while total <= most and (part := stream.read(2**20)):  # a file can grow while it is read
                parts.append(part)
                total += len(part)
    except OSError as error:
        raise TrocarError(f"the {what} {os.fspath(path)} cannot be read: {error.strerror}") from None
    except ValueError as error:  # a null byte in the path
        raise TrocarError(f"the {what} {os.fspath(path)} cannot be read: {error}") from None
    if total > most:
        raise TrocarError(f"the {what} {os.fspath(path)} is too large: more than {size(most)}")
    return b"".join(parts)


def check_regular(path: str | os.PathLike[str], what: str) -> None:
    """Raise an error if the path names a pipe, device or socket: opening one can block, reading one never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # reported by the reader that opens it
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise TrocarError(f"the {what} {os.fspath(path)} is a pipe, device or socket; use a regular file")


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """Content of a JSON file."""
    text = read_whole(path, what)
    try:
        return json.loads(text.decode("utf-8-sig"))
    except RecursionError:
        raise TrocarError(f"the {what} {os.fspath(path)} is nested too deeply") from None
    except ValueError as error:
        raise TrocarError(f"the {what} {os.fspath(path)} is not valid JSON: {error}") from None


def memory() -> int:
    """Memory of this machine, or of the container it runs in [bytes]."""
    return _memory(CONTAINER)


@cache
def _memory(limit: Path) -> int:
    if not hasattr(os, "sysconf"):  # Windows: not known, so that no request is refused beforehand
        return sys.maxsize
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(limit.read_text()))
    except (OSError, ValueError):  # no container, or "max"
        return machine


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise an error if `needed` bytes exceed the memory of this machine; called before allocating them."""
    if needed > memory():
        raise TrocarError(f"{what} needs {size(needed)} of memory; this machine has {size(memory())}. {remedy}")


def size(bytes: float) -> str:
    """Human-readable number of bytes: "1.5 GB"."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if bytes < 1000 or unit == "TB":
            break
        bytes /= 1000
    return f"{bytes:.3g} {unit}"


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> Path:
    """Write JSON atomically; a number that is not finite is an error."""
    return write_whole(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
