"""The view of a scene's stereo endoscope, rendered in a separate thread."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import mujoco
import numpy as np

from trocar.appearance import Picture
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.runtime.frame import Frame
from trocar.runtime.session import Session
from trocar.runtime.settings import Settings

SIZE = 320, 240  # size of one picture [pixels]
INTERVAL = 1 / 8  # time between two stereo pairs [s]


class EndoscopePane:
    """Left and right pictures. A call with a frame requests a new pair and returns the latest one without waiting.

    Contact forces are drawn as arrows. Its thread moves its own copy of the scene to the frame. If it cannot render, it
    posts a message and stops drawing.
    """

    def __init__(self, session: Session, arm: str) -> None:
        self._arm, self._messages = arm, session.messages
        width, height = SIZE
        self._pictures: list[Picture] = [np.full((height, width, 3), 40, dtype=np.uint8)] * 2
        self._asked: Frame | None = None
        self._pending: Future[None] | None = None
        self._settings: Settings | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-endoscope")  # owns OpenGL's context

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)

    def __call__(self, frame: Frame) -> list[Picture]:
        was, pending = self._asked, self._pending
        # draw nothing while nothing moves and no force changes
        moved = was is None or was.scene is not frame.scene or not np.array_equal(was.qpos, frame.qpos)
        moved = moved or (was is not None and not np.array_equal(was.contacts, frame.contacts))
        if moved and (pending is None or (pending.done() and pending.exception() is None)):
            self._asked, self._pending = frame, self._thread.submit(self._render, frame)
        return self._pictures

    def _render(self, frame: Frame) -> None:
        began = time.perf_counter()
        try:
            self._prepare(frame.scene.settings)
            if len(frame.qpos) == self._scene.model.nq:
                self._scene.data.qpos[:] = frame.qpos
                mujoco.mj_kinematics(self._scene.model, self._scene.data)
                self._pictures = list(self._endoscope.pair(frame.contacts))
        except Exception as error:
            self._messages.post(f"the endoscope's view has stopped: {error}", "error")
            raise
        time.sleep(max(0.0, INTERVAL - (time.perf_counter() - began)))

    def _prepare(self, wanted: Settings) -> None:
        """Give the scene these settings. It has no contacts: it only replays states of the simulation."""
        was, self._settings = self._settings, wanted
        if was is wanted:
            return
        if was is None or replace(wanted, set_up=was.set_up) != was:  # more than the set-up joints changed
            self._scene = wanted.build(contacts=False)
            self._endoscope = StereoEndoscope(self._scene, self._arm, Lens.of_view(VIEW, *SIZE))
        for arm, q_setup in wanted.set_up.items():
            self._scene.set_up(arm, q_setup)


def endoscope_pane(session: Session) -> EndoscopePane | None:
    """The view of the first endoscope in a scene of several arms; None if there is no endoscope."""
    scopes = [name for name, about in session.frame.scene.arms.items() if about.arm.carries == "endoscope"]
    return EndoscopePane(session, scopes[0]) if scopes and len(session.arms) > 1 else None
