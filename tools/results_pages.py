"""Write the results in docs/reproductions.md, and the record of all verdicts, from one reproduction.

    trocar fetch
    trocar reproduce --json claims.json
    python -m tools.results_pages claims.json

`make results` does all three. The record, tools/claims.csv, has one line per claim: id, kind, printed number, verdict
and the missing file of a claim that was not run. A test compares the page with the record, and the record with a
reproduction.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from trocar.files import write_whole
from trocar.report import CHECK_KINDS, NOT_REPRODUCED, NUMBER_KINDS, OWN_BOUNDS, counted
from trocar_reproductions.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[1]
PAGE, RECORD = ROOT / "docs" / "reproductions.md", ROOT / "tools" / "claims.csv"
README = ROOT / "README.md"
RESULTS, FERRO = "results", "Ferro et al."  # names of the two blocks that this program writes
COARSE = "control 10 ms, physics 5 ms"  # the paper's own steps
MISSING = re.compile(r"not run: (\S+) is not in the data")
AGREEMENT = re.compile(r"RMS of the difference (\S+), mean (-?[\d.e-]*\d)")


class Row(NamedTuple):
    """A row of the table: its label, its claims, and the factor that converts them to the unit in the label."""

    text: str
    claims: tuple[str, ...]
    factor: float = 1.0


def joints(text: str, name: str) -> Row:
    """One claim for each of the first three joints [N m, N m, N]."""
    return Row(text, tuple(f"{name}/J{j}" for j in (1, 2, 3)))


def axes(text: str, name: str, factor: float) -> Row:
    """One claim for each axis."""
    return Row(text, tuple(f"{name} {axis}" for axis in "xyz"), factor)


def correlations(text: str, session: int) -> Row:
    """The two engines under the same commands, one claim for each of the first three joints."""
    return Row(text, tuple(f"replay of log {session}/J{j} correlation" for j in (1, 2, 3)))


LINEAR, TORQUE = "distance from the linear error", "program against log 8 (rectilinear)"
SCENE = "scene's masses and noise"
SETTLED, JUMP = "t ≥ 0.5 s", "10 s, jump included"
ROWS = (
    axes(f"line, tip position [mm], {JUMP}", "fig 2 rectilinear/position", 1e3),
    axes(f"line, tip orientation [mrad], {JUMP}", "fig 2 rectilinear/orientation", 1e3),
    axes(f"spiral, tip position [mm], {JUMP}", "fig 3 spiral of the code/position", 1e3),
    axes(f"spiral, tip orientation [mrad], {JUMP}", "fig 3 spiral of the code/orientation", 1e3),
    joints(f"line, engine against model [N m, N m, N], {SETTLED}", f"fig 4 rectilinear, {COARSE}, with counterweight"),
    joints("the same without counterweight in the engine", f"fig 4 rectilinear, {COARSE}, no counterweight"),
    joints(f"spiral, engine against model, {SETTLED}", f"fig 5 spiral of the code, {COARSE}, with counterweight"),
    joints("the same without counterweight in the engine", f"fig 5 spiral of the code, {COARSE}, no counterweight"),
    joints(
        f"line, masses of their scene and noise of their solver, {SETTLED}",
        f"fig 4 rectilinear, {SCENE}, with counterweight",
    ),
    joints("the same without counterweight in the engine", f"fig 4 rectilinear, {SCENE}, no counterweight"),
    joints(
        f"spiral, masses of their scene and noise of their solver, {SETTLED}",
        f"fig 5 spiral, {SCENE}, with counterweight",
    ),
    joints("the same without counterweight in the engine", f"fig 5 spiral, {SCENE}, no counterweight"),
    joints(
        f"excitation, masses of their scene, against the real robot, {SETTLED}",
        "fig 6 excitation, scene's masses, with counterweight",
    ),
    joints(
        f"engine against the **real robot**, friction off, {SETTLED}",
        "fig 6 excitation, with counterweight, friction off",
    ),
    joints("the same, friction on", "fig 6 excitation, with counterweight, friction on"),
    correlations(f"their spiral's commands in our engine: correlation with their efforts, {SETTLED}", 4),
    correlations("the same, excitation trajectory", 6),
    Row(
        "their torque control in our engine, J3: peak of command minus model [N]",
        (f"{TORQUE}/J3 command minus model, peak",),
    ),
    Row("the same: engine minus model before the first command [N]", (f"{TORQUE}/J3 engine minus model, first row",)),
    Row(
        "the same: correlation of command minus model, first 0.2 s",
        (f"{TORQUE}/J3 command minus model, correlation",),
    ),
    Row(f"spiral, tip at steps of 1 ms [mm], {SETTLED}", ("fig 3 spiral of the code, 1 ms/position, settled",), 1e3),
    Row(
        "torque control, largest distance from the linear error: line, spiral [mm]",
        (f"fig 7 rectilinear/{LINEAR}", f"fig 8 spiral of the code/{LINEAR}"),
        1e3,
    ),
    Row(
        f"whole pose by torque, spiral: position [mm], {SETTLED}", ("pose by torque, spiral of the code/position",), 1e3
    ),
    Row("the same, orientation [mrad]", ("pose by torque, spiral of the code/orientation",), 1e3),
)


def number(value: float) -> str:
    """Three digits; one digit below 1e-3."""
    if 0 < abs(value) < 1e-3:
        digit, _, exponent = f"{value:.0e}".partition("e")
        return f"{digit}e{int(exponent)}"
    return f"{value:.3g}"


def cells(row: Row, claims: dict[str, dict[str, Any]]) -> tuple[str, str, str, str, str]:
    """Label, published value, our value, required relation and verdict."""
    listed = [claims[f"ferro2022/{name}"] for name in row.claims]
    paper, asked, failing = [], [], []
    for c, name in zip(listed, row.claims, strict=True):
        word = {"equal": "=", "at_most": "≤", "at_least": "≥"}[c["relation"]]
        correlation = c["kind"] == "signal" and c["published"] == 1.0
        own, known = c["kind"] in OWN_BOUNDS or correlation, c["published"] is not None
        paper.append(number(c["published"] * row.factor) if known and not own else "-")
        if c["kind"] in OWN_BOUNDS:
            asked.append(f"{word} {number((c['published'] + c['tolerance']) * row.factor)}")
        else:
            asked.append(f"{word} ± {number(c['tolerance'] * row.factor)}" if c["tolerance"] else word)
        if c["holds"] is False:
            failing.append(name.rpartition("/")[2].removesuffix(" correlation").rpartition(" ")[2])
    ours = ["not run" if c["ours"] is None else number(c["ours"] * row.factor) for c in listed]
    beside = [found.groups() for c in listed if (found := AGREEMENT.search(c["note"]))]
    if len(beside) == len(listed):
        rms, mean = (", ".join(number(float(x)) for x in column) for column in zip(*beside, strict=True))
        ours[-1] += f"; RMS {rms}; mean {mean}"
    verdict = (
        f"**{', '.join(failing)} failed**" if failing and len(listed) > 1 else "**failed**" if failing else "passed"
    )
    if any(c["holds"] is None for c in listed):
        verdict = "not run"
    return row.text, "-" if set(paper) == {"-"} else ", ".join(paper), ", ".join(ours), _short(asked), verdict


def _short(words: list[str]) -> str:
    return words[0] if len(set(words)) == 1 else ", ".join(words)


def table(claims: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    by_name = {claim["id"]: claim for claim in claims}
    heading = "| RMS error, unless stated otherwise | paper or log | trocar | required | result |"
    lines = [heading, "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cells(row, by_name))} |" for row in ROWS]
    return "\n".join(lines)


class Verdict(NamedTuple):
    """A line of the record."""

    id: str
    kind: str
    number: str
    verdict: str
    missing: str


def record(claims: Iterable[dict[str, Any]]) -> list[Verdict]:
    """The verdict on every claim of a reproduction."""
    words = {True: "passed", False: "failed"}
    return [
        Verdict(
            claim["id"],
            claim["kind"],
            claim["number"],
            words.get(claim["holds"], claim["note"].partition(":")[0]),
            found.group(1) if (found := MISSING.match(claim["note"])) else "",
        )
        for claim in claims
    ]


def record_text(verdicts: Iterable[Verdict]) -> str:
    """The record as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Verdict._fields, *verdicts])
    return text.getvalue()


def read_record() -> list[Verdict]:
    """The committed record."""
    with RECORD.open(encoding="utf-8", newline="") as file:
        return [Verdict(*row) for row in csv.reader(file)][1:]


JUDGED, SKIPPED = ("passed", "failed"), ("not reproducible", "not run")


def numbers(verdicts: Iterable[Verdict], paper: str = "") -> list[str]:
    """Kinds of the printed numbers of a publication, each number once; default: of all."""
    inside = [(v.number, v.kind, v.verdict) for v in verdicts if v.id.startswith(paper)]
    return [number.kind for number in counted(inside)]


def counts(verdicts: Iterable[Verdict]) -> str:
    """Tables in Markdown: printed numbers by strongest evidence, and other claims by kind, for every publication."""
    verdicts = list(verdicts)
    papers = (*(f"{paper}/" for paper in EXPERIMENTS), "")
    heading = f"{' | '.join(EXPERIMENTS)} | all | meaning |\n{'|---' * (len(EXPERIMENTS) + 3)}|"
    lines = [f"| printed numbers | {heading}"]
    for name, meaning in {**NUMBER_KINDS, **NOT_REPRODUCED}.items():
        cells = [str(numbers(verdicts, paper).count(name)) for paper in papers]
        lines.append(f"| {name} | {' | '.join(cells)} | {meaning} |")
    cells = [str(len(numbers(verdicts, paper))) for paper in papers]
    lines += [f"| all | {' | '.join(cells)} | |", "", f"| checks | {heading}"]
    for name, meaning in CHECK_KINDS.items():
        cells = []
        for paper in papers:
            judged = [v.verdict for v in verdicts if v.id.startswith(paper) and v.kind == name and v.verdict in JUDGED]
            cells.append(f"{judged.count('passed')} of {len(judged)}" if judged else "-")
        lines.append(f"| {name} | {' | '.join(cells)} | {meaning} |")
    return "\n".join(lines)


def sentence(verdicts: Iterable[Verdict]) -> str:
    """The result in one sentence, also for the README."""
    kinds = numbers(verdicts)
    judged = len(kinds) - sum(kinds.count(word) for word in SKIPPED)
    return (
        f"Six papers print {len(kinds)} numbers that `trocar reproduce` compares, {judged} of them with a result "
        f"here: {kinds.count('printed')} come out of our engine or equations alone, {kinds.count('noise')} with the "
        f"noise of the authors' solver added, {kinds.count('log')} only from the authors' own logs, "
        f"{kinds.count('fit')} are fitted, {kinds.count('one-sided')} are bounds, {kinds.count('missed')} are missed."
    )


def totals(verdicts: Iterable[Verdict]) -> str:
    """The totals, and the files without which the record was made."""
    verdicts = list(verdicts)
    number_of = {word: sum(v.verdict == word for v in verdicts) for word in (*JUDGED, *SKIPPED)}
    text = sentence(verdicts) + f" Several claims can be about one number: of {len(verdicts)} claims, "
    text += ", ".join(f"{count} {word}" for word, count in number_of.items()) + "."
    if missing := sorted({v.missing for v in verdicts if v.missing}):
        files = ", ".join(f"`{name}`" for name in missing)
        text += f" `trocar fetch` downloads every file; this table was written without {files}, "
        text += f"so {sum(bool(v.missing) for v in verdicts)} claims are not run here."
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def overview(verdicts: Iterable[Verdict]) -> str:
    """The block of all publications: counts and totals."""
    verdicts = list(verdicts)
    return f"{counts(verdicts)}\n\n{totals(verdicts)}"


def marks(name: str) -> tuple[str, str]:
    """The comments around a block."""
    return f"<!-- {name}: written by tools/results_pages.py -->", f"<!-- end of {name} -->"


def block(page: str, name: str) -> str:
    """The text of a block."""
    begin, end = marks(name)
    return page.partition(begin)[2].partition(end)[0].strip()


def rewritten(page: str, name: str, content: str, apart: str = "\n\n") -> str:
    """The page with a block replaced; apart: between the block and its comments."""
    before, begin, rest = page.partition(marks(name)[0])
    _, end, after = rest.partition(marks(name)[1])
    if not (begin and end):
        raise SystemExit(f"the page has no block between {marks(name)[0]!r} and {marks(name)[1]!r}")
    return f"{before}{begin}{apart}{content}{apart}{end}{after}"


def main(path: Path) -> None:
    """Write the record, both blocks of the page and that of the README from the claims of all publications."""
    claims = json.loads(path.read_text(encoding="utf-8"))["claims"]
    verdicts = record(claims)
    write_whole(RECORD, record_text(verdicts))
    page = PAGE.read_text(encoding="utf-8")
    write_whole(PAGE, rewritten(rewritten(page, RESULTS, overview(verdicts)), FERRO, table(claims)))
    readme = README.read_text(encoding="utf-8")
    lines = textwrap.fill(sentence(verdicts), 118, break_on_hyphens=False).replace("\n", "\n  ")
    write_whole(README, rewritten(readme, RESULTS, lines, apart="\n  "))  # within an item of a list


if __name__ == "__main__":
    main(Path(sys.argv[1]))
