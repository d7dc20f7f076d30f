"""A report: claims with text and figures, as a terminal table, JSON or one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from trocar.errors import TrocarError
from trocar.files import write_json, write_whole
from trocar.report.claim import CHECK_KINDS, NOT_REPRODUCED, NUMBER_KINDS, Claim, Counted, counted, number
from trocar.report.page import html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VERDICTS = {True: ("passed", "green"), False: ("FAILED", "bold red"), None: ("skipped", "yellow")}


@dataclass(eq=False)
class Report:
    """Claims with the text and the figures that explain them.

    Attributes:
        title: heading of the report.
        claims: the claims in order, with unique ids.
        figures: matplotlib figures with their captions.
        clips: films (.gif) with their captions; the HTML file embeds copies.
        paragraphs: plain text. tables: text tables, each with a caption and headings.
            The page shows text, tables, clips, figures and claims, in this order.
        next_steps: commands for the reader, with what they do. A page that has them opens with its clips, then these.
    """

    title: str
    claims: list[Claim] = field(default_factory=list)
    figures: list[tuple[Figure, str]] = field(default_factory=list)
    clips: list[tuple[Path, str]] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    tables: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]] = field(default_factory=list)
    next_steps: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        claims, self.claims = self.claims, []
        self.add_claims(claims)

    def add_claims(self, claims: Iterable[Claim]) -> None:
        """Append claims; see `add_claim`."""
        for claim in claims:
            self.add_claim(claim)

    def add_claim(self, claim: Claim) -> None:
        """Append a claim; its id must be unique in this report."""
        if any(claim.id == other.id for other in self.claims):
            raise TrocarError(f"claim {claim.id!r} is already in the report {self.title!r}; ids must be unique")
        self.claims.append(claim)

    def add_figure(self, figure: Figure, caption: str) -> None:
        """Append a matplotlib figure with its caption."""
        self.figures.append((figure, caption))

    def add_table(self, caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Append a table of text; the first column names the rows, the others are numbers."""
        self.tables.append((caption, tuple(headings), [tuple(row) for row in rows]))

    def add_clip(self, path: str | Path, caption: str) -> None:
        """Append a film, an existing .gif file, with its caption."""
        path = Path(path)
        if path.suffix != ".gif" or not path.is_file():
            raise TrocarError(f"a clip of a report must be an existing .gif file, got {str(path)!r}")
        self.clips.append((path, caption))

    @property
    def ok(self) -> bool:
        """True if no claim fails; claims that were not run do not count."""
        return all(claim.holds is not False for claim in self.claims)

    def summary(self) -> str:
        """Printed numbers, then claims: `1 of 2 printed numbers met (1 missed); claims: 3 passed, 0 failed, ...`."""
        kinds = [number.kind for number in self.numbers()]
        met = sum(kind in NUMBER_KINDS for kind in kinds)
        printed = f"{met} of {len(kinds)} printed numbers met{_counts(kinds, NOT_REPRODUCED)}; claims: "
        verdicts = [claim.verdict for claim in self.claims]
        skipped = [verdict for verdict in verdicts if verdict not in ("passed", "failed")]
        counts = f"{verdicts.count('passed')} passed, {verdicts.count('failed')} failed, {len(skipped)} skipped"
        return (printed if kinds else "") + counts + _counts(skipped, ("not run", "not reproducible"))

    def failures(self) -> list[str]:
        """One line per failed claim: its id, our number and the published one."""
        return [f"{claim.id}: {claim.comparison()}" for claim in self.claims if claim.holds is False]

    def numbers(self) -> list[Counted]:
        """Every printed number once, with the kind of the strongest claim about it that passed."""
        return counted((claim.number, claim.kind, claim.verdict) for claim in self.claims)

    def evidence(self) -> list[tuple[str, str, str]]:
        """Rows of kind, count and meaning: printed numbers, each counted once, then checks as passed of judged."""
        kinds = [number.kind for number in self.numbers()]
        meanings = {**NUMBER_KINDS, **NOT_REPRODUCED}
        rows = [(kind, str(kinds.count(kind)), meaning) for kind, meaning in meanings.items() if kind in kinds]
        for kind, meaning in CHECK_KINDS.items():
            judged = [claim.holds for claim in self.claims if claim.kind == kind and claim.holds is not None]
            if judged:
                rows.append((kind, f"{judged.count(True)} of {len(judged)}", meaning))
        return rows

    def evidence_table(self) -> Table:
        """`evidence` as a rich table for the terminal."""
        title = f"{len(self.numbers())} printed numbers, each counted once, and other checks"
        table = Table(title=Text(title, style="bold"), title_justify="left")
        table.add_column("kind")
        table.add_column("count", justify="right")
        table.add_column("meaning", style="dim")
        for row in self.evidence():
            table.add_row(*row)
        return table

    def table(self) -> Group:
        """The claims for the terminal: a table of published numbers, one of bounds of ours, the summary, the notes.

        Notes are numbered and printed below the tables: in a column they would leave no room for the numbers.
        """
        notes = list(dict.fromkeys(claim.note for claim in self.claims if claim.note))
        tables = []
        for own in (False, True):
            if claims := [claim for claim in self.claims if claim.has_own_bound == own]:
                required = "our bound" if own else "published"
                title = f"{self.title}: checks with a bound of ours" if own else self.title
                tables.append(_claim_table(claims, notes, required, title))
        footer = [self.summary(), *(f"{number}: {note}" for number, note in enumerate(notes, start=1))]
        return Group(*tables, *(Text(line) for line in footer))

    def to_json(self) -> dict[str, Any]:
        """`{"claims": [...]}`, each claim as `Claim.to_json` gives it."""
        return {"claims": [claim.to_json() for claim in self.claims]}

    def write_json(self, path: str | Path) -> Path:
        """Write `to_json()` to `path` atomically."""
        return write_json(path, self.to_json())

    def write_html(self, path: str | Path) -> Path:
        """Write the report atomically as one self-contained HTML file."""
        return write_whole(path, html(self))


def _claim_table(claims: Iterable[Claim], notes: Sequence[str], required: str, title: str) -> Table:
    """A table of claims; `required` heads the column of the numbers that ours are compared with."""
    # Text, not str, here and below: square brackets in a note are not markup.
    table = Table(title=Text(title, style="bold"), title_justify="left")
    table.add_column("claim", overflow="fold")
    table.add_column(required, justify="right")
    table.add_column("ours", justify="right")
    table.add_column("unit")
    table.add_column("", no_wrap=True)
    table.add_column("note", justify="right", style="dim")
    for claim in claims:
        word, style = _VERDICTS[claim.holds]
        ours, verdict = Text(number(claim.ours), style=style), Text(word, style=style)
        note = str(notes.index(claim.note) + 1) if claim.note else ""
        table.add_row(Text(claim.id), Text(claim.expected()), ours, Text(claim.unit), verdict, note)
    return table


def _counts(values: Sequence[str], reasons: Iterable[str]) -> str:
    """Counts of reasons, such as ` (1 not run, 1 not reproducible)`; empty if none does."""
    text = ", ".join(f"{values.count(reason)} {reason}" for reason in reasons if reason in values)
    return f" ({text})" if text else ""
