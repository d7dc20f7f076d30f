"""Collected results of the bench."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files

from trocar.experiments.bilateral.pair_log import PairLog
from trocar.experiments.claim_table import ClaimTable
from trocar.report import Report


def claim_table() -> ClaimTable:
    """The bounds of `claims.toml`."""
    text = files("trocar.experiments.bilateral.bench").joinpath("claims.toml").read_text(encoding="utf-8")
    return ClaimTable("bilateral", text=text)


@dataclass
class Bench:
    """Results of a run of the bench, extended by every section.

    Attributes:
        report: claims, figures and text. table: bounds of the claims. show: function called with a short text before
            each step.
        quick: coarser maps. logs: runs to save as recordings, by name.
    """

    report: Report = field(default_factory=lambda: Report("Teleoperation"))
    show: Callable[[str], None] = lambda text: None
    quick: bool = False
    table: ClaimTable = field(default_factory=claim_table)
    logs: dict[str, PairLog] = field(default_factory=dict)
