"""Colours of everything that trocar draws: figures, reports and the viewer's page."""

from __future__ import annotations

# The palette of Okabe and Ito, distinguishable with every common kind of colour blindness. Their yellow is omitted (too
# pale for lines on white); black comes last, because it looks like an axis.
NAMED = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "pink": "#CC79A7",
    "sky blue": "#56B4E9",
    "orange": "#E69F00",
    "black": "#000000",
}
COLOURS = tuple(NAMED.values())
ACCENT = COLOURS[0]
# Causes of joint efforts and of forces, each with the name of its colour: in bars, arrows and documentation alike.
CAUSES = {
    "gravity": "blue",
    "inertia": "green",
    "Coriolis": "pink",
    "push": "sky blue",
    "contact": "vermilion",
    "friction": "orange",
}
# Behind the scene of a page, from top to bottom: pale enough for dark marks, dark enough for the pale arm.
BACKDROP = ("#A8B8CC", "#C2C9D4")
FONT = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue from 0 to 255 of "#rrggbb"."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def of_cause(cause: str) -> str:
    """The colour "#rrggbb" of a cause."""
    return NAMED[CAUSES[cause]]
