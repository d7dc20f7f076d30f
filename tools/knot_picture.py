"""Picture of a square knot before and after it is pulled tight: `python -m tools.knot_picture docs/images/knot.png`."""

from __future__ import annotations

import sys

import numpy as np

from trocar.appearance import render
from trocar.appearance.films import Picture, save_png
from trocar.simulation import Scene
from trocar.simulation.skills import Hands, knot_scene, tighten_knot


def picture(scene: Scene) -> Picture:
    """Both instruments and the thread."""
    return render(scene, at="PSM1", distance=0.08, size=(640, 400))


if __name__ == "__main__":
    scene = knot_scene((1, -1), rod=0.5e-3)
    loose = picture(scene)
    tighten_knot(Hands(scene), tension=0.5)
    save_png(sys.argv[1], np.hstack([loose, picture(scene)]))
