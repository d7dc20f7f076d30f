"""The page of `trocar score`: result, every trial, and a film of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trocar.report import Report
from trocar_learning.envs.episode import Episode
from trocar_learning.envs.scoring import headings, row, sentence

RULES = {
    "PegTransfer": "Rules of the ICRA 2026 peg transfer: a point per peg that rests on a post of the side to fill "
    "after a handover, in order, for 3 minutes. Drops cost nothing; a peg outside the workspace ends the trial."
}


def score_report(
    task: str, policy: str, level: str, trials: Sequence[Episode], film: Path | None = None, caption: str = ""
) -> Report:
    """A page with the result, every trial and a film (.gif)."""
    report = Report(f"{task}: {policy}")
    result = sentence(trials)
    report.paragraphs.append(f"Level: {level}. {result[:1].upper()}{result[1:]}.")  # units keep their capitals
    if task in RULES:
        report.paragraphs.append(RULES[task])
    report.paragraphs.append("Success: yes, the condition held for the required time; once, it was met for less.")
    report.add_table("Trials", headings(trials), [row(trial) for trial in trials])
    if film is not None:
        report.add_clip(film, caption)
    return report
