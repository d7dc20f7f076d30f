"""Write the table of results in README.md from the claims of a reproduction.

    trocar reproduce ferro2022 --json claims.json
    python tools/readme_table.py claims.json

`make readme` does both.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- results: written by tools/readme_table.py -->", "<!-- end of results -->"
COARSE = "control 10 ms, physics 5 ms"  # the paper's own steps
KINDS = {
    "engine": "in which our engine or equations give a printed number or track a logged signal",
    "log": "printed numbers recomputed from the authors' logs",
    "one-sided": "in which our number stays below a printed one",
    "own": "bounds chosen by us",
}


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
        own, known = c["kind"] == "own", c["published"] is not None
        paper.append(number(c["published"] * row.factor) if known and not own else "-")
        if own:
            asked.append(f"{word} {number((c['published'] + c['tolerance']) * row.factor)}")
        else:
            asked.append(f"{word} ± {number(c['tolerance'] * row.factor)}" if c["tolerance"] else word)
        if c["holds"] is False:
            failing.append(name.rpartition("/")[2].removesuffix(" correlation").rpartition(" ")[2])
    ours = ["not run" if c["ours"] is None else number(c["ours"] * row.factor) for c in listed]
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
    lines = ["| RMS error, unless stated otherwise | paper | trocar | required | result |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cells(row, by_name))} |" for row in ROWS]
    return "\n".join(lines)


def totals(claims: list[dict[str, Any]]) -> str:
    """Number of claims of each kind, and how many of them hold."""
    judged = [claim for claim in claims if claim["holds"] is not None]
    kinds = {kind: [claim["holds"] for claim in judged if claim["kind"] == kind] for kind in KINDS}
    parts = [
        f"{sum(holds)} of {len(holds)} {text}"
        for text, holds in zip(KINDS.values(), kinds.values(), strict=True)
        if holds
    ]
    rest = [claim["note"].partition(":")[0] for claim in claims if claim["holds"] is None]
    unjudged = " and ".join(f"{rest.count(word)} {word}" for word in ("not reproducible", "not run"))
    text = f"Of all {len(claims)} claims, these passed: {'; '.join(parts)}. Skipped: {unjudged}."
    return textwrap.fill(text, 120)


def block(readme: str) -> str:
    """The text between the two marks."""
    return readme.partition(BEGIN)[2].partition(END)[0].strip()


def rewritten(readme: str, content: str) -> str:
    """The page with its block replaced."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{README} has no block between {BEGIN!r} and {END!r}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


if __name__ == "__main__":
    claims = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["claims"]
    README.write_text(
        rewritten(README.read_text(encoding="utf-8"), f"{table(claims)}\n\n{totals(claims)}"), encoding="utf-8"
    )
