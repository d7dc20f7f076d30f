"""What an experiment is: a publication, and a function that returns its claims beside ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trocar.report import Claim, Relation, Report


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


def claim_of(
    publication: str,
    name: str,
    published: float,
    ours: float | None,
    unit: str,
    relation: Relation,
    tolerance: float,
    source: str,
    note: str = "",
) -> Claim:
    """A claim by its `name` within a publication; `published`, `ours` and `tolerance` in `unit`."""
    return Claim(
        id=f"{publication}/{name}",
        published=published,
        ours=ours,
        unit=unit,
        relation=relation,
        tolerance=tolerance,
        source=source,
        note=note,
    )
