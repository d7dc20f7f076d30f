"""What an experiment is: a publication, and a function that returns its claims beside ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trocar.report import Report


@dataclass(frozen=True, kw_only=True)
class Context:
    """What an experiment may use.

    Attributes:
        data: folder with the measured data, or None: claims that need it are then null.
        video: folder to render clips into, or None for none.
        progress: called with a short text before each step.
        quick: leave out long simulations whose claims coarser ones make as well, for tests.
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
