"""The view of a scene's stereo endoscope, rendered in a thread of its own."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import mujoco
import numpy as np

from trocar.appearance import Picture
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.runtime.frame import Frame
from trocar.runtime.session import Session
from trocar.runtime.settings import Settings
from trocar.simulation import Scene

SIZE = 320, 240  # of one picture [pixels]
INTERVAL = 1 / 8  # between two pairs [s]


class EndoscopePane:
    """Pictures, left and right: call it with a frame to request a pair and to get the latest one, without waiting.

    The thread puts a scene of its own where the frame is. If it cannot render, it posts a message and ends.
    """

    def __init__(self, session: Session, arm: str) -> None:
        self._settings, self._arm, self._messages = session.frame.scene.settings, arm, session.messages
        width, height = SIZE
        self._pictures: list[Picture] = [np.full((height, width, 3), 40, dtype=np.uint8)] * 2
        self._asked: Frame | None = None
        self._wake, self._closing = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="trocar-endoscope", daemon=True)

    def start(self) -> EndoscopePane:
        self._thread.start()
        return self

    def close(self) -> None:
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)

    def __call__(self, frame: Frame) -> list[Picture]:
        # nothing is drawn while nothing moves
        was = self._asked
        if was is None or was.scene is not frame.scene or not np.array_equal(was.qpos, frame.qpos):
            self._asked = frame
            self._wake.set()
        return self._pictures

    def _built(self, settings: Settings) -> tuple[Scene, StereoEndoscope]:
        """A scene and its endoscope. It has no contacts: it only goes where the simulation has been."""
        scene = settings.build(contacts=False)
        return scene, StereoEndoscope(scene, self._arm, Lens.of_view(VIEW, *SIZE))

    def _run(self) -> None:
        try:
            self._render()
        except Exception as error:
            self._messages.post(f"the endoscope's view has stopped: {error}", "error")

    def _render(self) -> None:
        settings = self._settings
        scene, endoscope = self._built(settings)
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closing:
                return
            began, frame = time.perf_counter(), self._asked
            if frame is None:
                continue
            wanted = frame.scene.settings
            if wanted is not settings:
                if replace(wanted, set_up=settings.set_up) != settings:  # more than set-up joints
                    scene, endoscope = self._built(wanted)
                settings = wanted
                for arm, q_setup in settings.set_up.items():
                    scene.set_up(arm, q_setup)
            if len(frame.qpos) == scene.model.nq:
                scene.data.qpos[:] = frame.qpos
                mujoco.mj_kinematics(scene.model, scene.data)
                self._pictures = list(endoscope.pair())
            time.sleep(max(0.0, INTERVAL - (time.perf_counter() - began)))


def endoscope_pane(session: Session) -> EndoscopePane | None:
    """The view of the first endoscope among several arms; None where there is none."""
    scopes = [name for name, about in session.frame.scene.arms.items() if about.arm.carries == "endoscope"]
    return EndoscopePane(session, scopes[0]) if scopes and len(session.arms) > 1 else None
