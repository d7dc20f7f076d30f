"""Notebooks of the exercises: `python -m tools.exercises [--run]`.

exercises/source/NN_NAME.py is the source of one exercise, in cells that begin with `# %%`: text (`# %% [markdown]`),
code, the solution (`# %% solution`) and the check (`# %% check`). From it come exercises/NN_NAME.ipynb, in which the
reader writes the solution, and exercises/solutions/NN_NAME.ipynb. With --run every solution is executed too; one whose
check fails ends the program. `make docs` runs them and writes a page of each.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trocar.files import write_whole

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "exercises"
BLANK = "# your code here\n..."


class Cell(NamedTuple):
    """A cell: kind (markdown, code, solution, check) and text."""

    kind: str
    text: str


def sources() -> list[Path]:
    """Files of all exercises, in order."""
    return sorted((FOLDER / "source").glob("[0-9]*.py"))


def cells(text: str) -> Iterator[Cell]:
    """Cells of a source."""
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        kind, body = head.strip().strip("[]") or "code", body.strip("\n")
        if kind == "markdown":
            body = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines())
        yield Cell(kind, body)


def notebook(exercise: list[Cell], solved: bool) -> str:
    """Text of a notebook, format 4.5."""
    content: list[dict[str, Any]] = []
    for number, cell in enumerate(exercise):
        kind, text = cell
        if kind == "solution" and not solved:
            text = BLANK
        if kind == "check":
            text = f"# check: this cell must run without an error\n{text}"
        one: dict[str, Any] = {"cell_type": "markdown" if kind == "markdown" else "code", "id": f"cell-{number}"}
        one |= {"metadata": {}, "source": text.splitlines(keepends=True)}
        content.append(one if kind == "markdown" else one | {"execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": content, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def notebooks() -> dict[Path, str]:
    """Every notebook with its text."""
    written = {}
    for source in sources():
        exercise = list(cells(source.read_text(encoding="utf-8")))
        name = f"{source.stem}.ipynb"
        written[FOLDER / name] = notebook(exercise, solved=False)
        written[FOLDER / "solutions" / name] = notebook(exercise, solved=True)
    return written


def executed(source: Path) -> str:
    """Run an exercise with its solution; what it prints."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in cells(source.read_text(encoding="utf-8")):
            if cell.kind != "markdown":
                exec(compile(cell.text, str(source), "exec"), namespace)
    return printed.getvalue().strip()


def page(source: Path, printed: str) -> str:
    """Page of the site: the exercise, and its solution hidden below."""
    parts = []
    for kind, text in cells(source.read_text(encoding="utf-8")):
        if kind == "markdown":
            parts.append(text)
        elif kind == "solution":
            shown = f"```python\n{text}\n```\n\nOutput:\n\n```text\n{printed}\n```"
            parts.append(f"<details><summary>Solution</summary>\n\n{shown}\n\n</details>")
        else:
            parts.append(f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def pages(run: bool) -> dict[str, str]:
    """Pages of the site by name, with an index; without `run`, solutions have no output."""
    written = {}
    for number, source in enumerate(sources(), start=1):
        if run:
            print(f"[{number}/{len(sources())}] running {source.name}", flush=True)
        written[source.stem] = page(source, executed(source) if run else "")
    head = (FOLDER / "README.md").read_text(encoding="utf-8").rstrip()
    listed = "\n".join(written)
    return written | {"index": f"{head}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="execute the solutions too")
    run = parser.parse_args().run
    for path, text in notebooks().items():
        write_whole(path, text)
    print(f"{len(sources())} exercises in {FOLDER.name}, solutions in {FOLDER.name}/solutions")
    for source in sources() if run else ():
        print(f"{source.stem}: {executed(source)}", flush=True)


if __name__ == "__main__":
    main()
