"""A live robot in MuJoCo's own window."""

from __future__ import annotations

import contextlib
import os
import sys
import time

from trocar.errors import TrocarError
from trocar.robot import Robot


def show(robot: Robot) -> None:
    """Open the window and update it until it is closed. The robot's controllers hold the arms where they are."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise TrocarError("MuJoCo's own window needs a display; without one, use the browser")
    import mujoco.viewer

    simulation = robot.simulation()
    model = simulation.frame().scene.spec.copy().compile()
    data = mujoco.MjData(model)
    with (
        contextlib.suppress(KeyboardInterrupt),
        mujoco.viewer.launch_passive(model, data, show_left_ui=False) as window,
    ):
        while window.is_running() and robot.error is None:
            frame = simulation.frame()
            with window.lock():
                data.qpos[: len(frame.qpos)] = frame.qpos
                data.time = frame.time
                mujoco.mj_kinematics(model, data)
                mujoco.mj_comPos(model, data)
            window.sync()
            time.sleep(1 / 60)
    if robot.error is not None:
        raise TrocarError(f"the simulation has ended: {robot.error!r}")
