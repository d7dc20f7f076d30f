"""Untrusted text, such as the name of a file, in places that render Markdown."""

from __future__ import annotations

import re


def plain(text: str) -> str:
    """Markdown that shows a text letter by letter, in one line: no formatting, links, pictures or HTML."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))
