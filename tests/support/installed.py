"""A command line as if only some distributions were installed: python -m tests.support.installed trocar[view] view PSM.

The first argument lists requirements, separated by commas outside of brackets; `-c CODE` runs Python code instead.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from packaging.requirements import Requirement


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(texts: Sequence[str]) -> set[str]:
    """Distributions that pip installs for these requirements, by name."""
    found, waiting = set[tuple[str, str]](), [Requirement(text) for text in texts]
    while waiting:
        needs = waiting.pop()
        for extra in ("", *needs.extras):
            if (plain(needs.name), extra) in found:
                continue
            found.add((plain(needs.name), extra))
            try:
                lines = importlib.metadata.requires(needs.name) or []
            except importlib.metadata.PackageNotFoundError:
                continue
            for other in map(Requirement, lines):
                if other.marker is None or other.marker.evaluate({"extra": extra}):
                    waiting.append(other)
    return {name for name, _ in found}


class InstalledModules:
    """The finders of this process without the modules of other distributions."""

    def __init__(self, allowed: set[str], finders: Sequence[Any]) -> None:
        self._allowed, self._finders = allowed, list(finders)
        places = importlib.metadata.packages_distributions()
        places |= {name.replace("-", "_"): [name] for name in ("trocar", "trocar-learning", "trocar-reproductions")}
        self._absent = {top for top, names in places.items() if not allowed & set(map(plain, names))}

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name.partition(".")[0] in self._absent:
            return None
        specs = (finder.find_spec(name, path, target) for finder in self._finders)
        return next((spec for spec in specs if spec is not None), None)

    def find_distributions(self, *context: Any) -> Iterator[importlib.metadata.Distribution]:
        for finder in self._finders:
            for distribution in getattr(finder, "find_distributions", lambda *_: ())(*context):
                if plain(distribution.name) in self._allowed:
                    yield distribution


def main() -> None:
    allowed = closure(re.split(r",(?![^\[]*\])", sys.argv[1])) | {"pip", "setuptools"}
    sys.meta_path[:] = [InstalledModules(allowed, sys.meta_path)]
    arguments = sys.argv[2:]
    if arguments[0] == "-c":
        exec(arguments[1], {})
        return
    from trocar.__main__ import program

    sys.argv[:] = ["trocar", *arguments]
    program()


if __name__ == "__main__":
    main()
