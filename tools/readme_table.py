"""Writes the table of results in README.md from the claims of a reproduction.

    trocar reproduce ferro2022 --json claims.json
    python tools/readme_table.py claims.json

`make readme` does both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- results: written by tools/readme_table.py -->", "<!-- end of results -->"
COARSE = "control 10 ms, physics 5 ms"  # the paper's own steps


class Row(NamedTuple):
    """A row of the table: what it is, its claims, and the factor that brings them to the unit named."""

    text: str
    claims: tuple[str, ...]
    factor: float = 1.0


def joints(text: str, name: str) -> Row:
    """One claim for each of the first three joints [N m, N m, N]."""
    return Row(text, tuple(f"{name}/J{j}" for j in (1, 2, 3)))


def axes(text: str, name: str, factor: float) -> Row:
    """One claim for each axis."""
    return Row(text, tuple(f"{name} {axis}" for axis in "xyz"), factor)


LINEAR, DISCREPANCY = "distance from the linear error", "J3 discrepancy, {} transmission"
ROWS = (
    joints("line, engine against model [N m, N m, N]", f"fig 4 rectilinear, {COARSE}, with counterweight"),
    joints("the same without counterweight in the engine", f"fig 4 rectilinear, {COARSE}, no counterweight"),
    joints("spiral, engine against model", f"fig 5 spiral of the code, {COARSE}, with counterweight"),
    joints("the same without counterweight in the engine", f"fig 5 spiral of the code, {COARSE}, no counterweight"),
    joints("spiral, compared by the paper's recipe", "fig 5 spiral of the code, their recipe"),
    joints("engine against the **real robot**, friction off", "fig 6 excitation, with counterweight, friction off"),
    joints("engine against the **real robot**, friction on", "fig 6 excitation, with counterweight, friction on"),
    axes("line, tip under kinematic control, jump included [mm]", "fig 2 rectilinear/position", 1e3),
    axes("spiral, tip under kinematic control, jump included [mm]", "fig 3 spiral of the code/position", 1e3),
    Row("spiral, settled, at 1 ms [mm]", ("fig 3 spiral of the code, 1 ms/position, settled",), 1e3),
    Row(
        "torque control, tip from the linear error: line, spiral [mm]",
        (f"fig 7 rectilinear/{LINEAR}", f"fig 8 spiral of the code/{LINEAR}"),
        1e3,
    ),
    Row("J3 in the transient, rigid counterweight drive [N]", (f"fig 7 rectilinear/{DISCREPANCY.format('rigid')}",)),
    Row(
        "J3 in the transient, counterweight mirrored by a PID [N]",
        ("fig 7 rectilinear/J3 discrepancy, mirrored counterweight",),
    ),
    Row("whole pose by torque, spiral: position [mm]", ("pose by torque, spiral of the code/position",), 1e3),
    Row("whole pose by torque, spiral: orientation [mrad]", ("pose by torque, spiral of the code/orientation",), 1e3),
)


def number(value: float) -> str:
    """Three digits, or one of what is next to nothing."""
    if 0 < abs(value) < 1e-3:
        digit, _, exponent = f"{value:.0e}".partition("e")
        return f"{digit}e{int(exponent)}"
    return f"{value:.3g}"


def cells(row: Row, claims: dict[str, dict[str, Any]]) -> tuple[str, str, str, str, str]:
    """Text, published, ours, what ours has to be to it, and whether it is."""
    found = [claims[f"ferro2022/{name}"] for name in row.claims]
    published = [c["published"] * row.factor for c in found]
    ours = ["not run" if c["ours"] is None else number(c["ours"] * row.factor) for c in found]
    stated = [not c["note"].endswith("the bound is ours") for c in found]  # a number of the paper, not a bound of ours
    asked, failing = [], []
    for c, value, printed, name in zip(found, published, stated, row.claims, strict=True):
        word = {"equal": "=", "at_most": "≤", "at_least": "≥"}[c["relation"]]
        asked.append(word if printed else f"{word} {number(value + c['tolerance'] * row.factor)}")
        if c["holds"] is False:
            failing.append(name.rpartition("/")[2].rpartition(" ")[2])
    paper = ", ".join(number(value) if printed else "-" for value, printed in zip(published, stated, strict=True))
    verdict = f"**{', '.join(failing)} fails**" if failing else "holds"
    if any(c["holds"] is None for c in found):
        verdict = "not run"
    return row.text, "-" if set(paper) <= set("-, ") else paper, ", ".join(ours), _short(asked), verdict


def _short(words: list[str]) -> str:
    return words[0] if len(set(words)) == 1 else ", ".join(words)


def table(claims: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    by_name = {claim["id"]: claim for claim in claims}
    lines = ["| RMS error, t ≥ 0.5 s | paper | trocar | relation | |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cells(row, by_name))} |" for row in ROWS]
    return "\n".join(lines)


def block(readme: str) -> str:
    """The text between the two marks."""
    return readme.partition(BEGIN)[2].partition(END)[0].strip()


def rewritten(readme: str, content: str) -> str:
    """The page with another block."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{README} has no block between {BEGIN!r} and {END!r}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["claims"]
    README.write_text(rewritten(README.read_text(encoding="utf-8"), table(found)), encoding="utf-8")
