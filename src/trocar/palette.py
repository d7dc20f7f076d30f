"""The colours of all that trocar draws: figures, reports, the page of the viewer."""

from __future__ import annotations

# Okabe and Ito's palette, told apart with every common kind of colour blindness. Their yellow is
# left out (too pale for lines on white); black comes last, for it looks like an axis.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
ACCENT = COLOURS[0]
FONT = 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue from 0 to 255 of "#rrggbb"."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
