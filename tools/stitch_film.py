"""Film of a wound that a PSM closes with one stitch: docs/images/stitch.gif.

    python -m tools.stitch_film docs/images/stitch.gif

Needs MuJoCo's renderer (MUJOCO_GL=egl without a display). It takes a minute.
"""

from __future__ import annotations

import sys

from trocar.appearance import render, view
from trocar.appearance.films import Picture, render_video
from trocar.simulation.skills import Hands, close_wound, wound_scene

ARM, EFFORT = "PSM1", 0.12  # [N m]
INTERVAL, FPS = 0.3, 10.0  # simulated time between two pictures [s]; three times real time
SIZE, VIEW, DISTANCE = (320, 240), (-60.0, -28.0), 0.09  # [pixels], azimuth and elevation [deg], [m]
LOOK_AT = (0.0, 0.0, 0.012)  # [m]
LAST = 10  # repetitions of the last picture


def main() -> None:
    """Close a wound and write the film."""
    scene = wound_scene()
    camera = view(scene)
    camera.azimuth, camera.elevation, camera.distance, camera.lookat = *VIEW, DISTANCE, LOOK_AT
    pictures: list[Picture] = []

    def picture() -> None:
        pictures.append(render(scene, camera, SIZE, shadows=False))

    def watch() -> None:
        if scene.time >= INTERVAL * len(pictures):
            picture()

    hands = Hands(scene)
    hands.watch = watch
    hands.close(ARM, EFFORT, 0.4)
    result = close_wound(hands, ARM, EFFORT)
    closed_at = None if result.tightening is None else result.tightening.closed_at
    print(f"closed: {result.closed}, at {closed_at} N")
    picture()
    render_video(sys.argv[1], [*pictures, *[pictures[-1]] * LAST], FPS)


if __name__ == "__main__":
    main()
