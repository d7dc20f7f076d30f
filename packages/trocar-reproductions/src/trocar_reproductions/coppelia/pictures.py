"""Pictures of vision sensors at an endoscope, rendered from frames in a separate thread."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from trocar.appearance.endoscope_camera import R_TIP_OPTICAL, StereoEndoscope
from trocar.appearance.films import Picture
from trocar.appearance.lens import Lens
from trocar.errors import check_known
from trocar.robot.messages import Frame
from trocar.robot.pictured_frame import PicturedFrame
from trocar.spatial import Array, pose

# A vision sensor has x left, y up, z away, as the tip of an ECM.
T_SENSOR_OPTICAL = pose(R_TIP_OPTICAL)


class EndoscopePictures:
    """Pictures of sensors that are fixed to the tip of an ECM. A simulation that goes on does not wait for them.

    Args:
        arm: name of the ECM. lens: of the sensors. sensors: their poses (4, 4) in the frame of the tip, by eye
            ("left", "right").
    """

    def __init__(self, arm: str, lens: Lens, sensors: Mapping[str, Array]) -> None:
        self._arm, self._lens, self.sensors = arm, lens, sensors
        self._placed: tuple[PicturedFrame, _Sensors] | None = None
        self._latest: dict[str, tuple[Array, Future[Picture]]] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-vision")  # owns OpenGL's context

    def picture(self, frame: Frame, eye: str) -> Future[Picture]:
        """The picture (height, width, 3) of an eye at a frame; the last one again if nothing has moved since."""
        qpos, picture = self._latest.get(eye, (np.zeros(0), None))
        if picture is None or not np.array_equal(qpos, frame.qpos):
            picture = self._thread.submit(self._render, frame, eye)
            self._latest[eye] = frame.qpos, picture
        return picture

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _render(self, frame: Frame, eye: str) -> Picture:
        if self._placed is None or self._placed[0].spec is not frame.scene.spec:
            scene = PicturedFrame(frame.scene)
            self._placed = scene, _Sensors(scene, self._arm, self._lens, self.sensors)
        scene, endoscope = self._placed
        scene.show(frame)
        return endoscope.picture(eye)


class _Sensors(StereoEndoscope):
    def __init__(self, scene: PicturedFrame, arm: str, lens: Lens, sensors: Mapping[str, Array]) -> None:
        apart = max(float(np.linalg.norm(T[:3, 3])) for T in sensors.values())
        super().__init__(scene, arm, lens, baseline=2.0 * apart)
        self._sensors = sensors

    def T_world_camera(self, eye: str) -> Array:
        check_known("eye", self._sensors, eye)
        return self.scene.T_world_tip(self.arm) @ self._sensors[eye] @ T_SENSOR_OPTICAL
