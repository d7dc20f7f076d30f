"""Points of a task, such as its goal, as spheres in a page."""

from __future__ import annotations

from typing import Any

from trocar.spatial import Array

COLOUR = (242, 204, 26)


class MarkSpheres:
    """As many spheres as there are marks.

    Args:
        scene: of viser. path: of the spheres in it. radius: [m].
    """

    def __init__(self, scene: Any, path: str, radius: float) -> None:
        self._scene, self._path, self._radius = scene, path, radius
        self._spheres: list[Any] = []

    def draw(self, marks: Array) -> None:
        """Place the spheres at marks (k, 3) [m]."""
        while len(self._spheres) > len(marks):
            self._spheres.pop().remove()
        for k in range(len(self._spheres), len(marks)):
            self._spheres.append(self._scene.add_icosphere(f"{self._path}{k}", self._radius, COLOUR))
        for sphere, place in zip(self._spheres, marks, strict=True):
            sphere.position = tuple(place)
