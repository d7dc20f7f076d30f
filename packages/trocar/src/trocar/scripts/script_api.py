"""Detection of the release of the Python interface that a script was written for, from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trocar.scripts import RELEASE_1

ARMS = {"arm", "psm", "ecm", "mtm"}
POSES = {"measured_cp", "setpoint_cp"}
JOINTS = {f"{kind}_j{letter}" for kind in ("measured", "setpoint") for letter in "pvf"}
# getters that return one value, or it and the time
VALUES = JOINTS | POSES | {"measured_cv", "measured_cf", "jacobian"}
_KEYWORDS = {"expected_interval": "2.2", "connection_timeout": "2.4"}


class Judgement(NamedTuple):
    """A release and the reason, such as "line 12: measured_cp().p"."""

    api: str
    reason: str


def judge(script: Path) -> Judgement:
    """The release that a script, with imported modules from its folder, was written for."""
    evidence = [judgement for tree in _trees(script) for judgement in _evidence(tree)]
    order = ("1", "2.4", "2.0", "2.2")  # strongest evidence first
    default = Judgement("2.4", "the script does not show which")
    return min(evidence, key=lambda judgement: order.index(judgement.api), default=default)


def _trees(script: Path) -> Iterator[ast.Module]:
    """Syntax trees of the script and of imported modules in its folder."""
    paths = [script]
    for path in paths:  # grows
        try:
            tree = ast.parse(path.read_bytes(), str(path))
        except (SyntaxError, ValueError):
            continue  # running it reports the error
        yield tree
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            beside = [script.parent / f"{name.split('.')[0]}.py" for name in names]
            paths += [path for path in beside if path not in paths and path.is_file()]


def _evidence(tree: ast.Module) -> Iterator[Judgement]:
    """Evidence from single expressions. Values without a time indicate a release before 2.4."""
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    mentions_node = any(_is_node(node) for node in nodes)
    bare: dict[str, str] = {}  # getters whose results have a name
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _of_call(node, mentions_node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield from _of_assignment(node, node.value, bare)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            if _called(node.value) in POSES and isinstance(getattr(node.slice, "value", None), int):
                yield Judgement("2.4", f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            if _called(node.value) in POSES and node.attr in ("p", "M", "Inverse"):
                yield Judgement("2.2", f"line {node.lineno}: {_called(node.value)}().{node.attr}")
        elif isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                if isinstance(side, ast.Call) and _called(side) in VALUES:
                    yield Judgement("2.2", f"line {node.lineno}: arithmetic with {_called(side)}()")
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in ("p", "M") and ast.unparse(node.value) in bare:
            getter = bare[ast.unparse(node.value)]
            yield Judgement("2.2", f"line {node.lineno}: {ast.unparse(node)}, from {getter}()")
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dvrk"
        for alias in node.names
    }
    alone = [
        call for call in calls if _is_arm(call, ARMS if "*" in imported else imported & ARMS) and _has_no_node(call)
    ]
    for call in alone:
        yield Judgement("2.0", f"line {call.lineno}: dvrk.{_called(call)}() without a node")
    moves = [call.lineno for call in calls if _called(call) == "move" and isinstance(call.func, ast.Attribute)]
    if alone and moves:
        yield Judgement("1", f"line {moves[0]}: move() of an arm without a node")
    if bare and any(_called(call) == "ral" for call in calls):
        yield Judgement("2.2", f"results of {', '.join(sorted(set(bare.values())))} are used as they are")


def _of_call(node: ast.Call, mentions_node: bool) -> Iterator[Judgement]:
    name, line = _called(node), f"line {node.lineno}"
    if name in ARMS | {"utils"}:
        for keyword in node.keywords:
            if keyword.arg in _KEYWORDS:
                yield Judgement(_KEYWORDS[keyword.arg], f"{line}: {name}({keyword.arg}=...)")
    first = node.args[0] if node.args else None
    if name in RELEASE_1["evidence"]:
        yield Judgement("1", f"{line}: {name}()")
    elif name == "utils" and len(node.args) > 1 and (_is_text(node.args[1]) or not mentions_node):
        yield Judgement("2.0", f"{line}: crtk.utils() without a node")
    elif name in ("Frame", "copy", "array") and isinstance(first, ast.Call) and _called(first) in VALUES:
        yield Judgement("2.2", f"{line}: {name}({_called(first)}())")


def _of_assignment(node: ast.Assign, call: ast.Call, bare: dict[str, str]) -> Iterator[Judgement]:
    name, target = _called(call), node.targets[0]
    if name not in VALUES:
        return
    if not isinstance(target, ast.Tuple | ast.List):
        if name in JOINTS | POSES:
            bare[ast.unparse(target)] = name
    elif any(keyword.arg == "extra" for keyword in call.keywords):
        yield Judgement("2.2", f"line {node.lineno}: {name}(extra=...)")
    else:
        count = len(target.elts)
        yield Judgement("2.4" if count == 2 else "2.2", f"line {node.lineno}: {name}() is unpacked into {count}")


def _is_node(node: ast.AST) -> bool:
    """True for anything that is called ral."""
    return "ral" in (getattr(node, "id", ""), getattr(node, "arg", ""), getattr(node, "attr", ""))


def _is_arm(call: ast.Call, imported: set[str]) -> bool:
    """True if an arm of dvrk is created."""
    if isinstance(call.func, ast.Attribute):
        return ast.unparse(call.func.value) == "dvrk" and call.func.attr in ARMS
    return _called(call) in imported


def _has_no_node(call: ast.Call) -> bool:
    """True if an arm is created from its name only, as before release 2.2."""
    named = {keyword.arg for keyword in call.keywords}
    if "ral" in named:
        return False
    return len(call.args) + ("arm_name" in named) == 1 or bool(call.args and _is_text(call.args[0]))


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
