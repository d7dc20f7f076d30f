"""Reports: a `Claim` compares a published number with ours; a `Report` of claims is a table, JSON or one HTML page."""

from trocar.report.claim import KINDS, REASONS, RELATIONS, Claim, Kind, Relation
from trocar.report.report import Report

__all__ = ["KINDS", "REASONS", "RELATIONS", "Claim", "Kind", "Relation", "Report"]
