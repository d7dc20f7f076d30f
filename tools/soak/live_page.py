"""A live page with a connected browser that drags a slider, for a given time."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import ClassVar

from tests.support.raw_browser import RawBrowser
from tools.soak.process_memory import process_memory
from trocar.robot import Robot
from trocar.robot.controller.constants import PERIOD as TIMESTEP
from trocar.robot.settings import ArmSettings
from trocar.view.page import Page
from trocar.view.pages import viewer_page
from trocar.view.panels.drive import DrivePanel
from trocar.view.server import serve

LOOK, DRAG = 1.0, 0.1  # real time of a row, and between two messages of the browser [s]
SWING, PERIOD = 0.2, 10.0  # amplitude [rad] and period [s] of the dragged joint


class LivePage:
    """A robot in real time, its page, and one headless browser.

    Attributes:
        rows: one for every `LOOK`: real time, clock, rate, errors, browsers and memory; see `columns`.
            clock: distance of the simulated time from a whole number of timesteps [s].
            rate: simulated over real time; 1 on a machine that keeps up. moved: range of the joint in this row [rad].
    """

    columns: ClassVar[tuple[str, ...]] = ("real_time", "clock", "rate", "moved", "errors", "browsers", "memory_mb")
    shown: ClassVar[Mapping[str, str]] = {
        "rate": "simulated / real time",
        "moved": "motion of the dragged joint [rad]",
        "errors": "errors so far",
        "memory_mb": "memory [MB]",
    }
    about = "live page with a browser that drags a slider"

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.rows: list[tuple[float, ...]] = []
        self.hours = 0.0

    def run(self, seconds: float) -> None:
        """Serve the page for this many seconds of real time. Raises if the simulation or the page ends earlier."""
        robot = Robot(ArmSettings(arm=self.subject).build(), speed="real", start="ready")
        server = serve(port=0)
        page = viewer_page(server, robot).start()
        try:
            browser = RawBrowser(server)
            self._look(robot, page, browser, seconds)
            browser.close()
        finally:
            page.close()
            robot.close()
            server.stop()

    def _look(self, robot: Robot, page: Page, browser: RawBrowser, seconds: float) -> None:
        began = last = time.perf_counter()
        simulation = robot.simulation()
        simulated, seen = simulation.frame().time, []
        slider = next(iter(page.panel(DrivePanel).controls.joints.handles.values()))
        while (now := time.perf_counter()) < began + seconds:
            browser.set(slider, SWING * math.sin(2.0 * math.pi * (now - began) / PERIOD))
            time.sleep(DRAG)
            frame, now = simulation.frame(), time.perf_counter()
            seen.append(float(frame.arms[self.subject].q[0]))
            if now - last < LOOK:
                continue
            if robot.error is not None or not (page.running and frame.playing):
                raise SystemExit(f"the page stopped after {now - began:.0f} s: {robot.error!r}")
            clock = abs(frame.time - round(frame.time / TIMESTEP) * TIMESTEP)
            errors = len(page.messages)
            rate = (frame.time - simulated) / (now - last)
            browsers = len(page.server.get_clients())
            moved = max(seen) - min(seen)
            self.rows.append((now - began, clock, rate, moved, errors, browsers, process_memory()))
            last, simulated, seen, self.hours = now, frame.time, [], frame.time / 3600
