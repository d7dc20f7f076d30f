"""Doors of files: formats, valid files, damage to them, and the check that each damaged one gives a result or one line.

TROCAR_FUZZ=20000 sets the number of cases of each format, TROCAR_FUZZ_SEED selects another series.
"""

from __future__ import annotations

import copy
import io
import json
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import trocar as tr
import trocar_learning as tl
from tests.support.coppelia_scenes import packed
from tests.support.file_mutations import damaged, damaged_tree, inline_toml
from tests.support.hdf5_damage import hdf5_damage
from tests.support.odd_values import INPUTS, SEED, rounds
from tests.support.small_episodes import drawn_data_set
from trocar.errors import TrocarError
from trocar.toml_file import toml_text
from trocar_reproductions.ferro2022.packed_file import unpacked


@dataclass(frozen=True)
class Door:
    """A file format: the suffix of its files, valid files, and the function that reads them.

    Attributes:
        slow: one case in so many is run. trusted: only the content of sound files is changed, because the library that
            reads them may crash on damaged bytes.
    """

    suffix: str
    sound: Callable[[], list[bytes]]
    read: Callable[[Path], Any]
    slow: int = 1
    trusted: bool = False


def recording() -> tr.Recording:
    random = np.random.default_rng(0)
    arm = tr.load_arm("PSM")
    q, dq, tau, tip = (random.normal(size=(5, k)) for k in (7, 7, 7, 3))
    return tr.Recording(
        t=np.arange(5) / 100,
        q=q,
        dq=dq,
        tau=tau,
        joints=arm.joint_names,
        joint_units=arm.joint_units,
        commands={"q": q, "tip_position": tip},
        extra={"tip": tip, "rcm_error": tip[:, 0]},
        extra_units={"tip": "m", "rcm_error": "m"},
        provenance={"arm": "PSM", "controller": "PID", "gravity": [0.0, 0.0, -9.81]},
    )


def saved(suffix: str, folder: Path) -> bytes:
    return recording().save(folder / f"sound{suffix}").read_bytes()


def numbers(path: Path) -> Any:
    found = tr.load_recording(path, "PSM")
    assert np.isfinite(found.q).all()


@cache
def data_set(format: str, count: int) -> tuple[TemporaryDirectory[str], Path]:
    """A data set of episodes, and the object that keeps its folder."""
    keeper = TemporaryDirectory()
    return keeper, drawn_data_set(Path(keeper.name) / "set", format, count)


def episode_door(format: str, name: str, slow: int = 1, count: int = 2) -> Door:
    """One file of a data set, read with the sound others."""

    def sound() -> list[bytes]:
        return [(data_set(format, count)[1] / name).read_bytes()]

    def read(path: Path) -> Any:
        place = data_set(format, count)[1] / name
        before = place.read_bytes()
        try:
            place.write_bytes(path.read_bytes())
            episodes = tl.load_episodes(data_set(format, count)[1])
            return [(episode.recordings, episode.success) for episode in episodes], list(episodes.splits)
        finally:
            place.write_bytes(before)

    return Door(Path(name).suffix, sound, read, slow)


@cache
def parsed(content: bytes, suffix: str) -> dict[str, Any]:
    """Content of a sound file, which the caller must not change."""
    return dict(json.loads(content) if suffix == ".json" else tomllib.loads(content.decode()))


def tree_damage(content: bytes, suffix: str, random: np.random.Generator) -> bytes:
    """Damage to the content of a TOML, JSON, JSON lines, npz or packed scene file, or to the bytes of other files."""
    if suffix == ".toml":
        tree = damaged_tree(parsed(content, suffix), random)
        try:
            return (inline_toml(tree) if random.integers(30) else toml_text(tree)).encode()
        except ValueError:  # TOML cannot represent it
            return b""
    if suffix == ".json":
        return json.dumps(damaged_tree(parsed(content, suffix), random)).encode()
    if suffix == ".jsonl":
        lines = content.splitlines()
        k = random.integers(len(lines))
        lines[k] = json.dumps(damaged_tree(json.loads(lines[k]), random)).encode()
        return b"\n".join(lines) + b"\n"
    if suffix == ".npz":
        return npz_damage(content, random) if random.integers(3) else zip_damage(content, random)
    if suffix == ".hdf5":
        return hdf5_damage(content, random)
    if suffix == ".ttt":
        with TemporaryDirectory() as folder:
            (path := Path(folder) / "scene.ttt").write_bytes(content)
            return packed(damaged(unpacked(path), random) or b"\0")
    return damaged(content, random)


def npz_damage(content: bytes, random: np.random.Generator) -> bytes:
    """Different arrays or descriptions."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    name = list(arrays)[random.integers(len(arrays))]
    what = random.integers(7)
    if what == 0:
        about = damaged_tree(json.loads(str(arrays["about"])), random)
        arrays["about"] = np.array(json.dumps(about))
    elif what == 1:
        arrays[str(random.choice(["x", "../x", "command/x", "extra/", "q/x", "extra/q_yaw"]))] = arrays.pop(name)
    elif what == 2:
        kind = random.choice(["U8", "S3", "c16", "f2", "i1", "b1", "M8[s]"])
        arrays[name] = np.zeros(arrays[name].shape).astype(kind)
    elif what == 3:
        arrays[name] = arrays[name][..., None]
    elif what == 4:
        arrays[name] = np.full(np.shape(arrays[name]), random.choice([np.nan, np.inf, 1e308, -1.0]))
    elif what == 5:
        arrays[name] = arrays[name][: int(random.integers(0, 5))] if arrays[name].ndim else arrays[name]
    else:
        del arrays[name]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def zip_damage(content: bytes, random: np.random.Generator) -> bytes:
    """Entries that occur twice, share the bytes of others, state other sizes or unpack to far more."""
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        entries = archive.infolist()
        entry = entries[random.integers(len(entries))]
        bomb = zipfile.ZipInfo(str(random.choice(["extra/bomb.npy", entry.filename, "../bomb.npy"])))
        bomb.compress_type = zipfile.ZIP_DEFLATED
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a name that exists already
            archive.writestr(bomb, bytes(int(random.choice([0, 100, 2_000_000]))))
        what = random.integers(4)
        if what == 0:
            shared = copy.copy(entry)
            shared.filename = str(random.choice(["q.npy", "extra/again.npy", "command/q.npy"]))
            archive.filelist.extend([shared] * int(random.integers(1, 50)))
        elif what == 1:
            entry.file_size = int(random.choice([0, 1, 100, 2**31, 2**40]))
        elif what == 2:
            entry.compress_size = int(random.choice([0, 1, len(content), 2**31]))
        else:
            entry.header_offset = int(random.integers(0, len(content)))
    return buffer.getvalue()


def cases(door: Door, folder: Path, name: str) -> Iterator[tuple[int, bytes]]:
    sound = door.sound() or [saved(door.suffix, folder)]
    for number in range(max(1, rounds(60) // door.slow)):
        random = np.random.default_rng([SEED, number, *name.encode()])
        content = sound[random.integers(len(sound))]
        if random.integers(2) == 0 and not door.trusted:
            yield number, damaged(content, random)
        else:
            yield number, tree_damage(content, door.suffix, random)


def check_damaged(door: Door, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that every damaged file of a format gives a result or a clear one-line error."""
    monkeypatch.setenv("TROCAR_DIVERGED_STATES", "0")
    monkeypatch.setattr("trocar.recording.loading.load_arm", cache(tr.load_arm))  # slower than the readers
    path, failures, refused, count = folder / f"file{door.suffix}", [], 0, 0
    for number, content in cases(door, folder, name):
        path.unlink(missing_ok=True)  # file systems write a file that is truncated to the disk at once
        path.write_bytes(content)
        count += 1
        INPUTS[f"file: {name}"] += 1
        try:
            door.read(path)
        except TrocarError as error:
            refused += 1
            message = str(error)
            if len(message) >= 500 or not message or not message.isprintable():
                failures.append(f"case {number}: {message!r}")
        except Exception as error:
            failures.append(f"case {number}: {type(error).__name__}: {error}"[:300])
    assert not failures, f"{len(failures)} of {count}:\n" + "\n".join(failures[:20])
    assert refused or count < 20  # damage is damage


def check_sound(door: Door, folder: Path) -> None:
    """Check that the valid files of a format are read."""
    for content in door.sound() or [saved(door.suffix, folder)]:
        (path := folder / f"file{door.suffix}").write_bytes(content)
        door.read(path)
