"""Recordings as npz: an entry per channel, and `about`, which holds names, units and provenance as JSON."""

from __future__ import annotations

import io
import json
import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.errors import TrocarError, shown
from trocar.files import check_memory, memory, read_whole, size
from trocar.recording.motor_columns import UNITS

if TYPE_CHECKING:
    from trocar.recording.recording import Recording

# Entries may unpack to this many bytes, or to this many times the size of the file. Numbers do not compress better,
# so a zip bomb costs no more time and memory than a recording.
UNPACKED, RATIO = 2**28, 200


def content(recording: Recording) -> bytes:
    """The bytes of the file."""
    arrays: dict[str, Any] = {"t": recording.t}
    arrays |= {name: getattr(recording, name) for name in UNITS if getattr(recording, name) is not None}
    arrays |= {f"command/{name}": value for name, value in recording.commands.items()}
    arrays |= {f"extra/{name}": value for name, value in recording.extra.items()}
    about = {
        "joints": recording.joints,
        "joint_units": recording.joint_units,
        "space": recording.space,
        "extra_units": dict(recording.extra_units),
        "provenance": dict(recording.provenance),
    }
    buffer = io.BytesIO()
    np.savez(buffer, about=np.array(json.dumps(about, allow_nan=False)), **arrays)
    return buffer.getvalue()


def read(path: Path) -> dict[str, Any]:
    """The fields of a recording."""
    content = read_whole(path, "recording", memory() // 2)
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise TrocarError(f"{path}: not a recording: not an .npz file, or a truncated one")
    try:
        arrays = _arrays(content)
        about = json.loads(str(arrays.pop("about")))
    except KeyError:
        raise TrocarError(f"{path}: not a recording: it has no entry 'about'") from None
    except RecursionError:
        raise TrocarError(f"{path}: not a recording: 'about' is nested too deeply") from None
    except Exception as error:  # any exception of the zip, npy and JSON readers
        raise TrocarError(f"{path}: not a recording: {error}") from None
    known = {"joints": list, "joint_units": list, "space": str, "extra_units": dict, "provenance": dict}
    if isinstance(about, dict):
        about = {"space": "joints", **about}  # files of version 0.1 have no space
    if not isinstance(about, dict) or {key: type(value) for key, value in about.items()} != known:
        raise TrocarError(f"{path}: not a recording: 'about' must hold {', '.join(known)}")
    fields: dict[str, Any] = {"q": None, "dq": None, **about, "commands": {}, "extra": {}}
    for name, array in arrays.items():
        group, _, channel = name.rpartition("/")
        if group in ("command", "extra"):
            fields["commands" if group == "command" else "extra"][channel] = array
        elif name == "t" or name in UNITS:
            fields[name] = array
        else:
            raise TrocarError(f"{path}: the entry {shown(name)} belongs to no recording")
    if "t" not in fields:
        raise TrocarError(f"{path}: t is missing")
    return fields


def _arrays(content: bytes) -> dict[str, Any]:
    """The arrays of an .npz file. Sizes are checked before unpacking, so a small file cannot exhaust the memory."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if total > max(UNPACKED, RATIO * len(content)):
            raise TrocarError(f"its entries unpack to {size(total)}, from a file of {size(len(content))}")
        check_memory(3.0 * total, "unpacking it", "Record fewer rows or channels")
        for entry in entries:
            if entry.flag_bits & 0x1:
                raise TrocarError(f"the entry {shown(entry.filename)} is encrypted")
        return {entry.filename.removesuffix(".npy"): _array(archive.read(entry)) for entry in entries}


def _array(data: bytes) -> Any:
    """Read an array in NumPy's format; the size in its header must match the number of bytes that follow."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, _, dtype = read_header(stream)
    claimed, there = math.prod(shape) * dtype.itemsize, len(data) - stream.tell()
    if dtype.kind not in "biufU" or min(shape, default=0) < 0 or claimed != there:
        raise TrocarError(f"an array {shape} of {dtype} in {there} bytes")
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
