"""Detection of the release of the Python interface that a script was written for, from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ARMS = {"arm", "psm", "ecm", "mtm"}
FIRST = {
    "get_current_position", "get_desired_position", "get_current_joint_position", "get_desired_joint_position",
    "get_current_joint_velocity", "get_current_joint_effort", "get_current_jaw_position", "get_desired_jaw_position",
    "get_current_wrench_body", "get_current_wrench_spatial", "get_current_gripper_position", "get_robot_state",
    "move_joint", "move_joint_one", "move_joint_some", "dmove", "dmove_joint", "dmove_joint_one", "dmove_joint_some",
    "open_jaw", "close_jaw", "move_jaw", "insert_tool", "set_effort_joint", "set_wrench_body",
    "set_wrench_body_force", "set_wrench_spatial", "set_gravity_compensation",
}  # fmt: skip
JOINTS = {f"{kind}_j{letter}" for kind in ("measured", "setpoint") for letter in "pvf"}
POSES = {"measured_cp", "setpoint_cp"}
SIX = {"measured_cv", "measured_cf", "jacobian"}
STATES = {"measured_js", "setpoint_js"}
GETTERS = JOINTS | POSES | SIX | STATES
NEWEST = "2.4"
_KEYWORDS = {"expected_interval": "2.2", "connection_timeout": "2.4"}


class Judgement(NamedTuple):
    """A generation and the reason, such as "line 12: measured_cp().p"."""

    api: str
    reason: str


def judge(script: Path) -> Judgement:
    """The release that a script, with imported modules from its folder, was written for."""
    found = [judgement for tree in _trees(script) for judgement in _judgements(tree)]
    for api in ("1", "2.4", "2.0", "2.2"):  # strongest evidence first
        for judgement in found:
            if judgement.api == api:
                return judgement
    return Judgement(NEWEST, "the script does not show which")


def _trees(script: Path) -> Iterator[ast.Module]:
    """Syntax trees of the script and of imported modules in its folder."""
    seen, waiting = {script}, [script]
    while waiting:
        path = waiting.pop(0)
        try:
            tree = ast.parse(path.read_bytes(), str(path))
        except (SyntaxError, ValueError):
            continue  # running it reports the error
        yield tree
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in names:
                beside = script.parent / f"{name.split('.')[0]}.py"
                if beside not in seen and beside.is_file():
                    seen.add(beside)
                    waiting.append(beside)


def _judgements(tree: ast.Module) -> Iterator[Judgement]:
    """Evidence from single expressions. Values without a time indicate a release before 2.4."""
    bare: dict[str, ast.Call] = {}  # names that hold the result of a getter
    constructors = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dvrk"
        for alias in node.names
    }
    if "*" in constructors:
        constructors |= ARMS
    with_node, moved = False, 0
    alone: list[Judgement] = []  # arms without a node
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _called(node)
            first = node.args[0] if node.args else None
            for keyword in node.keywords:
                if name in ARMS | {"utils"} and keyword.arg in _KEYWORDS:
                    yield Judgement(_KEYWORDS[keyword.arg], f"line {node.lineno}: {name}({keyword.arg}=...)")
            if name in FIRST:
                yield Judgement("1", f"line {node.lineno}: {name}()")
            elif name == "ral":
                with_node = True
            elif name == "move" and isinstance(node.func, ast.Attribute):
                moved = moved or node.lineno
            elif (
                _is_attribute_of(node, "dvrk") if isinstance(node.func, ast.Attribute) else name in constructors & ARMS
            ):
                if name in ARMS and _without_node(node):
                    alone.append(Judgement("2.0", f"line {node.lineno}: dvrk.{name}() without a node"))
            elif name == "utils" and len(node.args) > 1 and (_is_text(node.args[1]) or not _mentions_node(tree)):
                yield Judgement("2.0", f"line {node.lineno}: crtk.utils() without a node")
            elif (
                name in ("Frame", "copy", "array")
                and isinstance(first, ast.Call)
                and _called(first) in GETTERS - STATES
            ):
                yield Judgement("2.2", f"line {node.lineno}: {name}({_called(first)}())")
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _called(node.value) in GETTERS:
            yield from _unpacked(node, bare)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            yield from _indexed(node, node.value)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            getter = _called(node.value)
            if getter in POSES and node.attr in ("p", "M", "Inverse"):
                yield Judgement("2.2", f"line {node.lineno}: {getter}().{node.attr}")
        if isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                if isinstance(side, ast.Call) and _called(side) in JOINTS | POSES | SIX:
                    yield Judgement("2.2", f"line {node.lineno}: arithmetic with {_called(side)}()")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("p", "M") and _text(node.value) in bare:
            yield Judgement("2.2", f"line {node.lineno}: {_text(node)}, from {_called(bare[_text(node.value)])}()")
    yield from alone
    if alone and moved:
        yield Judgement("1", f"line {moved}: move() of an arm without a node")
    if with_node and bare:
        getters = sorted({_called(call) for call in bare.values()})
        yield Judgement("2.2", f"results of {', '.join(getters)} are used as they are")


def _mentions_node(tree: ast.Module) -> bool:
    """True if anything is called ral."""
    return any(
        "ral" in (getattr(node, "id", ""), getattr(node, "arg", ""), getattr(node, "attr", ""))
        for node in ast.walk(tree)
    )


def _without_node(node: ast.Call) -> bool:
    """True if an arm is created from its name only, as before release 2.2."""
    named = {keyword.arg for keyword in node.keywords}
    if "ral" in named:
        return False
    return len(node.args) + ("arm_name" in named) == 1 or bool(node.args and _is_text(node.args[0]))


def _unpacked(node: ast.Assign, bare: dict[str, ast.Call]) -> Iterator[Judgement]:
    call, target = node.value, node.targets[0]
    assert isinstance(call, ast.Call)
    name = _called(call)
    if isinstance(target, ast.Tuple | ast.List):
        count = len(target.elts)
        if name in STATES:  # four values in every release
            return
        if any(keyword.arg == "extra" for keyword in call.keywords):
            yield Judgement("2.2", f"line {node.lineno}: {name}(extra=...)")
            return
        if count == 2:
            yield Judgement("2.4", f"line {node.lineno}: {name}() is unpacked into {count}")
        else:
            yield Judgement("2.2", f"line {node.lineno}: {name}() is unpacked into {count}")
    elif name in POSES | JOINTS:
        bare[_text(target)] = call


def _indexed(node: ast.Subscript, call: ast.Call) -> Iterator[Judgement]:
    name = _called(call)
    if name in POSES and _is_number(node.slice):
        yield Judgement("2.4", f"line {node.lineno}: {_text(node)}")


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_attribute_of(node: ast.Call, module: str) -> bool:
    return isinstance(node.func, ast.Attribute) and _text(node.func.value) == module


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _text(node: ast.AST) -> str:
    return ast.unparse(node)
