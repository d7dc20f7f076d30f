"""Results of the bench, and the bounds of its claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from trocar.experiments.bilateral.pair_log import PairLog
from trocar.experiments.claim_table import ClaimTable
from trocar.report import Report

TABLE = ClaimTable("bilateral")


@dataclass
class Bench:
    """Results of a run of the bench, extended by every section.

    Attributes:
        report: claims, figures and text. show: function called with a short text before each step.
        quick: coarser maps. logs: runs to save as recordings, by name.
    """

    report: Report = field(default_factory=lambda: Report("Teleoperation"))
    show: Callable[[str], None] = lambda text: None
    quick: bool = False
    logs: dict[str, PairLog] = field(default_factory=dict)
