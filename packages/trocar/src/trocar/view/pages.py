"""The pages: each is a list of panels."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import count
from pathlib import Path

import numpy as np

from trocar.plugins import plugins
from trocar.robot import Robot
from trocar.robot.messages import Frame
from trocar.robot.settings import ArmSettings
from trocar.robot.shadow import Shadow
from trocar.teleoperation.channel import Channel
from trocar.teleoperation.devices import DeviceConsole
from trocar.view.own_run import OwnRun
from trocar.view.page import Camera, Page
from trocar.view.panel import Panel
from trocar.view.panels.drive import DrivePanel, SecondArmPanel
from trocar.view.panels.endoscope import EndoscopePanel, EndoscopeRenderer, endoscope_of
from trocar.view.panels.mechanism import MarksPanel, MechanismPanel
from trocar.view.panels.own_run import RunCurvePanel, RunPanel
from trocar.view.panels.plots import TAB, CurvePanel, EffortPanel
from trocar.view.panels.recordings import RecordedCurvePanel, RecordingPanel
from trocar.view.panels.reports import ReportPanel
from trocar.view.panels.shadow import ShadowCurvePanel, ShadowStatePanel
from trocar.view.panels.states import MessagePanel, NoticePanel, PedalPanel, StatePanel
from trocar.view.panels.teleop import AimPanel, ContactArrows, DevicePanel, MouseHandles, PairPanel
from trocar.view.panels.transport import TransportPanel
from trocar.view.viser_internals import PageServer

SCRIPT_SHARE = 0.1  # largest share of the real time for drawing while a script or a ROS client drives the robot
CLOSE_UP = np.array([0.17, 0.28, 0.19])  # first camera position relative to the instruments [m]
PICTURE, PICTURE_INTERVAL = (640, 480), 1 / 15  # size [pixels] and interval [s] of the endoscope's picture


def viewer_page(
    server: PageServer,
    robot: Robot,
    reports: Path | None = None,
    settings: ArmSettings | None = None,
    recording: bool = False,
    chooser: Callable[[RecordingPanel], Panel] | None = None,
) -> Page:
    """A robot to watch, drive and change, with recordings and reports; `trocar view`.

    Args:
        reports: folder of HTML reports. settings: of the arm of recordings that do not name theirs.
        recording: the page opens with the tabs of a recording.
        chooser: makes the panel that chooses the recordings to show.
    """
    recordings = RecordingPanel(robot, settings)
    curves: list[Panel] = [RecordedCurvePanel(recordings)]
    panels: list[Panel] = [NoticePanel(robot), TransportPanel(robot), StatePanel(robot, always=False)]
    panels += [] if chooser is None else [chooser(recordings)]
    panels += [recordings, *curves] if recording else []
    panels += [DrivePanel(robot), *([SecondArmPanel(robot)] if len(robot.arms) > 1 else [])]
    frame = robot.simulation().frame()
    soft = any(thing.soft for thing in frame.scene.arguments["objects"])
    panels += [MechanismPanel(robot), MarksPanel(close_up=soft)]
    panels += [] if recording else [recordings]
    panels += [] if reports is None else [ReportPanel(reports)]
    panels += [*_endoscope(robot), EffortPanel(), CurvePanel(robot)]
    panels += [] if recording else curves
    panels += [make(robot) for make in plugins("trocar.panels").values()]
    return Page(server, robot.simulation().frame, panels, camera=close_up(frame, robot.arms) if soft else None)


def served_page(server: PageServer, robot: Robot) -> Page:
    """A robot that other programs command, and its own controls; `trocar serve --view`."""
    panels = [StatePanel(robot), MessagePanel(robot), DrivePanel(robot), MarksPanel()]
    panels += [*_endoscope(robot), EffortPanel()]
    return Page(server, robot.simulation().frame, panels, title="trocar serve", share=SCRIPT_SHARE)


def scene_page(server: PageServer, source: Callable[..., Frame]) -> Page:
    """A simulation that other programs command and this page only shows; `trocar serve boards --view`."""
    panels = [MarksPanel(), EffortPanel(choose=True), *_pictures(source())]
    return Page(server, source, panels, title="trocar serve", share=SCRIPT_SHARE)


def own_page(server: PageServer, run: OwnRun) -> Page:
    """A simulation under its user's own controller; `tr.show`."""
    return Page(server, run.frame, [RunPanel(run), MarksPanel(), EffortPanel(), RunCurvePanel(run)])


def script_page(server: PageServer, robot: Robot) -> Page:
    """The robot of a script: its states, messages, pedals and efforts; `trocar run --view`."""
    panels = [StatePanel(robot), MessagePanel(robot), PedalPanel(robot), EffortPanel(choose=True)]
    return Page(server, robot.simulation().frame, panels, title="trocar run", share=SCRIPT_SHARE)


def teleop_page(
    server: PageServer,
    robot: Robot,
    console: DeviceConsole,
    delay: float = 0.0,
    aim: str = "",
    score: Callable[[], str] | None = None,
) -> Page:
    """A robot under input devices, seen after a network delay [s]; `trocar teleop`. aim, score: see `AimPanel`."""
    camera = close_up(robot.simulation().frame(), console.pairs)
    picture = EndoscopePanel(EndoscopeRenderer("ECM", PICTURE, PICTURE_INTERVAL), eyes=1, through=True)
    panels = [
        picture,
        AimPanel(robot, aim, score),
        PairPanel(console),
        DevicePanel(console),
        MouseHandles(robot, console),
        ContactArrows(),
    ]
    return Page(server, delayed(robot, delay), panels, title="trocar teleop", camera=camera)


def shadow_page(server: PageServer, shadow: Shadow, name: str) -> Page:
    """A robot that is only watched; `name`: of its arm in ROS; `trocar watch`."""
    numbers = count(1)
    panels = [ShadowStatePanel(shadow, name), ShadowCurvePanel(shadow)]
    return Page(server, lambda *_: shadow.frame(next(numbers)), panels)


def delayed(robot: Robot, delay: float) -> Callable[..., Frame]:
    """A source of frames as they are seen after a network delay [s]; before the first has arrived, of current ones."""
    simulation, line, latest = robot.simulation(), Channel(delay), list[Frame]()

    def source(arms: Collection[str] | None = None) -> Frame:
        frame = simulation.frame(arms)
        line.send(frame.time, frame)
        arrived = line.receive(frame.time)
        latest[:] = [arrived or (latest[0] if latest else frame)]
        return latest[0]

    return source


def close_up(frame: Frame, arms: Collection[str]) -> Camera:
    """Camera near the instruments of some arms."""
    shown = [name for name in arms if frame.scene.arms[name].arm.carries != "endoscope"] or arms
    tips = [(frame.scene.arms[name].T_world_base @ frame.arms[name].T_tip)[:3, 3] for name in shown]
    centre = np.mean(tips, axis=0)
    return centre + CLOSE_UP, centre


def _endoscope(robot: Robot) -> list[Panel]:
    return _pictures(robot.simulation().frame())


def _pictures(frame: Frame) -> list[Panel]:
    arm = endoscope_of(frame)
    return [] if arm is None else [EndoscopePanel(EndoscopeRenderer(arm), tab=TAB)]
