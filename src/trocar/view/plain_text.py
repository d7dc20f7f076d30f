"""Texts of the page: untrusted ones in places that render Markdown, and lengths with a suitable unit."""

from __future__ import annotations

import re


def plain(text: str) -> str:
    """Markdown that shows a text letter by letter, in one line: no formatting, links, pictures or HTML."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def length(metres: float) -> str:
    """A small length in the unit that fits it: nm, um or mm."""
    if abs(metres) < 1e-11:
        return "0 nm"
    for unit, size in (("nm", 1e-9), ("µm", 1e-6)):
        if abs(metres) < 1000 * size:
            return f"{metres / size:.2g} {unit}"
    return f"{1000 * metres:.3g} mm"
