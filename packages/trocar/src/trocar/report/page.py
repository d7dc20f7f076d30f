"""The page of a report: one self-contained HTML file. Failed claims come first, then text, figures and claims."""

from __future__ import annotations

import base64
import io
import re
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from trocar.palette import ACCENT, FONT
from trocar.report.claim import Claim, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trocar.report.report import Report

_FIGURE_DPI = 200
LONG = 6  # number of figures, or tens of claims, from which a report gets a table of contents
_LINK = 90  # most characters of a caption in the table of contents
_SCREEN_DPI = 95  # a 10-inch-wide figure fills the page at this resolution


def html(report: Report) -> str:
    """The complete HTML page."""
    clips, figures = _pictures(report)
    title, style = escape(report.title), Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    parts = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>:root {{ --accent: {ACCENT}; --font: {FONT}; }}\n{style}</style>\n</head>\n<body>\n<main>",
        f"<h1>{title}</h1>",
        *([f'<p class="summary">{report.summary()}</p>'] if report.claims else []),
        *(clips + _next_steps(report) if report.next_steps else []),
        *_contents(report),
        *_failing(report.claims),
        *_evidence(report),
    ]
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in report.paragraphs]
    parts += [_plain_table(*table) for table in report.tables]
    parts += [] if report.next_steps else clips
    return "\n".join([*parts, *figures, *_table(report.claims), "</main>\n</body>\n</html>\n"])


def _pictures(report: Report) -> tuple[list[str], list[str]]:
    """The clips and the figures of a report, numbered together."""
    images = [_image(path.read_bytes(), "gif", caption) for path, caption in report.clips]
    images += [_figure(figure, caption) for figure, caption in report.figures]
    numbered = [f'<div id="figure-{k}">{text}</div>' for k, text in enumerate(images, start=1)]
    return numbered[: len(report.clips)], numbered[len(report.clips) :]


def _next_steps(report: Report) -> list[str]:
    items = [f"<li><code>{escape(command)}</code> {escape(text)}</li>" for command, text in report.next_steps]
    return ['<section class="next"><h2>What next</h2>\n<ul>', *items, "</ul></section>"]


def _plain_table(caption: str, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    lines = []
    for first, *others in rows:
        cells = "".join(f'<td class="number">{escape(cell)}</td>' for cell in others)
        lines.append(f'<tr><td class="id">{escape(first)}</td>{cells}</tr>')
    start = f"<table><caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>"
    return "\n".join([start, "<tbody>" + "\n".join(lines) + "</tbody>", "</table>"])


def _contents(report: Report) -> list[str]:
    """Table of contents of a long report: failed claims, every figure by the start of its caption, all claims."""
    captions = [caption for _, caption in (*report.clips, *report.figures)]
    if len(captions) + len(report.claims) / 10 < LONG:
        return []
    links = [("failed", "Failed claims")] if report.failures() else []
    for k, caption in enumerate(captions, start=1):
        start = caption.partition(". ")[0].rstrip(".")
        links.append((f"figure-{k}", start if len(start) <= _LINK else start[: _LINK - 1].rstrip() + "…"))
    links += [("claims", f"All {len(report.claims)} claims")] if report.claims else []
    items = [f'<li><a href="#{target}">{escape(text)}</a></li>' for target, text in links]
    return ["<nav><ul>", *items, "</ul></nav>"]


def _failing(claims: list[Claim]) -> list[str]:
    """The failed claims with their reasons, listed at the top so that they are easy to find."""
    items = []
    for claim in claims:
        if claim.holds is False:
            note = f" <span>{_with_code(claim.note)}</span>" if claim.note else ""
            items.append(f"<li><b>{escape(claim.id)}</b>: {escape(claim.comparison())}.{note}</li>")
    head = '<section class="failing" id="failed"><h2>Failed claims</h2>\n<ul>'
    return [head, *items, "</ul></section>"] if items else []


def _evidence(report: Report) -> list[str]:
    """Counts by kind of evidence: meeting our own bound counts less than matching a printed number."""
    if not report.claims:
        return []
    head = "".join(f"<th>{heading}</th>" for heading in ("evidence", "count", "meaning"))
    rows = [
        f"<tr><td>{kind}</td><td class=number>{count}</td><td>{meaning}</td></tr>"
        for kind, count, meaning in report.evidence()
    ]
    return [f'<table class="evidence">\n<thead><tr>{head}</tr></thead>\n<tbody>', *rows, "</tbody>\n</table>"]


def _table(claims: list[Claim]) -> list[str]:
    if not claims:
        return []
    headings = ("claim", "published", "our bound", "ours", "unit", "", "note and source")
    head = '<table id="claims">\n<thead><tr>' + "".join(f"<th>{heading}</th>" for heading in headings) + "</tr></thead>"
    rows = []
    # consecutive claims with the same note share one cell
    for _, together in groupby(claims, key=lambda claim: (claim.note, claim.source)):
        first, *others = together
        rows += [_row(first, 1 + len(others)), *(_row(claim) for claim in others)]
    return [head, "<tbody>", *rows, "</tbody>\n</table>"]


def _with_code(note: str) -> str:
    """The HTML of a note; commands between backquotes are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(note))


def _row(claim: Claim, span: int = 0) -> str:
    """One table row; its note cell spans `span` claims."""
    kind = {True: "passed", False: "failed", None: "skipped"}[claim.holds]
    text = f"{_with_code(claim.note)}<br>" if claim.note else ""
    note = f'<td class="note" rowspan="{span}">{text}<cite>{escape(claim.source)}</cite></td>' if span else ""
    published, bound = ("", escape(claim.expected()))[:: 1 if claim.has_own_bound else -1]
    return (
        f'<tr class="{kind}"><td class="id">{escape(claim.id)}</td>'
        f"{_required('published', published)}{_required('our bound', bound)}"
        f'<td class="number ours" data-label="ours">{number(claim.ours)}</td>'
        f'<td class="unit" data-label="unit">{escape(claim.unit)}</td>'
        f'<td class="verdict">{claim.verdict}</td>{note}</tr>'
    )


def _required(label: str, text: str) -> str:
    return f'<td class="number" data-label="{label}">{text}</td>' if text else "<td></td>"


def _figure(figure: Figure, caption: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_FIGURE_DPI)
    # scaled by its own width, so that text has the same size in all figures
    return _image(buffer.getvalue(), "png", caption, round(figure.get_figwidth() * _SCREEN_DPI))


def _image(data: bytes, kind: str, caption: str, width: int | None = None) -> str:
    image, text = base64.b64encode(data).decode("ascii"), escape(caption)
    wide = "" if width is None else f' width="{width}"'
    source = f'src="data:image/{kind};base64,{image}"'
    return f'<figure><img alt="{text}"{wide} {source}><figcaption>{text}</figcaption></figure>'
