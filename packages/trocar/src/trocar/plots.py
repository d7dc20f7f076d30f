"""Common style of all figures.

Create figures with `panels`, or as `matplotlib.figure.Figure` objects, inside `with style():` or in functions decorated
with `@style()`. This module opens no window, uses no pyplot and selects no backend.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure
from matplotlib.text import Text

from trocar.files import write_whole
from trocar.palette import COLOURS

__all__ = ["COLOURS", "panels", "save", "save_numbered", "style"]

# Any for the keys: newer matplotlib types them as one long Literal, older ones as str.
_RC: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "font.size": 9.0,
    "grid.color": "#E3E5E8",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "savefig.dpi": 150,
}


# Context manager or decorator that applies trocar's figure style and restores the previous settings on exit.
style = partial(matplotlib.rc_context, _RC)


def panels(size: tuple[float, float], rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure of a size [inches], and its axes as `Figure.subplots` returns them."""
    figure = Figure(figsize=size)
    return figure, figure.subplots(rows, columns, **options)


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write the figure atomically, in the format given by the suffix (png, svg, pdf)."""
    path = Path(path)
    buffer = io.BytesIO()
    for text in figure.findobj(Text):  # a $ in the name of a file or channel starts no formula; in log ticks it does
        if "$" in text.get_text() and not text.get_text().startswith(r"$\mathdefault"):
            text.set_parse_math(False)
    with style():
        figure.savefig(buffer, format=path.suffix.removeprefix(".") or "png")
    return write_whole(path, buffer.getvalue())


def save_numbered(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write every figure as FOLDER/figure-N.png, N from 1."""
    return [save(figure, folder / f"figure-{number}.png") for number, figure in enumerate(figures, start=1)]
