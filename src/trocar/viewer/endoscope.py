"""What the stereo endoscope of a scene sees, drawn in a thread of its own that keeps nobody waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np

from trocar.appearance import Picture
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.errors import TrocarError
from trocar.viewer.frame import Frame
from trocar.viewer.plant import Settings
from trocar.viewer.session import Session
from trocar.viewer.world import scene_of

SIZE = 320, 240  # of one picture [pixels]
INTERVAL = 1 / 8  # between two pairs [s]


class Endoscope:
    """Pictures, left and right: call it with a frame to ask for one and to get the latest, without waiting.

    The thread has a scene of its own, a twin, which it puts where the frame is. Where nothing can be drawn, `tell`
    says why.
    """

    def __init__(self, settings: Settings, arm: str, tell: Callable[[str], None]) -> None:
        self._settings, self._arm, self._tell = settings, arm, tell
        width, height = SIZE
        self._pictures: list[Picture] = [np.full((height, width, 3), 40, dtype=np.uint8)] * 2
        self._asked: Frame | None = None
        self._wake, self._closing = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="trocar-endoscope", daemon=True)

    def start(self) -> Endoscope:
        self._thread.start()
        return self

    def close(self) -> None:
        self._closing = True
        self._wake.set()
        self._thread.join(timeout=10.0)

    def __call__(self, frame: Frame) -> list[Picture]:
        # nothing is drawn while nothing moves
        was = self._asked
        if was is None or was.settings is not frame.settings or not np.array_equal(was.qpos, frame.qpos):
            self._asked = frame
            self._wake.set()
        return self._pictures

    def _built(self, settings: Settings) -> StereoEndoscope:
        """Of a twin with set-up joints as in the file: the endoscope sees those move that are moved after it is made.

        Without contacts: the twin only goes where the simulation has been, and nothing is refused as overlapping.
        """
        twin = scene_of(replace(settings, set_up={}), contacts=False)
        return StereoEndoscope(twin, self._arm, Lens.of_view(VIEW, *SIZE))

    def _run(self) -> None:
        settings = self._settings
        try:
            endoscope = self._built(settings)
            while True:
                self._wake.wait()
                self._wake.clear()
                if self._closing:
                    break
                began, frame = time.perf_counter(), self._asked
                if frame is None:
                    continue
                if frame.settings is not None and frame.settings is not settings:
                    if replace(frame.settings, set_up=settings.set_up) != settings:  # more than set-up joints
                        endoscope = self._built(frame.settings)
                    settings = frame.settings
                    for arm, q_setup in settings.set_up.items():
                        endoscope.scene.set_up(arm, q_setup)
                twin = endoscope.scene
                if len(frame.qpos) == twin.model.nq:
                    twin.data.qpos[:] = frame.qpos
                    mujoco.mj_kinematics(twin.model, twin.data)
                    self._pictures = list(endoscope.pair())
                time.sleep(max(0.0, INTERVAL - (time.perf_counter() - began)))
        except TrocarError as error:
            self._tell(f"the endoscope shows nothing: {error}")


def endoscope_of(settings: Settings, session: Session) -> Endoscope | None:
    """That of the first ECM of a scene; None where there is none."""
    scopes = [name for name, carries in session.arms.items() if carries == "endoscope"]
    return Endoscope(settings, scopes[0], session.notices.put) if settings.scene is not None and scopes else None
