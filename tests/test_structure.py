"""House rules that a reader of the sources relies on: one name for one thing, windows that stay outside."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from tests.support.repository import SOURCES

BANNED_NAMES = {"found", "given", "said", "made"}
SUPERLATIVES = re.compile(r"_?(MOST|LEAST|LARGEST|SMALLEST|LONGEST|SHORTEST|FARTHEST|FASTEST|PATIENCE)(_[A-Z_]+)?")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


@cache
def trees() -> dict[str, ast.Module]:
    """Syntax tree of every module of the packages, by its path: trocar/robot/bus.py."""
    return {
        path.relative_to(source).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for source in SOURCES
        for path in sorted(source.rglob("*.py"))
        if not path.name.endswith(".launch.py")
    }


def test_no_public_class_name_occurs_twice() -> None:
    places = defaultdict(list)
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that a module binds: variables, arguments, attributes, functions and classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno


def room_of(path: str) -> str:
    """Package and folder of a module."""
    return "/".join(path.split("/")[:2])


@pytest.mark.parametrize("room", sorted({room_of(path) for path in trees()}))
def test_names_are_nouns_of_the_field(room: str) -> None:
    offences = [
        f"{path}:{line} {name}"
        for path, tree in trees().items()
        if room_of(path) == room
        for name, line in bound_names(tree)
        if name in BANNED_NAMES or SUPERLATIVES.fullmatch(name)
    ]
    assert offences == []


def test_no_window_reaches_behind_the_robots_interface() -> None:
    offences = [
        f"{path}:{node.lineno}"
        for path, tree in trees().items()
        if not path.startswith("trocar/robot/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "controllers"
    ]
    assert offences == []


def test_no_window_imports_a_controller() -> None:
    """Rooms that step control loops are no windows; all rooms may import the constants of the controllers."""
    controllers = "trocar.robot.controller"
    offences = [
        f"{path}:{node.lineno} {node.module}"
        for path, tree in trees().items()
        if not path.startswith(("trocar/robot/", "trocar_learning/envs/"))
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(controllers)
        if node.module != f"{controllers}.constants"
    ]
    assert offences == []


def test_errors_of_the_library_name_no_option_of_the_command_line() -> None:
    offences = [
        f"{path}:{node.lineno} {node.value}"
        for path, tree in trees().items()
        if "/commands/" not in path and path != "trocar/cli.py"
        for error in ast.walk(tree)
        if isinstance(error, ast.Raise)
        for node in ast.walk(error)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if OPTION.search(node.value) and "trocar " not in node.value  # a whole command is a remedy
    ]
    assert offences == []
