"""Reading episodes of robomimic's HDF5 files, in a process with limited memory and time."""

from __future__ import annotations

import atexit
import io
import json
import os
import subprocess
import sys
import threading
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from trocar.errors import TrocarError
from trocar.files import check_regular, memory
from trocar.spatial import Array
from trocar_learning.episodes.arm_columns import recordings
from trocar_learning.episodes.demonstration import check_description
from trocar_learning.episodes.loaded import EpisodeSet, LoadedEpisode

PROGRAM = Path(__file__).with_name("hdf5_process.py")
TIMEOUT = 60.0  # of one episode or its pictures [s]


def load_robomimic(path: Path, splits: dict[str, str]) -> EpisodeSet:
    """Episodes of an HDF5 file of robomimic with joint positions in obs/position and their names, as trocar writes."""
    check_regular(path, "HDF5 file")
    numbers, _ = _answer(path, "demos")
    return EpisodeSet(path, "robomimic", len(numbers), lambda k: _demo(path, numbers[k]), splits)


def _demo(path: Path, number: int) -> LoadedEpisode:
    about, arrays = _answer(path, "demo", number)
    place, fps = f"{path}, demo_{number}", about["fps"]
    try:
        described, features = (json.loads(about.get(name, "{}")) for name in ("about", "features"))
        instruction = about.get("instruction", "")
        check_description(fps, instruction, features, described)
    except (ValueError, RecursionError) as error:
        raise TrocarError(f"{place}: {str(error)[:200]}") from None
    columns = {f"observation.{name}": values for name, values in zip(about["columns"], arrays, strict=True)}
    names = {name: list(entry.get("names") or ()) for name, entry in features.items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise TrocarError(f"{place}: its observations have {sorted(lengths)} rows")
    arms = recordings(np.arange(lengths.pop()) / fps, columns, names, {"file": path.name, "data": "robomimic"})
    pictures = {name: partial(_pictures, path, number, name) for name in about["pictures"]}
    return LoadedEpisode(arms, instruction, described, pictures)


def _pictures(path: Path, number: int, name: str) -> Array:
    _, (images,) = _answer(path, "pictures", number, name)
    return images


def _answer(path: Path, function: str, *arguments: Any) -> tuple[Any, list[Array]]:
    """Result and arrays of a function of `hdf5_process`."""
    return _process(os.getpid()).answer(path, function, *arguments)


class Hdf5Process:
    """The process that reads HDF5 files, started at the first request and again after it has ended."""

    def __init__(self) -> None:
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def answer(self, path: Path, function: str, *arguments: Any) -> tuple[Any, list[Array]]:
        """Result and arrays of a function of `hdf5_process`."""
        request = json.dumps([os.path.abspath(path), function, arguments])
        with self._lock:
            content = self._exchanged(path, request.encode() + b"\n")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if "error" in about:
                raise TrocarError(f"{path} is no HDF5 file of robomimic, or a damaged one: {about['error']}")
            return about["result"], [file[str(k)] for k in range(len(file.files) - 1)]

    def _exchanged(self, path: Path, request: bytes) -> bytes:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        start, timer = time.monotonic(), threading.Timer(TIMEOUT, process.kill)
        timer.start()
        try:
            process.stdin.write(request)
            process.stdin.flush()
            size = int.from_bytes(process.stdout.read(8), "little")
            content = process.stdout.read(size)
        except BrokenPipeError:
            size, content = 1, b""
        except BaseException:  # the answer would be taken for that of the next request
            self.close()
            raise
        finally:
            timer.cancel()
        if size and len(content) == size:
            return content
        self.close()
        reason = f"takes more than {TIMEOUT:.0f} s" if time.monotonic() - start >= TIMEOUT else "ends the HDF5 library"
        raise TrocarError(f"{path}: reading it {reason}; it is damaged or too large")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            # -P: modules in the program's folder must not replace those of Python with the same names
            command = [sys.executable, "-P", str(PROGRAM), str(memory() // 2)]
            pipe, silent = subprocess.PIPE, subprocess.DEVNULL
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=silent)
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            self._process.communicate()
            self._process = None


@cache
def _process(_process_id: int) -> Hdf5Process:
    """The reader of this process; a forked one gets its own."""
    return Hdf5Process()
