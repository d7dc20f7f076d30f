"""A robot in real time, paused at first, its page and a headless browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.support.raw_browser import until
from trocar.robot import Robot
from trocar.robot.messages import ArmFrame, Frame
from trocar.robot.settings import ArmSettings
from trocar.simulation import Scene
from trocar.view.pages import viewer_page
from trocar.view.panels.drive import DrivePanel
from trocar.view.panels.mechanism import MarksPanel, MechanismPanel
from trocar.view.panels.recordings import RecordingPanel
from trocar.view.panels.transport import TransportPanel
from trocar.view.server import serve


class ViewedRobot:
    """The page of `trocar view`, drawn by its thread unless `drawn` is False."""

    def __init__(self, scene: Scene | None = None, reports: Path | None = None, *, drawn: bool = True) -> None:
        scene = ArmSettings(arm="PSM").build() if scene is None else scene
        self.robot = Robot(scene, speed="real", start="ready", playing=False)
        self.simulation = self.robot.simulation()
        self.server = serve(port=0)
        self.server.rate = 1e6
        self.page = viewer_page(self.server, self.robot, reports)
        self.controls = self.page.panel(DrivePanel).controls
        self.transport, self.mechanism = self.page.panel(TransportPanel), self.page.panel(MechanismPanel)
        self.marks, self.recordings = self.page.panel(MarksPanel), self.page.panel(RecordingPanel)
        if drawn:
            self.page.start()

    def close(self) -> None:
        self.page.close()
        self.robot.close()
        self.server.stop()

    def frame(self) -> Frame:
        return self.simulation.frame()

    def arm(self, name: str = "PSM") -> ArmFrame:
        return self.frame().arms[name]

    def draw(self) -> None:
        """Draw everything, whenever it was drawn last."""
        for panel in self.page.panels:
            self.page.due[panel] = 0.0
        self.page.draw()

    def messages(self, action: Callable[[], object], count: int = 1) -> list[str]:
        """The messages that follow an action, once this many have arrived."""
        before = len(self.page.messages)
        action()
        until(lambda: len(self.page.messages) >= before + count, "a message")
        return list(self.page.messages)[before:]
