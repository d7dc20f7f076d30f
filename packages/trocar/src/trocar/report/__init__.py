"""Reports: a `Claim` compares a published number with ours; a `Report` of claims is a table, JSON or one HTML page."""

from trocar.report.claim import (
    CHECK_KINDS,
    KINDS,
    NOT_REPRODUCED,
    NUMBER_KINDS,
    OWN_BOUNDS,
    REASONS,
    RELATIONS,
    Claim,
    Counted,
    Kind,
    Relation,
    counted,
)
from trocar.report.report import Report

__all__ = [
    "CHECK_KINDS",
    "KINDS",
    "NOT_REPRODUCED",
    "NUMBER_KINDS",
    "OWN_BOUNDS",
    "REASONS",
    "RELATIONS",
    "Claim",
    "Counted",
    "Kind",
    "Relation",
    "Report",
    "counted",
]
