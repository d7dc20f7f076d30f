"""Every Python block of the README and of docs/ runs, in order, in one namespace per page.

A block is skipped if the line directly before it is the comment <!-- not run -->.
"""

import inspect
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


def test_blocks_are_found_with_their_line_and_marked_ones_are_skipped():
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


def targets(text):
    """Files that the links and pictures of a page point at, outside code."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [target.split("#")[0] for target in found if "://" not in target and not target.startswith(("#", "mailto:"))]


@pytest.mark.parametrize(
    "page",
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "extending").glob("*.md")),
        *sorted((ROOT / "packages").glob("*/README.md")),
    ],
    ids=lambda p: f"{p.parent.name}/{p.name}",
)
def test_internal_links_point_at_existing_files(page):
    missing = [t for t in targets(page.read_text("utf-8")) if not t.startswith("generated/")]
    assert [t for t in missing if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda p: p.name)
def test_a_page_opens_with_what_the_reader_can_do(page):
    if page.name in ("changelog.md", "index.md"):  # included; says it in a table
        return
    first = page.read_text("utf-8").split("\n", 1)[1].strip().split("\n\n")[0]
    assert re.search(r"\byour?\b", first, re.IGNORECASE), "the first paragraph says what you can do with the page"


def test_every_page_is_in_the_contents_of_the_site():
    trees = re.findall(r"```\{toctree\}\n(.*?)```", (ROOT / "docs" / "index.md").read_text("utf-8"), re.DOTALL)
    listed = {line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")}
    folder = ROOT / "docs"
    tops = (*folder.glob("*.md"), *(page for page in folder.glob("*/index.md") if page.parent.name != "generated"))
    pages = {page.relative_to(folder).with_suffix("").as_posix() for page in tops} - {"index"}
    assert {name for name in listed if not name.startswith("generated/")} == pages


def test_the_site_has_a_page_for_every_package_and_example():
    from tools import docs_pages

    rooms = {module.__name__ for module in docs_pages.packages()}
    assert {"trocar", "trocar.mechanics", "trocar.simulation", "trocar.robot", "trocar.batch"} <= rooms
    page = docs_pages.api_page(next(m for m in docs_pages.packages() if m.__name__ == "trocar.simulation"))
    assert ".. autoclass:: trocar.simulation.Simulator\n" in page
    # Sphinx warns of a class that has two descriptions
    assert "autoclass:: trocar.simulation.ArmOptions" not in page
    assert "[`ArmOptions`](trocar.mechanics.md)" in page
    examples = {path.stem for path in (ROOT / "examples").glob("[0-9]*.py")}
    assert set(docs_pages.gallery(run=False)) == {*examples, "index"}


def test_every_card_of_the_gallery_has_a_picture():
    from tools import docs_pages

    index = docs_pages.gallery(run=False)["index"]
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)\n:::", index)
    assert len(pictures) == len(list((ROOT / "examples").glob("[0-9]*.py")))
    for picture in pictures:
        assert (docs_pages.PAGES / "gallery" / picture).resolve().is_file(), picture


def test_the_changelog_which_the_site_includes_has_no_relative_links():
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert [link for link in links if not link.startswith("https://")] == []


def test_every_public_name_has_a_docstring():
    from tools.docs_pages import packages

    def named(module):
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if inspect.isfunction(found) or inspect.isclass(found):
                yield f"{module.__name__}.{name}", found
            if inspect.isclass(found) and found.__module__.startswith("trocar"):
                methods = [(k, v) for k, v in vars(found).items() if not k.startswith("_") and inspect.isfunction(v)]
                yield from ((f"{module.__name__}.{name}.{k}", getattr(found, k)) for k, v in methods)

    names = dict(pair for module in packages() for pair in named(module))
    assert len(names) > 500
    assert [name for name, found in names.items() if not inspect.getdoc(found)] == []


def test_every_limit_of_the_security_page_is_a_promise_with_a_test():
    """A limit is a row of a table whose first column is `limit`; its promise begins with the kind of its clients."""
    clients = {"Messages from a browser": "Page", "Clients of CoppeliaSim": "CoppeliaSim"}
    clients |= {"Packets of the controller boards": "Controller boards"}
    page, _, tests = (ROOT / "docs" / "security.md").read_text("utf-8").partition("\n## Tests\n")
    limits = []
    for section in re.split(r"^##+ ", page, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        client = clients.get(heading, heading.removeprefix("Messages from "))
        for table in re.findall(r"^\| limit \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, flags=re.MULTILINE):
            limits += [f"{client}: {row.split(' | ')[0].removeprefix('| ')}" for row in table.splitlines()]
    promises = re.findall(r"^\| (.*) \| `[\w/]+\.py::test_\w+` \|$", tests, flags=re.MULTILINE)
    assert len(limits) > 35
    assert len(promises) == len(re.findall(r"^\| ", tests, flags=re.MULTILINE)) - 1  # all rows but the heading
    assert set(limits) - set(promises) == {"Controller boards: requests that arrive faster than they are executed"}


def test_the_tests_that_the_security_page_names_exist():
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", (ROOT / "docs" / "security.md").read_text("utf-8"))
    assert len(named) > 40
    folders = (ROOT / "tests", *(ROOT / "packages").glob("*/tests"))
    texts = {
        path.relative_to(folder).as_posix(): path.read_text() for folder in folders for path in folder.rglob("*.py")
    }
    assert [f"{file}::{test}" for file, test in named if f"def {test}(" not in texts.get(file, "")] == []


def test_every_path_of_the_guide_for_contributors_exists():
    """A path in backticks is relative to the repository, to a package, or to the room named before it."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`([\w./-]+(?:/[\w./-]+|\.(?:py|toml|json|md)))`", text))
    folders = [ROOT, *(ROOT / "packages").glob("*/src/*"), *(ROOT / "packages" / "trocar" / "src" / "trocar").glob("*")]
    assert len(named) > 50
    examples = {"claims.toml", "utils.py"}  # of a publication; of no one
    assert [path for path in sorted(named - examples) if not any((folder / path).exists() for folder in folders)] == []


def test_the_training_in_two_minutes_learns(tmp_path, monkeypatch, capsys):
    """With a quarter of its worlds and a fifth of its generations the return rises already."""
    from trocar_learning.envs import make_task
    from trocar_learning.envs.policies import load_policy

    monkeypatch.chdir(tmp_path)
    code = BLOCK.search((ROOT / "docs" / "learning.md").read_text("utf-8"))["code"]
    short = code.replace("WORLDS, GENERATIONS, SPREAD = 64, 15,", "WORLDS, GENERATIONS, SPREAD = 16, 4,")
    assert short != code
    exec(compile(short, "learning.md", "exec"), {"__name__": "__main__"})
    returns = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert len(returns) == 4
    assert returns[-1] > returns[0] + 40
    env = make_task("Reach")
    assert load_policy(tmp_path / "learned_reach.npz")(env)(env.reset(seed=0)[0])[:3].any()
