"""Reports: a `Claim` compares a published number with ours; a `Report` of claims is a table, JSON or one HTML page."""

from trocar.report.claim import REASONS, RELATIONS, Claim, Relation
from trocar.report.report import Report

__all__ = ["REASONS", "RELATIONS", "Claim", "Relation", "Report"]
