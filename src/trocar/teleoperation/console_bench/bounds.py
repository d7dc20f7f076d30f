"""Claims about the console, with our own bounds or published values."""

from __future__ import annotations

from trocar.report import Claim


def own_bound(id: str, ours: float, bound: float, unit: str, note: str = "", at_least: bool = False) -> Claim:
    """A claim that our figure is at most (or at least) our own bound."""
    return Claim(
        id=f"teleoperation/console/{id}",
        published=bound,
        ours=ours,
        unit=unit,
        relation="at_least" if at_least else "at_most",
        tolerance=0.0,
        source="bound of our own",
        note=note,
        kind="own",
    )


def as_published(
    id: str, ours: float, published: float, unit: str, tolerance: float, source: str, note: str = ""
) -> Claim:
    """A claim that our figure equals a published value within a tolerance."""
    return Claim(
        id=f"teleoperation/console/{id}",
        published=published,
        ours=ours,
        unit=unit,
        relation="equal",
        tolerance=tolerance,
        source=source,
        note=note,
    )
