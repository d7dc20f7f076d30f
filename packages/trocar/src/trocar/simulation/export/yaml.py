"""Text of YAML files: nested mappings, sequences and scalars."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trocar.simulation.export.xml import number


def yaml_text(value: Mapping[str, Any], comment: str) -> str:
    """A YAML document after a comment. Flat mappings and sequences take one line; numbers are real, with 15 digits."""
    return "\n".join([f"# {comment}", *_lines(value)]) + "\n"


def _lines(value: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, item in value.items():
        nested = list(item.values()) if isinstance(item, Mapping) else item if isinstance(item, list | tuple) else []
        if isinstance(item, Mapping) and any(isinstance(one, Mapping | list | tuple) for one in nested):
            lines += [f"{key}:", *(f"  {line}" for line in _lines(item))]
        elif isinstance(item, list | tuple) and any(isinstance(one, Mapping) for one in nested):
            lines += [f"{key}:", *(f"  - {_flow(one)}" for one in item)]
        else:
            lines.append(f"{key}: {_flow(item)}")
    return lines


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    if isinstance(value, bool | str):
        return json.dumps(value)
    # a number needs a point: ROS takes 1 for an integer, and YAML 1.1 takes 1e-05 for text
    mantissa, e, exponent = number(value).partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}{e}{exponent}"
