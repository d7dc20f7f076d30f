"""The stereo endoscope: two cameras at the tip of an ECM.

A 0 or 30 degree endoscope is the ECM's `instrument` ("straight", "up", "down"), which sets the viewing direction.
"""

from __future__ import annotations

import numpy as np

from trocar.appearance.lens import Lens
from trocar.appearance.rendering import PicturedScene
from trocar.appearance.stereo_camera import (
    FAR,
    MAX_LENGTH,
    METRE_PER_NEWTON,
    MIN_FORCE,
    NEAR,
    CameraView,
    StereoCamera,
    arrow_ends,
)
from trocar.errors import TrocarError, check_known
from trocar.spatial import Array, pose

BASELINE = 5e-3  # between the two cameras [m]; ASSUMED, of the order of a da Vinci endoscope's, which is not published
VIEW = np.radians(60.0)  # horizontal angle of view; ASSUMED
# The tip of the ECM has x left, y up, z away; the optical frame x right, y down, z away.
R_TIP_OPTICAL = np.diag([-1.0, -1.0, 1.0])

__all__ = ["BASELINE", "FAR", "MAX_LENGTH", "METRE_PER_NEWTON", "MIN_FORCE", "NEAR", "R_TIP_OPTICAL", "VIEW"]
__all__ += ["CameraView", "StereoEndoscope", "arrow_ends"]


class StereoEndoscope(StereoCamera):
    """Two parallel cameras at the tip of an ECM in a scene; see `StereoCamera`.

    Args:
        arm: name of the ECM in the scene. lens: of both cameras. Default: 640 x 480 and 60 degrees (assumed).
        baseline: distance between the cameras [m]; assumed.
    """

    def __init__(
        self,
        scene: PicturedScene,
        arm: str = "ECM",
        lens: Lens | None = None,
        *,
        baseline: float = BASELINE,
        shadows: bool = False,
        samples: int = 0,
    ) -> None:
        check_known("arm of the scene", scene.arms, arm)
        if scene.arms[arm].arm.carries != "endoscope":
            raise TrocarError(f"{arm} is a {scene.arms[arm].arm.name}: an endoscope is at the tip of an ECM")
        self.arm, chosen = arm, Lens.of_view(VIEW) if lens is None else lens
        super().__init__(scene, self._optical_frame, chosen, baseline, shadows=shadows, samples=samples)

    def _optical_frame(self) -> Array:
        return self.scene.T_world_tip(self.arm) @ pose(R_TIP_OPTICAL)
