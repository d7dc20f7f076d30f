"""The page of `trocar run --view`: the robot of a script, to look at, and its pedals."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.crtk.interface import PEDALS
from trocar.crtk.messages import Joy
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.crtk import Robot
    from trocar.viewer.model_drawing import ModelDrawing

PERIOD = 1 / 30  # real time between two pictures [s]
AWAY = 1.1  # of the camera from the middle of the bases, beyond the farthest of them [m]
DIRECTION = np.array([0.45, 0.8, 0.35])  # from there to the camera


@contextmanager
def watched(robot: Robot, port: int) -> Iterator[str]:
    """A page that follows a robot and has its pedals; gives its address."""
    try:
        from trocar.viewer.model_drawing import ModelDrawing
        from trocar.viewer.server import address, serve, stop
    except ModuleNotFoundError as error:
        raise TrocarError(f"--view needs {error.name}: pip install 'trocar[view]'") from error
    server = serve(port=port)
    drawing = ModelDrawing(server.scene, "/robot", robot.scene.spec)
    patient_side = [name for name, kind in robot.devices.items() if kind in ("PSM", "ECM")]
    bases = np.array([robot.scene.T_world_base(name)[:3, 3] for name in patient_side or robot.scene.arms])
    centre = bases.mean(axis=0)
    away = AWAY + float(np.linalg.norm(bases - centre, axis=1).max())
    server.initial_camera.position = tuple(centre + away * DIRECTION)
    server.initial_camera.look_at = tuple(centre)
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    server.gui.set_panel_label("trocar run")
    server.gui.add_markdown("Pedals")
    add_pedals(server.gui, robot)
    closing = threading.Event()
    thread = threading.Thread(target=_follow, args=(robot, drawing, closing), name="trocar-run-view", daemon=True)
    thread.start()
    try:
        yield address(server)
    finally:
        closing.set()
        thread.join(timeout=10.0)
        stop(server)


def add_pedals(gui: Any, robot: Robot) -> dict[str, Any]:
    """A box to tick for every pedal of the console."""
    boxes = {}
    for pedal in PEDALS:
        boxes[pedal] = gui.add_checkbox(pedal.replace("_", " "), initial_value=False)
        boxes[pedal].on_update(partial(_press, robot, pedal))
    return boxes


def _press(robot: Robot, pedal: str, event: Any) -> None:
    button = Joy.PRESSED if event.target.value else Joy.RELEASED
    robot.bus.publish(f"console/emulate_{pedal}", Joy(buttons=(button,)))


def _follow(robot: Robot, drawing: ModelDrawing, closing: threading.Event) -> None:
    while not closing.wait(PERIOD):
        show(robot, drawing)


def show(robot: Robot, drawing: ModelDrawing) -> None:
    """Draw the robot as it is now."""
    with robot.bus.lock:
        qpos, fixed = robot.scene.data.qpos.copy(), robot.scene.fixed_poses()
    drawing.hang(fixed)
    drawing.update(qpos)
