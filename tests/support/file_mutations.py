"""Random damage to files: to their bytes, to their words and numbers, and to the tree that they contain."""

from __future__ import annotations

import copy
import json
import pickle
import re
from typing import Any

import numpy as np

Random = np.random.Generator

NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")
# Typical mistakes of people and programs: signs, units, exponents, types.
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, -0.0, 0.5, -0.001, 1e-300, 1e300, -1e300, 1e6, -1e4, 5e-324, 10**30, 10**400, -(10**400)),
    *(float("nan"), float("inf"), float("-inf"), True, False, "", "x", "..", "a/b", "a\nb", "PSM", "1.0", "é" * 600),
    *([], [1], [1.0, 2.0, 3.0], [[1.0]], ["x"], [0.0] * 7, [1e300] * 3, {}, {"x": 1}, {"x": {"y": [1]}}),
)
WORDS = (
    b"nan",
    b"inf",
    b"-1",
    b"0",
    b"1e300",
    b"9" * 400,
    b"9" * 5000,
    b"true",
    b'"x"',
    b"[]",
    b"{}",
    b"",
    b"-",
    b"1_0",
)


def damaged(content: bytes, random: Random) -> bytes:
    """The content with one to three changes of its bytes, words or lines."""
    for _ in range(random.integers(1, 4)):
        content = (_bytes, _number, _lines)[random.integers(3)](content, random)
    return content


def damaged_tree(tree: dict[str, Any], random: Random) -> dict[str, Any]:
    """A copy of the tree in which one to three entries are replaced, removed, renamed, doubled or nested."""
    tree = pickle.loads(pickle.dumps(tree))  # ten times as fast as deepcopy
    for _ in range(random.integers(1, 4)):
        places = list(_places(tree))
        if not places:
            break
        parent, key = places[random.integers(len(places))]
        other = places[random.integers(len(places))]
        what = random.integers(6)
        if what <= 1:
            parent[key] = copy.deepcopy(VALUES[random.integers(len(VALUES))])
        elif what == 2:
            del parent[key]
        elif what == 3 and isinstance(parent, dict):
            parent[_name(random)] = parent.pop(key)
        elif what == 4:
            parent[key] = copy.deepcopy(other[0][other[1]])
        elif isinstance(parent[key], float):
            parent[key] *= float(10.0 ** random.integers(-12, 13) * random.choice([-1, 1]))
    return tree


def inline_toml(tree: dict[str, Any]) -> str:
    """TOML of a tree with one line per entry and inline tables: ten times as fast as tomlkit, and read as the same."""
    return "".join(f"{json.dumps(key, ensure_ascii=False)} = {_inline(value)}\n" for key, value in tree.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)} = {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return repr(value)
    raise ValueError(f"{value!r} is not one of the values of these files")


def _name(random: Random) -> str:
    return str(random.choice(["x", "", "..", "a/b", "a\nb", "é" * 300, "yaw", "mass", "0", "PSM1"]))


def _places(tree: Any) -> Any:
    """Every container in the tree with each of its keys."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(entries):
        yield tree, key
        yield from _places(value)


def _bytes(content: bytes, random: Random) -> bytes:
    if not content:
        return b"\0"
    i, j = sorted(random.integers(0, len(content), 2).tolist())
    piece = content[i : min(j, i + 40)]
    what = random.integers(6)
    if what == 0:
        return content[:i]
    if what == 1:
        return content[:i] + random.bytes(random.integers(1, 5)) + content[i + 1 :]
    if what == 2:
        return content[:i] + content[min(j, i + 40) :]
    if what == 3:
        return content[:i] + piece * int(random.integers(2, 5)) + content[i:]
    if what == 4:
        return content[:i] + bytes([content[i] ^ (1 << int(random.integers(8)))]) + content[i + 1 :]
    return content[:j] + piece + content[j:]


def _number(content: bytes, random: Random) -> bytes:
    """One number replaced by a word that is not a number, or by an odd number."""
    found = list(NUMBER.finditer(content[:200_000]))
    if not found:
        return content
    match = found[random.integers(len(found))]
    return content[: match.start()] + WORDS[random.integers(len(WORDS))] + content[match.end() :]


def _lines(content: bytes, random: Random) -> bytes:
    """Lines removed, duplicated, swapped or joined."""
    lines = content.split(b"\n")
    i, j = random.integers(0, len(lines), 2).tolist()
    what = random.integers(5)
    if what == 0:
        del lines[i]
    elif what == 1:
        lines.insert(j, lines[i])
    elif what == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif what == 3:
        lines[i] = lines[i] + lines[j]
    else:
        lines[i] = lines[i][: len(lines[i]) // 2]
    return b"\n".join(lines)
