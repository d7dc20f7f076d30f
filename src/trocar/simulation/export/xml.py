"""Small parts that every XML format needs: elements whose attributes are numbers, and text of a whole tree."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import ArrayLike

from trocar.spatial import Array

ROUNDING = 1e-15  # smaller numbers are zeros of rotations by a quarter turn


def number(value: float) -> str:
    """A number that reads back as the same to 15 digits."""
    value = float(value)
    return "0" if abs(value) < ROUNDING else f"{value:.15g}"


def numbers(values: ArrayLike) -> str:
    """Numbers with blanks between."""
    return " ".join(number(value) for value in np.ravel(np.asarray(values, dtype=float)))


def add(parent: Element, tag: str, text: str | None = None, /, **attributes: ArrayLike | None) -> Element:
    """A child element. Attributes that are None are left out; a final underscore of a name is dropped."""
    element = SubElement(parent, tag)
    for name, value in attributes.items():
        if value is not None:
            element.set(name.rstrip("_"), value if isinstance(value, str) else numbers(value))
    element.text = text
    return element


def add_texts(parent: Element, /, **texts: ArrayLike) -> None:
    """Child elements that hold a text or numbers each, by tag."""
    for tag, value in texts.items():
        add(parent, tag, value if isinstance(value, str) else numbers(value))


def document(root: Element, comments: Iterable[str] = ()) -> str:
    """The text of a tree, with comments before it."""
    ElementTree.indent(root)
    above = "".join(f"<!-- {comment} -->\n" for comment in comments)
    return f'<?xml version="1.0"?>\n{above}{ElementTree.tostring(root, encoding="unicode")}\n'


def roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """Angles [rad] of R = Rz(yaw) Ry(pitch) Rx(roll), as URDF and SDF write a rotation; roll 0 where it is free."""
    level = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], level)
    if level < 1e-9:
        return 0.0, pitch, math.atan2(-R[0, 1], R[1, 1])
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])
