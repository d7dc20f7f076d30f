"""The page of `trocar run --view`: the robot of a script, its operating states and messages, and its pedals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.errors import TrocarError
from trocar.robot.interface import PEDALS
from trocar.robot.messages import Joy, OperatingState, String

if TYPE_CHECKING:
    from trocar.robot import Robot
    from trocar.view.model_drawing import ModelDrawing

PERIOD = 1 / 30  # real time between two pictures [s]
SHARE = 0.1  # most of the real time that drawing pictures may take
AWAY = 1.1  # distance of the camera from the centre of the bases, beyond the farthest base [m]
DIRECTION = np.array([0.45, 0.8, 0.35])  # from the centre of the bases to the camera
MESSAGES = 8  # number shown, newest first
COLOURS = {"FAULT": "#c92a2a", "error": "#c92a2a", "PAUSED": "#e67700", "warning": "#e67700", "ENABLED": "#2b8a3e"}


@contextmanager
def watched(robot: Robot, port: int) -> Iterator[str]:
    """A page that follows a robot, shows its states and messages and has its pedals; yields its address."""
    with drawn(robot, port) as (url, refresh):
        closing = threading.Event()
        thread = threading.Thread(target=_follow, args=(refresh, closing), name="trocar-run-view", daemon=True)
        thread.start()
        try:
            yield url
        finally:
            closing.set()
            thread.join(timeout=10.0)


@contextmanager
def drawn(robot: Robot, port: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """The same page without updates; yields its address and the function that updates it."""
    try:
        from trocar.view.model_drawing import ModelDrawing
        from trocar.view.server import address, serve, stop
    except ModuleNotFoundError as error:
        raise TrocarError(f"--view requires {error.name}: pip install 'trocar[view]'") from error
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
    panel = server.gui.add_html(status(robot))
    server.gui.add_markdown("Pedals")
    add_pedals(server.gui, robot)

    hung = robot.scene.cart
    show(robot, drawing)

    def refresh() -> None:
        nonlocal hung
        cart = robot.scene.cart  # a new object after the set-up joints were moved
        show(robot, drawing, bases=cart is not hung)
        hung = cart
        text = status(robot)
        if text != panel.content:
            panel.content = text

    try:
        yield address(server), refresh
    finally:
        stop(server)


def add_pedals(gui: Any, robot: Robot) -> dict[str, Any]:
    """Add a checkbox for every pedal of the console."""
    boxes = {}
    for pedal in PEDALS:
        boxes[pedal] = gui.add_checkbox(pedal.replace("_", " "), initial_value=False)
        boxes[pedal].on_update(partial(_press, robot, pedal))
    return boxes


def _press(robot: Robot, pedal: str, event: Any) -> None:
    button = Joy.PRESSED if event.target.value else Joy.RELEASED
    robot.bus.publish(f"console/emulate_{pedal}", Joy(buttons=(button,)))


def _follow(refresh: Callable[[], None], closing: threading.Event) -> None:
    """Refresh a page until `closing`: 30 pictures per second, fewer where they would slow the robot down."""
    pause = PERIOD
    while not closing.wait(pause):
        begun = time.perf_counter()
        refresh()
        pause = max(PERIOD, (1.0 / SHARE - 1.0) * (time.perf_counter() - begun))


def status(robot: Robot) -> str:
    """Operating states of the arms and the latest warnings and errors, as HTML."""
    begin = robot.start_time
    states, said, topics = [], [], robot.bus.topics
    with robot.bus.lock:
        for name in robot.controllers:
            state = robot.bus.read(f"{name}/operating_state")
            assert isinstance(state, OperatingState)
            flags = [word for word, on in (("homed", state.is_homed), ("busy", state.is_busy)) if on]
            cells = escape(name), _coloured(state.state, state.state), ", ".join(flags) or "not homed"
            states.append("<tr>" + "".join(f'<td style="padding-right: 1em">{cell}</td>' for cell in cells) + "</tr>")
        for name in robot.devices:
            for kind in ("warning", "error"):
                if f"{name}/{kind}" in topics:
                    said += [(message, kind) for message in robot.bus.history(f"{name}/{kind}")]
    said.sort(key=lambda entry: entry[0].stamp, reverse=True)
    lines = []
    for message, kind in said[:MESSAGES]:
        assert isinstance(message, String)
        lines.append(f"{1e-9 * (message.stamp - begin):.1f} s {_coloured(kind, kind)} {escape(message.value)}")
    messages = "<br>".join(lines) or "no warnings, no errors"
    return (
        f'<div style="padding: 0.5em 1em; font-size: 85%"><table>{"".join(states)}</table>'
        f'<div style="margin-top: 0.8em">{messages}</div></div>'
    )


def _coloured(word: str, text: str) -> str:
    return f'<b style="color: {COLOURS.get(word, "inherit")}">{text}</b>'


def show(robot: Robot, drawing: ModelDrawing, *, bases: bool = True) -> None:
    """Draw the robot in its current state; `bases`: also the bases of its arms, which only set-up joints move."""
    with robot.bus.lock:
        qpos, fixed = robot.scene.data.qpos.copy(), robot.scene.fixed_poses() if bases else None
    if fixed is not None:
        drawing.hang(fixed)
    drawing.update(qpos)
