"""Writing a recipe as a file that `trocar identify --recipe` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def recipe_text(table: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """TOML text of a recipe's table, with comment lines on top. Numbers read back exactly."""
    lines = [f"# {comment}".rstrip() for comment in comments]
    lines += ["", *(f"{key} = {_value(value)}" for key, value in table.items() if not isinstance(value, Mapping))]
    for name, part in table.items():
        if not isinstance(part, Mapping):
            continue
        nested = name in ("drives", "elastics")
        for title, entries in ((f"{name}.{key}", part[key]) for key in part) if nested else ((name, part),):
            lines += ["", f"[{title}]", *(f"{key} = {_value(value)}" for key, value in entries.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(v)}" for key, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
