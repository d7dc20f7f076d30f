"""An experiment: a publication and a function that compares its claims with our results."""

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
        data: folder of measured data. None: claims that need data have no number.
        video: folder to render clips into. None: no clips.
        progress: function called with a short text before each step.
        quick: skip long simulations whose claims coarser ones also cover; for tests.
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


def data_file(data: Path | None, path: Path) -> Path | str:
    """A file of the data folder, or the reason why it is missing."""
    if data is None:
        return NO_DATA
    return data / path if (data / path).is_file() else f"not run: {path.as_posix()} is not in the data folder"
