"""Pictures of knots that two PSMs tie.

python -m tools.knot_picture tight docs/images/knot.png       # a square knot before and after it is pulled tight
python -m tools.knot_picture throw docs/images/throw.png      # a throw, tied by winding the thread around PSM2
"""

from __future__ import annotations

import sys

import numpy as np

from trocar.appearance import render
from trocar.appearance.films import Picture, save_png
from trocar.simulation import Scene
from trocar.simulation.skills import Hands, knot_scene, tie_scene, tie_throw, tighten_knot

TIMES = (3.0, 6.3, 7.4)  # of the pictures of a throw: winding, the short end taken, drawn through [s]


def picture(scene: Scene) -> Picture:
    """Both instruments and the thread."""
    return render(scene, at="PSM1", distance=0.08, size=(640, 400))


def tight() -> Picture:
    """A square knot before and after it is pulled tight."""
    scene = knot_scene((1, -1), rod=0.5e-3)
    loose = picture(scene)
    tighten_knot(Hands(scene), tension=0.5)
    return np.hstack([loose, picture(scene)])


def throw() -> Picture:
    """A throw while it is tied, from the side."""
    scene = tie_scene(rod=0.5e-3)
    hands, seen = Hands(scene), list[Picture]()

    def look() -> None:
        if len(seen) < len(TIMES) and scene.time >= TIMES[len(seen)]:
            seen.append(render(scene, (0, -15), at="PSM2", distance=0.12, size=(480, 360)))

    hands.watch = look
    tie_throw(hands)
    seen.append(render(scene, (0, -15), at="PSM2", distance=0.12, size=(480, 360)))
    return np.hstack(seen)


if __name__ == "__main__":
    save_png(sys.argv[2], {"tight": tight, "throw": throw}[sys.argv[1]]())
