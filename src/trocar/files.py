"""Files written whole or not at all: a reader never meets half a result."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


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
