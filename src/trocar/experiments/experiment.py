"""An experiment: a publication, and a function that reports its claims beside ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trocar.report import Report

NO_DATA = "not run: no data folder (trocar fetch, --data or TROCAR_DATA)"


@dataclass(frozen=True, kw_only=True)
class Context:
    """Resources that an experiment may use.

    Attributes:
        data: folder with the measured data. None: claims that need it are null.
        video: folder to render clips into. None: no clips.
        progress: called with a short text before each step.
        quick: skip long simulations whose claims are also made by coarser ones, for tests.
    """

    data: Path | None
    video: Path | None
    progress: Callable[[str], None]
    quick: bool = False


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A publication that can be reproduced by name."""

    name: str
    title: str
    run: Callable[[Context], Report]


def data_file(data: Path | None, path: Path) -> tuple[Path, str]:
    """A file of the data folder, and why it cannot be read: an empty text if it can."""
    if data is None:
        return path, NO_DATA
    return data / path, "" if (data / path).is_file() else f"not run: {path.as_posix()} is not in the data"
