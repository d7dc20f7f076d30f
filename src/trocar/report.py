"""Claims (a published number beside ours) and the reports made of them: table, JSON, one HTML file."""

from __future__ import annotations

import base64
import html
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from rich.table import Table
from rich.text import Text

from trocar.errors import TrocarError
from trocar.files import write_whole
from trocar.palette import ACCENT, FONT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Relation = Literal["equal", "at_most", "at_least"]

RELATIONS: tuple[str, ...] = get_args(Relation)
REASONS = ("not run: ", "not reproducible: ")
_VERDICTS = {True: ("holds", "green"), False: ("FAILS", "bold red"), None: ("-", "yellow")}
_FIGURE_DPI = 150


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One published number beside ours.

    Attributes:
        id: unique name, such as `ferro2022/tip_error`.
        published: the number of the source, in `unit`; None where the source gives none.
        ours: the number obtained here, in `unit`; None if it was not obtained. NaN and infinity never hold.
        unit: unit of published, ours and tolerance; empty for a pure number.
        relation: what ours has to be to published: equal, at_most or at_least.
        tolerance: allowed excess over the relation, >= 0, in `unit`.
        source: where the published number stands (publication, table, page).
        note: remark; with a number missing, the reason: "not run: ..." or "not reproducible: ...".
    """

    id: str
    published: float | None
    ours: float | None
    unit: str
    relation: Relation
    tolerance: float
    source: str
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("id", "unit", "source", "note"):
            if not isinstance(getattr(self, name), str):
                raise self._error(name, "a string")
        for name in ("id", "source"):
            if not getattr(self, name).strip():
                raise self._error(name, "a string that is not empty")
        if self.relation not in RELATIONS:
            raise self._error("relation", f"one of {', '.join(RELATIONS)}")
        self._take_number("tolerance", "a finite number >= 0")
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise self._error("tolerance", "a finite number >= 0")
        if self.published is not None:
            self._take_number("published", "a finite number or None")
            if not math.isfinite(self.published):
                raise self._error("published", "a finite number or None")
        if self.ours is not None:
            self._take_number("ours", "a number or None")
        self._check_reason()

    @property
    def holds(self) -> bool | None:
        """Whether ours stands in the relation to published; None if one of the two is missing."""
        if self.published is None or self.ours is None:
            return None
        if not math.isfinite(self.ours):
            return False
        if self.relation == "equal":
            return abs(self.ours - self.published) <= self.tolerance
        if self.relation == "at_most":
            return self.ours <= self.published + self.tolerance
        return self.ours >= self.published - self.tolerance

    def to_json(self) -> dict[str, Any]:
        """The claim as a dictionary for JSON, which has no NaN or infinity: those become null with a note."""
        ours, note = self.ours, self.note
        if ours is not None and not math.isfinite(ours):
            note = f"ours is {ours}; {note}" if note else f"ours is {ours}"
            ours = None
        return {
            "id": self.id,
            "published": self.published,
            "ours": ours,
            "unit": self.unit,
            "relation": self.relation,
            "tolerance": self.tolerance,
            "holds": self.holds,
            "source": self.source,
            "note": note,
        }

    def expected(self) -> str:
        """The published number with relation and tolerance, such as `= 1.2 ± 0.1` or `≤ 3 + 0.5`."""
        if self.published is None:
            return "-"
        sign, margin = {"equal": ("=", "±"), "at_most": ("≤", "+"), "at_least": ("≥", "-")}[self.relation]
        text = f"{sign} {_number(self.published)}"
        return f"{text} {margin} {_number(self.tolerance)}" if self.tolerance else text

    def _take_number(self, name: str, allowed: str) -> None:
        """Turn a number of any kind (numpy's included) into a float."""
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise self._error(name, allowed)
        object.__setattr__(self, name, float(value))

    def _check_reason(self) -> None:
        given = any(self.note.startswith(r) and self.note != r for r in REASONS)
        if self.published is None or self.ours is None:
            if not given:
                raise self._error("note", "'not run: ...' or 'not reproducible: ...' where a number is missing")
        elif given:
            raise self._error("note", "a remark: both numbers are there, so the claim is judged")

    def _error(self, name: str, allowed: str) -> TrocarError:
        return TrocarError(f"claim {self.id!r}: {name} is {getattr(self, name)!r}; allowed: {allowed}")


class Report:
    """Claims with the text and the figures that explain them.

    Attributes:
        title: heading of the report.
        claims: the claims in order, with unique ids.
        figures: matplotlib figures with their captions.
        clips: films (.gif) with their captions; the HTML file holds copies.
        paragraphs: plain text shown above the claims.
        figures_first: whether the page opens with the figures, for reports that are looked at before they are read.
    """

    def __init__(
        self,
        title: str,
        claims: Iterable[Claim] = (),
        *,
        figures: Iterable[tuple[Figure, str]] = (),
        paragraphs: Iterable[str] = (),
        figures_first: bool = False,
    ) -> None:
        self.title = title
        self.figures_first = figures_first
        self.claims: list[Claim] = []
        self.figures: list[tuple[Figure, str]] = list(figures)
        self.clips: list[tuple[Path, str]] = []
        self.paragraphs: list[str] = list(paragraphs)
        for claim in claims:
            self.add_claim(claim)

    def add_claim(self, claim: Claim) -> None:
        """Append a claim; its id must be new to this report."""
        if any(claim.id == other.id for other in self.claims):
            raise TrocarError(f"claim {claim.id!r} is already in the report {self.title!r}; ids must be unique")
        self.claims.append(claim)

    def add_figure(self, figure: Figure, caption: str) -> None:
        """Append a matplotlib figure with its caption."""
        self.figures.append((figure, caption))

    def add_clip(self, path: str | Path, caption: str) -> None:
        """Append a film, a .gif that has been written, with its caption."""
        path = Path(path)
        if path.suffix != ".gif" or not path.is_file():
            raise TrocarError(f"a clip of a report is a .gif that is there, got {str(path)!r}")
        self.clips.append((path, caption))

    @property
    def ok(self) -> bool:
        """Whether no claim fails; claims that were not run do not count against it."""
        return all(claim.holds is not False for claim in self.claims)

    def summary(self) -> str:
        """`3 hold, 1 fail, 2 not run`"""
        verdicts = [claim.holds for claim in self.claims]
        return f"{verdicts.count(True)} hold, {verdicts.count(False)} fail, {verdicts.count(None)} not run"

    def table(self) -> Table:
        """The claims as a rich table for the terminal, published and ours side by side.

        Notes are numbered and stand below: in a column they would leave no width for the numbers.
        """
        notes = list(dict.fromkeys(claim.note for claim in self.claims if claim.note))
        footer = [self.summary(), *(f"{number}: {note}" for number, note in enumerate(notes, start=1))]
        table = Table(
            title=Text(self.title, style="bold"),
            title_justify="left",
            # Text, not str, here and below: square brackets in a note are no markup.
            caption=Text("\n".join(footer)),
            caption_justify="left",
        )
        table.add_column("claim", overflow="fold")
        table.add_column("published", justify="right")
        table.add_column("ours", justify="right")
        table.add_column("unit")
        table.add_column("", no_wrap=True)
        table.add_column("note", justify="right", style="dim")
        for claim in self.claims:
            word, style = _VERDICTS[claim.holds]
            table.add_row(
                Text(claim.id),
                Text(claim.expected()),
                Text(_number(claim.ours), style=style),
                Text(claim.unit),
                Text(word, style=style),
                str(notes.index(claim.note) + 1) if claim.note else "",
            )
        return table

    def to_json(self) -> dict[str, Any]:
        """`{"claims": [...]}`, each claim as `Claim.to_json` gives it."""
        return {"claims": [claim.to_json() for claim in self.claims]}

    def write_json(self, path: str | Path) -> Path:
        """Write `to_json()` to `path`, whole or not at all."""
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
        return write_whole(path, text + "\n")

    def write_html(self, path: str | Path) -> Path:
        """Write the report as one HTML file that needs no other, whole or not at all."""
        return write_whole(path, self._html())

    def _html(self) -> str:
        title = html.escape(self.title)
        parts = [
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{_CSS}</style>\n</head>\n<body>\n<main>",
            f'<h1>{title}</h1>\n<p class="summary">{self.summary()}</p>',
        ]
        parts += [f"<p>{html.escape(paragraph)}</p>" for paragraph in self.paragraphs]
        figures = [_html_image(path.read_bytes(), "gif", caption) for path, caption in self.clips]
        figures += [_html_figure(figure, caption) for figure, caption in self.figures]
        parts += figures + self._html_table() if self.figures_first else self._html_table() + figures
        parts.append("</main>\n</body>\n</html>\n")
        return "\n".join(parts)

    def _html_table(self) -> list[str]:
        if not self.claims:
            return []
        headings = ("claim", "published", "ours", "unit", "", "note and source")
        head = "<table>\n<thead><tr>" + "".join(f"<th>{h}</th>" for h in headings) + "</tr></thead>"
        return [head, "<tbody>", *(_html_row(claim) for claim in self.claims), "</tbody>\n</table>"]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _html_row(claim: Claim) -> str:
    kind = {True: "holds", False: "fails", None: "null"}[claim.holds]
    note = f"{html.escape(claim.note)}<br>" if claim.note else ""
    return (
        f'<tr class="{kind}"><td class="id">{html.escape(claim.id)}</td>'
        f'<td class="number" data-label="published">{html.escape(claim.expected())}</td>'
        f'<td class="number ours" data-label="ours">{_number(claim.ours)}</td>'
        f'<td class="unit" data-label="unit">{html.escape(claim.unit)}</td>'
        f'<td class="verdict">{_VERDICTS[claim.holds][0]}</td>'
        f'<td class="note">{note}<cite>{html.escape(claim.source)}</cite></td></tr>'
    )


def _html_figure(figure: Figure, caption: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_FIGURE_DPI)
    return _html_image(buffer.getvalue(), "png", caption)


def _html_image(data: bytes, kind: str, caption: str) -> str:
    image, text = base64.b64encode(data).decode("ascii"), html.escape(caption)
    return f'<figure><img alt="{text}" src="data:image/{kind};base64,{image}"><figcaption>{text}</figcaption></figure>'


# On a narrow screen each row of the table becomes a block with its own labels.
_CSS = (
    f":root {{ --accent: {ACCENT}; --font: {FONT}; }}"
    + """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #646b73; --line: #dfe2e6; --paper: #fdfdfc;
  --good: #1a7f4b; --bad: #b3261e; --open: #8a6500; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6ea; --soft: #9aa3ad; --line: #363c44;
  --paper: #16191d; --good: #5cc98d; --bad: #ff8a80; --open: #e0b64c; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 var(--font); border-top: 4px solid var(--accent); }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; font-weight: 600; margin: 0; }
p { max-width: 42rem; }
.summary { color: var(--soft); margin-top: .35rem; }
table { border-collapse: collapse; width: 100%; margin: 2rem 0; font-size: .92rem; }
th { text-align: left; font-weight: 500; color: var(--soft); }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.id { overflow-wrap: anywhere; min-width: 13rem; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.holds .verdict { color: var(--good); }
.fails .verdict, .fails .ours { color: var(--bad); font-weight: 600; }
.null .verdict { color: var(--open); }
.verdict, .unit { white-space: nowrap; }
.note, figcaption { color: var(--soft); }
cite { font-size: .92em; }
figure { margin: 2.5rem 0 0; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
figcaption { margin-top: .5rem; font-size: .92rem; max-width: 42rem; }
@media (max-width: 40rem) {
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { padding: .75rem 0; border-bottom: 1px solid var(--line); }
  td { border: 0; padding: .1rem 0; }
  td:empty { display: none; }
  .id { font-weight: 600; }
  td[data-label]::before { content: attr(data-label); color: var(--soft);
    display: inline-block; width: 6rem; }
}
"""
)
