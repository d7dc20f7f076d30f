"""Test folders that a change can reach: `python -m tools.affected [REVISION]`, for `make quick`.

A change of a module reaches every module that imports it, directly or not; a change of anything else than modules and
tests reaches all. Prints the folders of the reached rooms, one per line. REVISION: changes since then, uncommitted ones
included. Default: HEAD.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PACKAGES = {"trocar": "trocar", "trocar-learning": "trocar_learning", "trocar-reproductions": "trocar_reproductions"}
COMMAND_LINE = ("cli", "__main__", "bench")  # modules that the tests of commands check
IGNORED = ("docs/", "examples/", "exercises/", "models/", ".github/", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")


def changed(revision: str) -> list[str]:
    """Files that differ from a revision, new ones included."""
    commands = (["git", "diff", "--name-only", revision], ["git", "ls-files", "--others", "--exclude-standard"])
    lines = [
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout for command in commands
    ]
    return sorted(set("".join(lines).split("\n")) - {""})


def module_of(path: str) -> str | None:
    """Name of the module of a source file; a data file belongs to its package."""
    parts = Path(path).parts
    if len(parts) < 5 or parts[0] != "packages" or parts[2] != "src":
        return None
    inner = [*parts[3:-1], Path(path).stem] if path.endswith(".py") else list(parts[3:-1])
    return ".".join(part for part in inner if part != "__init__")


def room_folder(module: str) -> str:
    """Folder of the tests of a module's room."""
    package, *rooms = module.split(".")
    folder = next(name for name, inner in PACKAGES.items() if inner == package)
    tests = f"packages/{folder}/tests"
    room = "commands" if rooms and rooms[0] in COMMAND_LINE else "".join(rooms[:1])
    return f"{tests}/{room}" if room and (ROOT / tests / room).is_dir() else tests


def folders(paths: Iterable[str]) -> list[str]:
    """Test folders that changed files reach."""
    reached: set[str] = set()
    graph = None
    for path in paths:
        if path.startswith(IGNORED):
            continue
        module = module_of(path)
        if module is None:
            part = path.rpartition("/")[0] if "/tests/" in path and path.startswith("packages/") else ""
            if not part and not path.startswith("tools/"):
                return ["packages", "tests"]
            reached |= {part} if part else {"tests"}
            continue
        graph = graph or grimp.build_graph(*PACKAGES.values())
        while module not in graph.modules and "." in module:
            module = module.rpartition(".")[0]
        above = {module, *graph.find_downstream_modules(module, as_package=path.endswith("__init__.py"))}
        reached |= {room_folder(name) for name in above}
    whole = {folder for folder in reached if folder.endswith("/tests")}
    return sorted(folder for folder in reached if folder in whole or folder.rpartition("/")[0] not in whole)


def main() -> None:
    revision = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    print("\n".join(folders(changed(revision))))


if __name__ == "__main__":
    main()
