"""Recordings as npz: an entry per channel, and `about`, which holds names, units and provenance as JSON."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.errors import TrocarError
from trocar.recording.channels import UNITS

if TYPE_CHECKING:
    from trocar.recording.recording import Recording


def content(recording: Recording) -> bytes:
    """The file's bytes."""
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
    content = path.read_bytes()
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise TrocarError(f"{path}: not a recording: not an .npz file, or one that was cut off")
    try:
        # from memory: np.load leaves a file that is no zip open
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            arrays = {name: file[name] for name in file.files if name != "about"}
    except (ValueError, KeyError, IndexError, TypeError, EOFError, zipfile.BadZipFile) as error:
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
            raise TrocarError(f"{path}: the entry {name!r} belongs to no recording")
    if "t" not in fields:
        raise TrocarError(f"{path}: t is missing")
    return fields
