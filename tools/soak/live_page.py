"""A live page with a connected browser that drags a slider, for a given time."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import ClassVar

from tests.support.raw_browser import RawBrowser
from tools.soak.process_memory import process_memory
from trocar.runtime import TIMESTEP, Session, Settings
from trocar.view.server import serve
from trocar.view.viewer_page import ViewerPage

LOOK, DRAG = 1.0, 0.1  # real time of a row, and between two messages of the browser [s]
SWING, PERIOD = 0.2, 10.0  # amplitude [rad] and period [s] of the dragged joint


class LivePage:
    """A session in real time, its page, and one headless browser.

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
        session = Session(Settings(arm=self.subject)).start()
        server = serve(port=0)
        page = ViewerPage(server, session).start()
        try:
            browser = RawBrowser(server)
            session.play()
            session.settled()
            self._look(session, page, browser, seconds)
            browser.close()
        finally:
            page.close()
            session.close()
            server.stop()

    def _look(self, session: Session, page: ViewerPage, browser: RawBrowser, seconds: float) -> None:
        began = last = time.perf_counter()
        simulated, seen = session.frame.time, []
        slider = next(iter(page.driving.joints.handles.values()))
        while (now := time.perf_counter()) < began + seconds:
            browser.set(slider, SWING * math.sin(2.0 * math.pi * (now - began) / PERIOD))
            time.sleep(DRAG)
            frame, now = session.frame, time.perf_counter()
            seen.append(float(frame.arms[self.subject].q[0]))
            if now - last < LOOK:
                continue
            if not (session.running and page.running and frame.playing):
                raise SystemExit(f"the page stopped after {now - began:.0f} s: {session.error!r}")
            clock = abs(frame.time - round(frame.time / TIMESTEP) * TIMESTEP)
            errors = sum(message.level == "error" for message in session.messages.since())
            rate = (frame.time - simulated) / (now - last)
            browsers = len(page.server.get_clients())
            moved = max(seen) - min(seen)
            self.rows.append((now - began, clock, rate, moved, errors, browsers, process_memory()))
            last, simulated, seen, self.hours = now, frame.time, [], frame.time / 3600
