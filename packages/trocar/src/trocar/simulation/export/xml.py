"""Shared parts of the formats: texts, elements with numeric attributes, and the text of a whole tree."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import ArrayLike

from trocar.toml_file import read_toml

MAX_WIDTH = 120  # columns of a line of MJCF, as in mujoco_menagerie
ATTRIBUTE = re.compile(r'[\w:]+="[^"]*"')
ROUNDING = 1e-15  # smaller numbers are rounding errors of quarter-turn rotations


@cache
def texts() -> dict[str, Any]:
    """Texts of a model folder, by name."""
    return read_toml(Path(__file__).with_name("texts.toml"), "file")


def filled(key: str, **words: ArrayLike) -> str:
    """An XML text of the model folder with its {words}, XML or numbers, filled in."""
    words = {name: word if isinstance(word, str) else numbers(word) for name, word in words.items()}
    return str(texts()[key].format(**words))


def quoted(text: str) -> str:
    """A text for use inside XML."""
    return escape(text, {'"': "&quot;"})


def number(value: float) -> str:
    """A number as text, exact to 15 digits."""
    value = float(value)
    return "0" if abs(value) < ROUNDING else f"{value:.15g}"


def numbers(values: ArrayLike) -> str:
    """Numbers separated by spaces."""
    return " ".join(number(value) for value in np.ravel(np.asarray(values, dtype=float)))


def add(parent: Element, tag: str, text: str | None = None, /, **attributes: ArrayLike | None) -> Element:
    """Add a child element. Attributes that are None are omitted; a trailing underscore of a name is dropped."""
    element = SubElement(parent, tag)
    for name, value in attributes.items():
        if value is not None:
            element.set(name.rstrip("_"), value if isinstance(value, str) else numbers(value))
    element.text = text
    return element


def add_texts(parent: Element, /, **texts: ArrayLike) -> None:
    """Add child elements that each hold text or numbers, by tag."""
    for tag, value in texts.items():
        add(parent, tag, value if isinstance(value, str) else numbers(value))


def document(root: Element, comments: Iterable[str] = ()) -> str:
    """The text of a tree, with comments before it."""
    ElementTree.indent(root)
    above = "".join(f"<!-- {comment} -->\n" for comment in comments)
    return f'<?xml version="1.0"?>\n{above}{ElementTree.tostring(root, encoding="unicode")}\n'


def menagerie_style(text: str) -> str:
    """MJCF in the format of mujoco_menagerie: `/>` without a space, attributes wrapped at 120 columns.

    An attribute is never broken, so a long one can exceed the width.
    """
    return "".join(f"{_wrapped(line.replace(' />', '/>'))}\n" for line in text.splitlines())


def _wrapped(line: str) -> str:
    opening = re.match(r"( *)<\w+", line)
    if len(line) <= MAX_WIDTH or opening is None:
        return line
    indent, lines = opening[1], [opening[0]]
    *attributes, last = ATTRIBUTE.findall(line)
    for attribute in [*attributes, last + line[line.rindex('"') + 1 :]]:
        if len(lines[-1]) + 1 + len(attribute) > MAX_WIDTH:
            lines.append(f"{indent}  {attribute}")
        else:
            lines[-1] += f" {attribute}"
    return "\n".join(lines)
