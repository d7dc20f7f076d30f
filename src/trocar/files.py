"""Files written whole or not at all: a reader never meets half a result."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def check_writable(*paths: str | os.PathLike[str] | None) -> None:
    """Raise an OSError unless every path (None is skipped) can be written as a file, its missing folders made.

    Called before long work, so that its result is not lost for want of a place; nothing is made.
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


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> Path:
    """Write `data` (text as UTF-8) to `path` in one step, making missing folders; return the path.

    The data go to a temporary file in the same folder, which then takes the place of `path`.
    On failure `path` keeps its old content and the temporary file is removed.
    """
    path = Path(path)
    content = data.encode() if isinstance(data, str) else data
    if path.exists() and not path.is_file() and not path.is_dir():
        # A device or a pipe, such as /dev/stdout: it must be written to, never replaced.
        path.write_bytes(content)
        return path

    check_writable(path)
    # Resolved, so that a link keeps pointing at the file it names.
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        # open() rather than tempfile: the result gets the usual permissions, not 0600.
        with open(temporary, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_json(path: str | os.PathLike[str], content: Mapping[str, Any]) -> Path:
    """Write JSON, whole or not at all; a number that is not finite is an error."""
    return write_whole(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
