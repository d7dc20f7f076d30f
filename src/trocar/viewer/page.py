"""The page: scene and panels together, drawn by a thread that reads frames and never holds the simulation up."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import viser

from trocar.appearance import Picture
from trocar.palette import ACCENT, rgb
from trocar.spatial import Array, quaternion
from trocar.viewer.drawing import Drawing
from trocar.viewer.frame import Frame
from trocar.viewer.overlays import BASE, Overlays
from trocar.viewer.panels.driving import DrivingPanel
from trocar.viewer.panels.mechanism import MechanismPanel
from trocar.viewer.panels.plots import PlotPanel
from trocar.viewer.panels.recordings import RecordingPanel
from trocar.viewer.panels.reports import ReportPanel
from trocar.viewer.panels.transport import Transport
from trocar.viewer.session import Session

DRAW, FIGURES, PLOTS = 1 / 40, 0.1, 0.25  # real time between updates of poses, numbers and curves [s]
ZENITH, HORIZON = (0.72, 0.78, 0.85), (0.93, 0.94, 0.95)  # of the backdrop
MESSAGE_TIME = 15.0  # a message stays so long [s]
Cameras = Callable[[Frame], list[Picture]]


class Page:
    """Everything in the browser, for one session.

    Args:
        cameras: pictures of an endoscope, left (and right), shown beside the scene; None for no such pane.
        reports: folder of HTML reports to be read in the page; None for no such tab.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        session: Session,
        cameras: Cameras | None = None,
        reports: Path | None = None,
    ) -> None:
        self.server, self.session = server, session
        self._plant = session.frame.plant
        self._mechanism = self._plant.equations()
        self._base = server.scene.add_frame(BASE, show_axes=False)
        self._dirty: set[str] = set()
        self._closing = threading.Event()
        self._message_until = 0.0
        self._dress()
        gui = server.gui
        gui.set_panel_label("trocar")
        gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium", brand_color=rgb(ACCENT))
        gui.main_panel.dock_right()
        gui.main_panel.set_width(330)
        self._message = gui.add_markdown("", visible=False)
        self.transport = Transport(server, session, self._reset)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Drive", viser.Icon.DEVICE_GAMEPAD_2):
            self.driving = DrivingPanel(server, session, self._plant)
        with tabs.add_tab("Mechanism", viser.Icon.SETTINGS):
            self.mechanism = MechanismPanel(server, session, self.tell, self._dirty.add)
        with tabs.add_tab("Recordings", viser.Icon.MOVIE):
            self.recordings = RecordingPanel(server, session, self.tell, lambda: self._dirty.add("source"))
        if reports is not None:
            with tabs.add_tab("Reports", viser.Icon.REPORT):
                self.reports = ReportPanel(server, reports)
        self._cameras = cameras
        self._seen: Picture | None = None
        self.plots = PlotPanel(server, self._plant, None if cameras is None else cameras(session.frame))
        self._ghost: Drawing | None = None
        self._drawing = Drawing(server.scene, "/arm", self._plant.spec)
        self._hung: Mapping[str, Array] = {}  # what set-up joints were drawn at
        self._overlays = self._laid_over()
        self._place_camera()
        self._thread = threading.Thread(target=self._run, name="trocar-page", daemon=True)

    def start(self) -> Page:
        self._thread.start()
        return self

    def close(self) -> None:
        self._closing.set()
        self._thread.join(timeout=10.0)
        self.recordings.close()

    def wait(self) -> None:
        """Until it is closed, or Ctrl-C."""
        while not self._closing.wait(0.5):
            pass

    def tell(self, text: str) -> None:
        """A message that everyone who looks at the page sees, also who comes a little later."""
        self._message.content = f"**Note:** {text}"
        self._message.visible = True
        self._message_until = time.perf_counter() + MESSAGE_TIME
        for client in self.server.get_clients().values():
            client.add_notification("trocar", text, auto_close_seconds=MESSAGE_TIME, color="orange")

    def _reset(self) -> None:
        self.session.reset()
        self.driving.reset(self.session.settled())

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        figures = plots = 0.0
        number = 0
        due = time.perf_counter()
        while not self._closing.wait(max(due - time.perf_counter(), 1e-3)):
            now = time.perf_counter()
            due = max(due + DRAW, now)  # what was missed is not made up for
            try:
                recorded = self.recordings.active
                frame = self.recordings.frame() if recorded else self.session.frame
                changed = frame.number != number or bool(self._dirty)
                number = frame.number
                with self.server.atomic():
                    if changed:
                        self._draw(frame)
                    if now - figures >= FIGURES:
                        figures = now
                        self._figures(frame)
                    if now - plots >= PLOTS:
                        plots = now
                        self._curves(frame)
                self.server.flush()
            except Exception as error:  # a page that fails must say so, and the simulation must not notice
                traceback.print_exc(file=sys.stderr)
                self.tell(f"the page failed to draw: {error}")

    def _draw(self, frame: Frame) -> None:
        wanted = set(self._dirty)
        self._dirty.difference_update(wanted)
        if frame.plant is not self._plant:
            self._draw_plant(frame)
        if frame.fixed is not self._hung:
            self._hung = frame.fixed
            self._drawing.hang(frame.fixed)
        if "source" in wanted:
            self.transport.show(not self.recordings.active)
            self.plots.clear()
            self._draw_ghost()
        if "opacity" in wanted:
            self._drawing.see_through(self.mechanism.opacity.value)
        if "collision" in wanted:
            self._drawing.show_collision(self.mechanism.collision.value)
        for name in wanted & set(self.mechanism.overlays):
            self._overlays.show(name, self.mechanism.shown[name])
        self._drawing.update(frame.qpos)
        self._overlays.update(frame)
        self.driving.refresh(frame)
        b = self.recordings.b
        if self._ghost is not None and b is not None:
            self._ghost.update(b.frame(frame.time).qpos)

    def _figures(self, frame: Frame) -> None:
        self.transport.refresh(frame, self._mechanism)
        self.plots.refresh_bars(self._mechanism, frame)
        while not self.session.notices.empty():
            self.tell(self.session.notices.get())
        if not self.server.get_clients():  # a message waits for someone to read it
            self._message_until = time.perf_counter() + MESSAGE_TIME
        if self._message.visible and time.perf_counter() > self._message_until:
            self._message.visible = False
        if self._cameras is not None and frame.driver is not None and self.server.get_clients():
            pictures = self._cameras(frame)
            if pictures[0] is not self._seen:
                self._seen = pictures[0]
                self.plots.show_pictures(pictures)

    def _curves(self, frame: Frame) -> None:
        if self.recordings.active and self.recordings.a is not None:
            self.plots.recorded(self.recordings.a, self.recordings.b, frame.time)
        elif frame.playing:
            self.plots.live(self._mechanism, self.session.history, frame.plant.settings.friction)

    # -- parts of the scene ------------------------------------------------------------------------------------------

    def _draw_plant(self, frame: Frame) -> None:
        """Another arm, of the scene or in place of it, or the same with another instrument, mass, weight or place."""
        was, self._plant = self._plant, frame.plant
        self._mechanism = self._plant.equations()
        if was.sim is self._plant.sim:  # elsewhere, by its set-up joints
            self._place_base()
            return
        self._overlays.remove()
        if was.spec is not self._plant.spec:
            self._drawing.become(self._plant.spec)
            self._hung = {}
        if was.alone is not self._plant.alone:  # from a scene to the recording of one of its arms, and back
            position, look_at = self._outlook()
            for client in self.server.get_clients().values():
                client.camera.position, client.camera.look_at = position, look_at
        self._overlays = self._laid_over()
        if frame.driver is not None:
            self.driving.rebuild(frame)
            self.mechanism.rebuild(frame)
            self.plots.clear()

    def _place_base(self) -> None:
        T = self._plant.T_world_base
        self._base.position, self._base.wxyz = T[:3, 3], quaternion(T[:3, :3])

    def _laid_over(self) -> Overlays:
        self._place_base()
        return Overlays(self.server.scene, self._drawing, self._plant, self.mechanism.shown)

    def _draw_ghost(self) -> None:
        if self._ghost is not None:
            self._ghost.remove()
            self._ghost = None
        b = self.recordings.b
        if self.recordings.active and b is not None:
            self._ghost = Drawing(self.server.scene, "/ghost", b.plant.spec, ghost=True)

    def _dress(self) -> None:
        """Light, and a floor below the arm."""
        scene = self.server.scene
        # pale enough for dark marks, dark enough for the pale arm
        shade = np.linspace(ZENITH, HORIZON, 128)[:, None] * np.ones((1, 2, 1))
        scene.set_background_image(np.round(255 * shade).astype(np.uint8), format="png")
        scene.configure_default_lights(enabled=False)
        scene.configure_environment_map("studio", environment_intensity=0.25)
        scene.add_light_ambient("/lights/ambient", intensity=0.3)
        scene.add_light_directional("/lights/key", position=(1.2, -0.8, 2.2), intensity=1.1, cast_shadow=True)
        scene.add_light_directional("/lights/fill", position=(-1.5, 1.0, 1.0), intensity=0.35)

    def _outlook(self) -> tuple[Array, Array]:
        """From where to look, and at what (3,) [m]: a scene as it says, an arm that is alone as in still pictures."""
        if self.session.outlook is not None and not self._plant.alone:
            return self.session.outlook
        low, high = self._drawing.extent
        centre, radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2
        # the mechanism on the left, the instrument on the right
        return centre + 1.95 * radius * np.array([0.78, -0.53, 0.33]), centre

    def _place_camera(self) -> None:
        low, high = self._drawing.extent
        centre = (low + high) / 2
        camera = self.server.initial_camera
        position, look_at = self._outlook()
        camera.position, camera.look_at = tuple(position), tuple(look_at)
        self.server.scene.add_grid(
            "/floor",
            width=4.0,
            height=4.0,
            cell_size=0.1,
            section_size=0.5,
            cell_color=(205, 211, 218),
            section_color=(178, 186, 196),
            position=(float(centre[0]), float(centre[1]), float(low[2]) - 0.1),
            shadow_opacity=0.2,
        )
