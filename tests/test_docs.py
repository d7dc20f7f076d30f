"""Every Python block of the README and of docs/ runs, in order, in one namespace per page.

A block is left out if the line directly before it is the comment <!-- not run -->.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python[^\n]*\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(line number, code) of every block to run."""
    found = []
    for match in BLOCK.finditer(text):
        before = text[: match.start()]
        if not before.rstrip("\n").endswith("<!-- not run -->"):
            found.append((before.count("\n") + 1, match["code"]))
    return found


PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))) if blocks(page.read_text("utf-8"))
]


def test_blocks_are_found_with_their_line_and_marked_ones_left_out():
    run, skipped, other = "```python\nx = 1\n```\n", "<!-- not run -->\n```python\nboom()\n```\n", "```sh\nls\n```\n"
    assert blocks("a\n" + run + skipped + other + run) == [(2, "x = 1\n"), (12, "x = 1\n")]


def test_the_conventions_page_has_blocks_to_run():
    assert blocks((ROOT / "docs" / "conventions.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, code in blocks(page.read_text(encoding="utf-8")):
        # blank lines in front: a traceback shows the line of the page
        exec(compile("\n" * line + code, str(page), "exec"), namespace)
