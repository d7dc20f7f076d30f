"""Conversion of Python 2 scripts, common for release 1, by lib2to3, with the division of Python 2.

Python 3.13 has no lib2to3: there such scripts fail with their syntax error.
"""

from __future__ import annotations

import ast
import logging
import warnings
from pathlib import Path
from typing import Any, NamedTuple

DIVISION = "_division_of_python_2"


class Script(NamedTuple):
    """The syntax tree of a script, and a flag for a conversion from Python 2."""

    tree: ast.Module
    converted: bool


def read_script(path: Path) -> Script:
    """Parse a script in Python 3 or 2. Raises SyntaxError or ValueError if it is neither."""
    source = path.read_bytes()
    try:
        return Script(ast.parse(source, str(path)), False)
    except SyntaxError as error:
        text = _converted(source)
        if text is None:
            raise
        try:
            tree = ast.parse(text, str(path))
        except SyntaxError:
            raise error from None  # not Python 2 either: show the error of the original
    if not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body):
        tree = ast.fix_missing_locations(_Division().visit(tree))
    return Script(tree, True)


def division(a: Any, b: Any) -> Any:
    """a / b as in Python 2: the quotient of two integers is an integer."""
    return a // b if isinstance(a, int) and isinstance(b, int) else a / b


def _converted(source: bytes) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            from lib2to3.pgen2.parse import ParseError
            from lib2to3.pgen2.tokenize import TokenError
            from lib2to3.refactor import RefactoringTool, get_fixers_from_package
    except ImportError:
        return None
    logging.getLogger("RefactoringTool").setLevel(logging.CRITICAL)  # it logs every rule
    logging.getLogger("lib2to3.main").setLevel(logging.CRITICAL)
    tool = RefactoringTool(get_fixers_from_package("lib2to3.fixes"))
    try:
        return str(tool.refactor_string(source.decode("utf-8", "replace") + "\n", "script"))
    except (ParseError, TokenError, IndentationError):
        return None


class _Division(ast.NodeTransformer):
    """Replaces a / b by a call of `division`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.copy_location(
            ast.Call(ast.Name(DIVISION, ast.Load()), [node.left, node.right], []),
            node,
        )

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.op, ast.Div) and isinstance(node.target, ast.Name)):
            return node
        old = ast.Name(node.target.id, ast.Load())
        call = ast.Call(ast.Name(DIVISION, ast.Load()), [old, node.value], [])
        return ast.copy_location(ast.Assign([node.target], call), node)
