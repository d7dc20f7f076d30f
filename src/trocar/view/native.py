"""The live simulation in MuJoCo's own window."""

from __future__ import annotations

import contextlib
import os
import sys
import time

from trocar.errors import TrocarError
from trocar.runtime.session import Session
from trocar.runtime.settings import Settings


def show(settings: Settings) -> None:
    """Open the window and update it until it is closed. The dVRK's controller holds the arm at home."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise TrocarError("--native needs a display; without one, omit it to use the browser")
    import mujoco.viewer

    with Session(settings) as session, contextlib.suppress(KeyboardInterrupt):
        model = session.frame.scene.spec.copy().compile()
        data = mujoco.MjData(model)
        session.play()
        with mujoco.viewer.launch_passive(model, data, show_left_ui=False) as window:
            while window.is_running() and session.running:
                frame = session.frame
                with window.lock():
                    data.qpos[: len(frame.qpos)] = frame.qpos
                    data.time = frame.time
                    mujoco.mj_kinematics(model, data)
                    mujoco.mj_comPos(model, data)
                window.sync()
                time.sleep(1 / 60)
        if session.error is not None:
            raise TrocarError(f"the simulation has ended: {session.error!r}")
