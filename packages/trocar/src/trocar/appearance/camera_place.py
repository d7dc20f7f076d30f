"""Place and optics of a stereo camera that no arm carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trocar.appearance.endoscope_camera import BASELINE, VIEW
from trocar.appearance.lens import Lens
from trocar.appearance.rendering import PicturedScene
from trocar.appearance.stereo_camera import StereoCamera
from trocar.spatial import Array


@dataclass(frozen=True)
class CameraPlace:
    """Place and optics of a stereo camera.

    Attributes:
        T_world_middle: optical frame (4, 4) midway between the two cameras: x right, y down, z away.
        view: horizontal angle of view [rad]. baseline: distance of the cameras [m]. Default: those of the endoscope.
    """

    T_world_middle: Array
    view: float = float(VIEW)
    baseline: float = BASELINE

    def lens(self, size: tuple[int, int]) -> Lens:
        """The lens of images of a size (width, height) [pixels]."""
        return Lens.of_view(self.view, *size)

    def camera(
        self, scene: PicturedScene, size: tuple[int, int], T_world_middle: Callable[[], Array] | None = None
    ) -> StereoCamera:
        """The camera in a scene, under a sky. T_world_middle: its place, if it moves."""
        place = self.T_world_middle if T_world_middle is None else T_world_middle
        camera = StereoCamera(scene, place, self.lens(size), self.baseline)
        camera.sky = True
        return camera
