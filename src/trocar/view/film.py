"""Pictures of a recording."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trocar.appearance import Picture, render
from trocar.robot.track import Track


class Film:
    """Images of a track, rendered one by one on request; always from one thread, which owns OpenGL's context.

    Args:
        fps: images per second of the film. speed: recorded time per film time.
        camera: "iso", "side" or "tip". size: (width, height) [pixels].
    """

    def __init__(
        self, track: Track, fps: float, speed: float = 1.0, camera: str = "iso", size: tuple[int, int] = (960, 720)
    ) -> None:
        self._track, self._camera, self._size = track, camera, size
        self._times = np.arange(0.0, track.duration + 1e-9, speed / fps)
        self._scene = track.settings.build()

    def __len__(self) -> int:
        return len(self._times)

    def __iter__(self) -> Iterator[Picture]:
        return (self.picture(float(t)) for t in self._times)

    def picture(self, t: float) -> Picture:
        """The arm at time t [s]."""
        name = self._track.settings.name
        self._scene.arms[name].place(self._track.frame(t).arms[name].q)
        return render(self._scene, self._camera, self._size)
