"""Claims (a published number beside ours) and the reports made of them: table, JSON, one HTML file."""

from trocar.report.claim import REASONS, RELATIONS, Claim, Relation
from trocar.report.report import Report

__all__ = ["REASONS", "RELATIONS", "Claim", "Relation", "Report"]
