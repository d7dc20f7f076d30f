"""Public names of a package that are imported on first use; its stub `__init__.pyi` lists them with their modules."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path


def origins(file: str) -> dict[str, tuple[str, str]]:
    """Module and name in it of every public name, from the imports in the stub next to the file of a package."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: (node.module or "", alias.name) for node in imports for alias in node.names}


def loaded(package: str, names: dict[str, tuple[str, str]], name: str) -> object:
    """The object of a public name, kept in the package; the end of its `__getattr__`."""
    if name not in names:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, original = names[name]
    value: object = getattr(import_module(module), original)
    setattr(sys.modules[package], name, value)
    return value
