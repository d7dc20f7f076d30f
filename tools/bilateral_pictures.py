"""Pictures of docs/bilateral.md, from the bench of teleoperation.

`python -m tools.bilateral_pictures [FOLDER]` in a checkout; default: docs/images. It takes a few minutes.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from matplotlib.figure import Figure

from trocar.files import write_whole
from trocar.plots import style
from trocar_reproductions.bilateral import run_bench

# The pictures of each section, in the order in which it adds them.
PICTURES = {
    "stability": ("bilateral_maps", "bilateral_same_start"),
    "drift": ("bilateral_drift",),
    "schemes": ("bilateral_schemes",),
    "network": ("bilateral_outage",),
    "z_width": ("bilateral_z_width",),
    "hybrid": ("bilateral_hybrid",),
}
DPI = 80


def pictures(folder: Path) -> list[Path]:
    """Run the sections and write their pictures as PNG files."""
    written = []
    for section, names in PICTURES.items():
        figures = run_bench([section]).report.figures
        for name, (figure, _) in zip(names, figures, strict=True):
            written.append(small(figure, folder / f"{name}.png"))
    return written


def small(figure: Figure, path: Path) -> Path:
    """Write a figure at the resolution of the pages."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=DPI)
    return write_whole(path, buffer.getvalue())


if __name__ == "__main__":
    for path in pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images")):
        print(path)
