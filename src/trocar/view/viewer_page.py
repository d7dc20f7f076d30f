"""The page: scene and panels, drawn by a thread that reads frames and never delays the simulation."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import viser

from trocar.appearance import Picture
from trocar.palette import ACCENT, rgb
from trocar.runtime.frame import Frame
from trocar.runtime.session import Session
from trocar.spatial import Array, quaternion
from trocar.view.labels import FROM_THE_SIDE, View
from trocar.view.model_drawing import ModelDrawing
from trocar.view.overlays import Overlays
from trocar.view.page import BASE
from trocar.view.panels.driving import DrivingPanel
from trocar.view.panels.mechanism import MechanismPanel
from trocar.view.panels.plots import PlotPanel
from trocar.view.panels.recordings import RecordingPanel
from trocar.view.panels.reports import ReportPanel
from trocar.view.panels.transport import Transport
from trocar.view.plain_text import plain
from trocar.view.second_arm import SecondArm
from trocar.view.selection import Selection
from trocar.view.stage import add_floor, add_lights, default_camera
from trocar.view.viser_internals import PageServer

CONTROLS = 260  # width of the controls [px]
DRAW, FIGURES, PLOTS = 1 / 40, 0.1, 0.25  # real time between updates of poses, numbers and curves [s]
MESSAGE_TIME = 15.0  # a message stays this long [s]
MOST_FAILURES = 20  # number of different page errors that are reported
Cameras = Callable[[Frame], Sequence[Picture]]


class ViewerPage:
    """Everything in the browser, for one session.

    Args:
        cameras: renders pictures of an endoscope, left (and right), shown next to the scene. Default: no such pane.
        reports: folder of HTML reports to show in the page. Default: no such tab.
    """

    def __init__(
        self,
        server: PageServer,
        session: Session,
        cameras: Cameras | None = None,
        reports: Path | None = None,
    ) -> None:
        self.server, self.session = server, session
        server.inbox.report = lambda text: session.messages.post(text, "error")
        self._selected = session.arms[0]
        self._shown = Selection.of(session.frame, self._selected)
        self._mechanism = self._shown.about.mechanism()
        self._base = server.scene.add_frame(BASE, show_axes=False)
        self._dirty: set[str] = set()
        self._closing = threading.Event()
        self._message_until, self._read, self._told = 0.0, 0, ""
        self._failures: set[str] = set()
        add_lights(server.scene)
        gui = server.gui
        gui.set_panel_label("trocar")
        gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium", brand_color=rgb(ACCENT))
        gui.main_panel.dock_right()
        gui.main_panel.set_width(CONTROLS)
        self._message = gui.add_markdown("", visible=False)
        self.transport = Transport(server, session, self._reset)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Drive", viser.Icon.DEVICE_GAMEPAD_2):
            self.driving = DrivingPanel(server, session, self._shown, self.select)
            self.second: SecondArm | None = None
            if len(session.arms) > 1:
                with gui.add_folder("Second arm", expand_by_default=False):
                    self.second = SecondArm(server, session, session.arms[1], self.select_second)
        tab = tabs.add_tab("Mechanism", viser.Icon.SETTINGS)
        self.mechanism = MechanismPanel(gui, tab, session, self._shown, self._dirty.add)
        with tabs.add_tab("Recordings", viser.Icon.MOVIE):
            self.recordings = RecordingPanel(server, session, self.selected, lambda: self._dirty.add("source"))
        if reports is not None:
            with tabs.add_tab("Reports", viser.Icon.REPORT):
                self.reports = ReportPanel(server, reports, session.messages)
        self._cameras = cameras
        self._seen: Picture | None = None
        pictures = None if cameras is None else cameras(session.frame)
        self.plots = PlotPanel(server, self._shown.about.arm, pictures)
        self._ghost: ModelDrawing | None = None
        self.drawing = ModelDrawing(server.scene, "/arm", self._shown.frame.scene.spec)
        self.drawing.hang(self._shown.frame.scene.fixed)
        self._place_base()
        self.overlays = Overlays(server.scene, self.drawing, self._shown.about, self.mechanism.shown)
        self._place_camera()
        self._thread = threading.Thread(target=self._run, name="trocar-page", daemon=True)

    def start(self) -> ViewerPage:
        self._thread.start()
        return self

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)
        self.recordings.close()

    @property
    def running(self) -> bool:
        """True while the page is being drawn."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Return when the page is closed, or on Ctrl-C."""
        while not self._closing.wait(0.5):
            pass

    def selected(self) -> str:
        """The arm that targets, pushes, plots and recordings refer to."""
        return self._selected

    def select(self, arm: str) -> None:
        """Show another arm. The others hold their targets, and a push on the previous arm ends."""
        before = self._selected
        if arm != before:
            self.session.push(np.zeros(3), before)
            self._selected = arm
            if self.second is not None and self.second.name == arm:
                self.second.select(before)
            self._dirty.add("arm")

    def select_second(self, arm: str) -> None:
        """Drive another arm as the second one. If it is the selected arm, the two are swapped."""
        assert self.second is not None
        if arm == self._selected:
            self.select(self.second.name)
        elif arm != self.second.name:
            self.second.select(arm)
            self._dirty.add("arm")

    def tell(self, text: str) -> None:
        """Show a message in every browser, including clients that connect later."""
        self._told = text
        self._message.content = f"**Note:** {plain(text)}"
        self._message.visible = True
        self._message_until = time.perf_counter() + MESSAGE_TIME
        for client in self.server.get_clients().values():
            client.add_notification("trocar", text, auto_close_seconds=MESSAGE_TIME, color="orange")

    def _reset(self) -> None:
        self.session.reset()
        frame = self.session.settled()
        self.driving.reset(Selection.of(frame, self._selected))
        if self.second is not None:
            self.second.reset(frame)

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        figures = plots = 0.0
        number = 0
        due = time.perf_counter()
        while not self._closing.wait(max(due - time.perf_counter(), 1e-3)):
            now = time.perf_counter()
            due = max(due + DRAW, now)  # missed updates are skipped
            try:
                frame = self.recordings.frame() if self.recordings.active else self.session.frame
                shown = Selection.of(frame, self._selected)
                changed = frame.number != number or bool(self._dirty)
                number = frame.number
                with self.server.atomic():
                    if changed:
                        self._draw(shown)
                    if now - figures >= FIGURES:
                        figures = now
                        self._figures(shown)
                    if now - plots >= PLOTS:
                        plots = now
                        self._curves(shown)
                self.server.flush()
            except Exception as error:  # the page must report its errors, and the simulation must not be affected
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Report an error of the page once: the next drawing is likely to fail in the same way."""
        text = f"the page failed to draw: {error!r}"
        if text not in self._failures and len(self._failures) < MOST_FAILURES:
            self._failures.add(text)
            traceback.print_exception(error, file=sys.stderr)
            self.session.messages.post(text, "error")

    def _draw(self, shown: Selection) -> None:
        wanted = set(self._dirty)
        self._dirty.difference_update(wanted)
        if shown.frame.scene is not self._shown.frame.scene or shown.name != self._shown.name:
            self._draw_scene(shown)
        if "source" in wanted:
            self.transport.show(not self.recordings.active)
            self.plots.clear()
            self._draw_ghost()
        if "opacity" in wanted:
            self.drawing.see_through(self.mechanism.opacity.value)
        if "collision" in wanted:
            self.drawing.show_collision(self.mechanism.collision.value)
        for name in wanted & set(self.mechanism.overlays):
            self.overlays.show(name, self.mechanism.shown[name])
        self.drawing.update(shown.frame.qpos)
        self.overlays.update(shown, self._view())
        self.driving.refresh(shown)
        if self.second is not None:
            self.second.update(shown.frame)
        b = self.recordings.b
        if self._ghost is not None and b is not None:
            self._ghost.update(b.frame(shown.frame.time).qpos)
            self._ghost.hide_where_on(self.drawing)

    def _figures(self, shown: Selection) -> None:
        self.transport.refresh(shown, self._mechanism, self.plots.costly)
        self.plots.refresh_bars(self._mechanism, shown.state)
        for message in self.session.messages.since(self._read):
            self._read = message.number
            if not self._message.visible or message.text != self._told:  # dragging can repeat a message often
                self.tell(message.text)
        if not self.server.get_clients():  # a message waits until a browser is connected
            self._message_until = time.perf_counter() + MESSAGE_TIME
        if self._message.visible and time.perf_counter() > self._message_until:
            self._message.visible = False
        if self._cameras is not None and self.plots.looks and shown.frame.live and self.server.get_clients():
            pictures = self._cameras(shown.frame)
            if pictures[0] is not self._seen:
                self._seen = pictures[0]
                self.plots.show_pictures(pictures)

    def _curves(self, shown: Selection) -> None:
        if self.recordings.active and self.recordings.a is not None:
            self.plots.recorded(self.recordings.a, self.recordings.b, shown.frame.time)
        elif shown.frame.live and shown.frame.playing:
            self.plots.live(self._mechanism, self.session.history(shown.name), shown.about.friction)

    def _view(self) -> View:
        """The camera of the first browser. Labels are shared by all browsers and arranged for this one."""
        for client in self.server.get_clients().values():
            camera = client.camera
            if np.linalg.norm(np.cross(camera.look_at - camera.position, camera.up_direction)) > 1e-6:
                return View.of(camera.position, camera.look_at, camera.up_direction)
        return FROM_THE_SIDE

    # -- parts of the scene ------------------------------------------------------------------------------------------

    def _draw_scene(self, shown: Selection) -> None:
        """Draw another arm, a recording instead of the simulation, or the same arm after a change."""
        was, self._shown = self._shown, shown
        self._mechanism = shown.about.mechanism()
        before, after = was.frame.scene, shown.frame.scene
        self._place_base()
        if before.spec is not after.spec or was.name != shown.name:  # more than the set-up joints were moved
            self.overlays.remove()
            if before.spec is not after.spec:
                self.drawing.become(after.spec)
            if was.alone is not shown.alone:  # from several arms to the recording of one, or back
                position, look_at = self._outlook()
                for client in self.server.get_clients().values():
                    client.camera.position, client.camera.look_at = position, look_at
            self.overlays = Overlays(self.server.scene, self.drawing, shown.about, self.mechanism.shown)
            if shown.frame.live:
                self.plots.clear()
        self.drawing.hang(after.fixed)
        if shown.frame.live:
            self.driving.rebuild(shown)
            self.mechanism.rebuild(shown)

    def _place_base(self) -> None:
        T = self._shown.about.T_world_base
        self._base.position, self._base.wxyz = T[:3, 3], quaternion(T[:3, :3])

    def _draw_ghost(self) -> None:
        if self._ghost is not None:
            self._ghost.remove()
            self._ghost = None
        b = self.recordings.b
        if self.recordings.active and b is not None:
            self._ghost = ModelDrawing(self.server.scene, "/ghost", b.scene.spec, ghost=True)

    def _outlook(self) -> tuple[Array, Array]:
        """Position of the camera and the point it looks at (3,) [m] in the world."""
        return default_camera(self._shown.frame, self.drawing.extent)

    def _place_camera(self) -> None:
        camera = self.server.initial_camera
        position, look_at = self._outlook()
        camera.position, camera.look_at = tuple(position), tuple(look_at)
        add_floor(self.server.scene, self.drawing.extent)
