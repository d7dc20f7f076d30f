"""A page: the scene and a list of panels, drawn by a thread that reads frames and never delays the simulation."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import viser

from trocar.files import scratch_folder
from trocar.palette import ACCENT, BACKDROP, rgb
from trocar.recording import Recording
from trocar.robot.messages import Frame
from trocar.spatial import Array, quaternion
from trocar.view.model_drawing import ModelDrawing
from trocar.view.panel import Panel, Selection, Tab, plain
from trocar.view.server import address
from trocar.view.viser_internals import PageServer

RIGHT, LEFT = 260, 244  # smallest widths of the panels beside the scene [px]: half of a window of 1024 px
PERIOD = 1 / 40  # real time between two drawings [s]
SHARE = 0.5  # largest share of the real time that drawing may take
MESSAGE_TIME = 15.0  # a message stays this long [s]
MAX_MESSAGES = 1000  # number kept
MAX_FAILURES = 20  # number of different errors of the page that are reported
BASE = "/base"  # node of the scene that is the base of the selected arm

DISTANCE, ABOVE = 1.3, 0.1  # camera's distance from several arms; height above their bases of the point it looks at [m]
FROM_CART, FROM_BASES = np.array([0.42, 0.86, 0.28]), np.array([0.5, -0.8, 0.35])  # directions to the camera
LISTENERS = dict.fromkeys(("button", "button_group"), "on_click") | {"upload_button": "on_upload"}  # of other controls

Camera = tuple[Array, Array]  # position and point to look at (3,) [m] in the world
P = TypeVar("P", bound=Panel)


class Page:
    """A scene and panels in the browser.

    Args:
        source: returns the latest frame; called with the names of the arms whose states the panels read, or
            without them.
        panels: from top to bottom.
        title: title of the controls.
        camera: first position and point to look at (3,) [m] in the world. Default: the whole scene.
        share: largest share of the real time that drawing may take; the page is drawn less often if it needs more.

    Attributes:
        drawing: the model in the scene. selected: name of the arm that panels refer to.
        selection, mechanism: this arm in the frame that is drawn, and its equations, for the drawing thread only.
        source, live: return the frame to show, and that of the robot. tabs: the tab of every panel in one.
        messages: texts to the user so far. due: real time of the next refresh, by panel [s].
    """

    def __init__(
        self,
        server: PageServer,
        source: Callable[..., Frame],
        panels: Sequence[Panel],
        *,
        title: str = "trocar",
        camera: Camera | None = None,
        share: float = SHARE,
    ) -> None:
        self.server, self.panels, self.live = server, tuple(panels), source
        self.source, self._share = source, share
        frame = source()
        controlled = [name for name, arm in frame.arms.items() if arm.law is not None]
        self.selected = (controlled or list(frame.arms))[0]
        self.selection = Selection.of(frame, self.selected)
        self.mechanism = self.selection.about.mechanism()
        self.messages: deque[str] = deque(maxlen=MAX_MESSAGES)
        self._posted: deque[str] = deque(maxlen=MAX_MESSAGES)
        self._until, self._failures = 0.0, set[str]()
        self._closing = threading.Event()
        self.due = dict.fromkeys(self.panels, 0.0)
        self._refreshed = [panel for panel in panels if type(panel).refresh is not Panel.refresh]
        server.inbox.report = self.post
        add_lights(server.scene)
        self._base = server.scene.add_frame(BASE, show_axes=False)
        self.drawing = ModelDrawing(server.scene, "/arm", frame.scene.spec)
        self._hang(self.selection)
        self.drawing.update(frame.qpos, frame.layers)
        self._home = default_camera(frame, self.drawing.extent) if camera is None else camera
        server.initial_camera.position, server.initial_camera.look_at = map(tuple, self._home)
        add_floor(server.scene, self.drawing.extent)
        self._build(title)
        self._thread = threading.Thread(target=self._run, name="trocar-page", daemon=True)

    def _build(self, title: str) -> None:
        gui = self.server.gui
        gui.set_panel_label(title)
        gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium", brand_color=rgb(ACCENT))
        gui.main_panel.dock_right()
        gui.main_panel.set_width(max([RIGHT, *(panel.width for panel in self.panels if not panel.left)]))
        hint = "also after the camera was moved with the mouse or the keys"
        self.add("button", "Bring the view home", self._bring_home, icon=viser.Icon.HOME, hint=hint, color="gray")
        self._message = gui.add_markdown("", visible=False)
        sides: dict[bool, Any] = {}  # tab groups on the left and on the right
        tabs: dict[tuple[bool, Tab], Any] = {}
        self.tabs: dict[Panel, Any] = {}
        for panel in self.panels:
            panel.page = self
            if panel.tab is None:
                panel.build(self)
                continue
            if panel.left not in sides:
                sides[panel.left] = gui.add_panel() if panel.left else gui.add_tab_group()
                if panel.left:
                    sides[True].dock_left()
                    sides[True].set_width(max([LEFT, *(other.width for other in self.panels if other.left)]))
            key = panel.left, panel.tab
            if key not in tabs:
                tabs[key] = sides[panel.left].add_tab(*panel.tab)
            self.tabs[panel] = tabs[key]
            with tabs[key]:
                panel.build(self)

    def panel(self, kind: type[P]) -> P:
        """The first panel of a class."""
        return next(panel for panel in self.panels if isinstance(panel, kind))

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self) -> Page:
        """Start the thread that draws."""
        self._thread.start()
        return self

    def close(self) -> None:
        """End the thread, and those of the panels."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)
        for panel in self.panels:
            panel.close()

    @property
    def address(self) -> str:
        """The page's address, with the token that opens it."""
        return address(self.server)

    @property
    def running(self) -> bool:
        """True while the page is being drawn."""
        return self._thread.is_alive()

    def wait_for_browser(self, timeout: float) -> bool:
        """Wait until a browser shows the page; False after `timeout` [s]."""
        end = time.perf_counter() + timeout
        while not self.server.get_clients():
            if time.perf_counter() > end or self._closing.wait(0.05):
                return False
        return True

    def wait(self) -> None:
        """Return when the page is closed, or on Ctrl-C."""
        while not self._closing.wait(0.5):
            pass

    # -- for panels ----------------------------------------------------------------------------------------------------

    def add(
        self, kind: str, label: Any, action: Callable[[Any], object] | None = None, *values: Any, **look: Any
    ) -> Any:
        """Add a control of viser, such as "slider", with its label or content, values and appearance.

        action: called with the event when a user changes the control; its error becomes a message.
        """
        handle = getattr(self.server.gui, f"add_{kind}")(label, *values, **look)
        if action is not None:
            getattr(handle, LISTENERS.get(kind, "on_update"))(self.on(action))
        return handle

    def on(self, action: Callable[[Any], object]) -> Callable[[Any], None]:
        """A callback that runs `action(event)` if a user changed a control, not the program; errors become messages."""

        def callback(event: Any) -> None:
            if event.client is not None:
                self.run(lambda: action(event))

        return callback

    def run(self, action: Callable[[], object]) -> None:
        """Run an action now; its error becomes a message."""
        try:
            action()
        except Exception as error:
            self.post(str(error) or repr(error))

    def post(self, text: str) -> None:
        """Show a message in every browser, including clients that connect later. Any thread may call it."""
        self.messages.append(text)
        self._posted.append(text)

    def select(self, arm: str) -> None:
        """Show another arm; the others hold their targets."""
        self.selected = arm

    def _bring_home(self, event: Any) -> None:
        """Return the camera of the browser whose button was pressed to its first position."""
        camera = event.client.camera
        camera.up_direction = (0.0, 0.0, 1.0)
        camera.position, camera.look_at = self._home

    # -- drawing -------------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Draw the latest frame and refresh the panels whose time has come."""
        now, selected = time.perf_counter(), self.selected
        due = [panel for panel in self._refreshed if now >= self.due[panel]]
        arms = {arm for panel in due for arm in panel.arms(selected)}  # the states of others would cost time
        selection = Selection.of(self.source(arms), selected)
        before, self.selection = self.selection, selection
        if selection.frame.scene is not before.frame.scene or selection.name != before.name:
            if selection.frame.scene.spec is not before.frame.scene.spec:
                self.drawing.become(selection.frame.scene.spec)
            self.mechanism = selection.about.mechanism()
            self._hang(selection)
            if selection.alone is not before.alone:  # from several arms to the recording of one, or back
                self._home = default_camera(selection.frame, self.drawing.extent)
                for client in self.server.get_clients().values():
                    client.camera.position, client.camera.look_at = self._home
        self.drawing.update(selection.frame.qpos, selection.frame.layers)
        for panel in due:
            self.due[panel] = now + panel.interval - PERIOD / 2
            panel.refresh(selection)
        self._tell(now)

    def _hang(self, selection: Selection) -> None:
        arms = selection.frame.scene.arms.values()
        self.drawing.leave_out(f"{each.prefix}{each.arm.counterweight}" for each in arms if not each.counterweight)
        self.drawing.hang(selection.frame.scene.fixed)
        T = selection.about.T_world_base
        self._base.position, self._base.wxyz = T[:3, 3], quaternion(T[:3, :3])

    def _run(self) -> None:
        pause = PERIOD
        while not self._closing.wait(pause):
            began = time.perf_counter()
            try:
                with self.server.atomic():
                    self.draw()
                self.server.flush()
            except Exception as error:  # the page must report its errors, and the simulation must not be affected
                self._fail(error)
            spent = time.perf_counter() - began
            pause = max(PERIOD - spent, spent * (1.0 / self._share - 1.0), 1e-3)

    def _fail(self, error: Exception) -> None:
        """Report an error of the page once: the next drawing is likely to fail in the same way."""
        text = f"the page failed to draw: {error!r}"
        if text not in self._failures and len(self._failures) < MAX_FAILURES:
            self._failures.add(text)
            traceback.print_exception(error, file=sys.stderr)
            self.post(text)

    def _tell(self, now: float) -> None:
        """Show new messages, and hide the last one after its time."""
        clients = self.server.get_clients().values()
        last = self._message.content if self._message.visible else ""
        while self._posted:
            text = self._posted.popleft()
            content = f"**Note:** {plain(text)}"
            self._until = now + MESSAGE_TIME
            if content == last:  # dragging can repeat a message often
                continue
            self._message.content, self._message.visible, last = content, True, content
            for client in clients:
                client.add_notification("trocar", text, auto_close_seconds=MESSAGE_TIME, color="orange")
        if not clients:  # a message waits until a browser is connected
            self._until = now + MESSAGE_TIME
        if self._message.visible and now > self._until:
            self._message.visible = False


def send_recording(client: Any, recording: Recording, name: str) -> None:
    """Send a recording to a browser as a file of a name, .npz or .csv."""
    with scratch_folder("trocar-download-") as folder:
        content = recording.save(folder / name).read_bytes()
    client.send_file_download(name, content, save_immediately=True)


# -- light, floor and first view ---------------------------------------------------------------------------------------


def add_lights(scene: viser.SceneApi) -> None:
    """Add light and backdrop."""
    top, bottom = map(rgb, BACKDROP)
    shade = np.linspace(top, bottom, 128)[:, None] * np.ones((1, 2, 1))
    scene.set_background_image(np.round(shade).astype(np.uint8), format="png")
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map("studio", environment_intensity=0.25)
    scene.add_light_ambient("/lights/ambient", intensity=0.3)
    scene.add_light_directional("/lights/key", position=(1.2, -0.8, 2.2), intensity=1.1, cast_shadow=True)
    scene.add_light_directional("/lights/fill", position=(-1.5, 1.0, 1.0), intensity=0.35)


def default_camera(frame: Frame, extent: tuple[Array, Array]) -> Camera:
    """A camera that sees the arms of a frame, or one arm between two corners (3,) [m]."""
    if len(frame.scene.arms) > 1:
        arms = frame.scene.arms.values()
        patient_side = [about for about in arms if about.arm.carries is not None] or list(arms)
        bases = np.array([about.T_world_base[:3, 3] for about in patient_side])
        centre = bases.mean(axis=0) + [0.0, 0.0, ABOVE]
        away = DISTANCE + float(np.linalg.norm(bases - bases.mean(axis=0), axis=1).max())
        on_cart = any(about.set_up is not None for about in arms)
        return centre + away * (FROM_CART if on_cart else FROM_BASES), centre
    low, high = extent
    centre, radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2
    # the mechanism on the left, the instrument on the right
    return centre + 1.95 * radius * np.array([0.78, -0.53, 0.33]), centre


def add_floor(scene: viser.SceneApi, extent: tuple[Array, Array]) -> None:
    """Add a grid below a box between two corners (3,) [m]."""
    low, high = extent
    centre = (low + high) / 2
    position = (float(centre[0]), float(centre[1]), float(low[2]) - 0.1)
    look: dict[str, Any] = {"cell_color": (172, 180, 190), "section_color": (140, 149, 161), "shadow_opacity": 0.3}
    scene.add_grid("/floor", 4.0, 4.0, cell_size=0.1, section_size=0.5, position=position, **look)
