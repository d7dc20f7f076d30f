"""Controls to record, load, scrub, compare and export recordings."""

from __future__ import annotations

import threading
import time
from html import escape
from typing import Any

import numpy as np
import viser

from trocar.recording.loading import SUFFIXES
from trocar.robot import Robot
from trocar.robot.messages import Frame
from trocar.robot.settings import ArmSettings
from trocar.robot.track import Track, difference, resimulated
from trocar.view.film import FilmButtons
from trocar.view.model_drawing import ModelDrawing
from trocar.view.page import Page, send_recording
from trocar.view.panel import Panel, RobotPanel, Selection, plain
from trocar.view.panels.plots import chosen_joint, fill_plot, hide, legend, new_plot, plot_title

KINDS = ",".join(SUFFIXES)
MAX_POINTS = 1000  # of a curve
MAX_ZOOM = 50.0
CURVES = {"position": "q", "velocity": "dq", "effort": "tau", "position, B - A": "q"}  # and their channels
RMS_CURVES = tuple(CURVES)[:3]  # those with a curve of each recording
RMS_UNITS = {"q": ("mrad", "mm"), "dq": ("mrad/s", "mm/s"), "tau": ("mN m", "mN")}  # revolute, prismatic joints


class RecordingPanel(RobotPanel, tab=("Recordings", viser.Icon.MOVIE), interval=0.0):
    """Two slots for recordings, A and B. A is scrubbed; B follows it as a ghost.

    Args:
        settings: of the arm of a file that does not name its own.
    """

    def __init__(self, robot: Robot, settings: ArmSettings | None = None) -> None:
        super().__init__(robot)
        self._settings = settings or ArmSettings()
        self.a: Track | None = None
        self.b: Track | None = None
        self._recorded = ""  # arm that is being recorded
        self._ghost: tuple[Track, ModelDrawing] | None = None
        self._playing, self._last, self._number = False, time.perf_counter(), 0

    def build(self, page: Page) -> None:
        gui, add, icon = page.server.gui, page.add, viser.Icon
        self.source = add("dropdown", "Scene shows", None, ("simulation", "recording"), disabled=True)
        self.source.on_update(lambda _: self._show())
        with gui.add_folder("Record the simulation"):
            self._record = add("button", "Record", lambda _: self._on_record(), icon=icon.PLAYER_RECORD, color="red")
        with gui.add_folder("Recordings"):
            self._about = add("markdown", "None yet: record the simulation, or load a file (.csv, .npz, a ROS bag).")
            self.load_a = add("upload_button", "Load", self._on_load, icon=icon.UPLOAD, mime_type=KINDS)
            add("upload_button", "Compare with", self._on_load, icon=icon.GIT_COMPARE, mime_type=KINDS)
            hint = "the arm follows the recorded motion with the options of the Mechanism tab; the result is B"
            look: dict[str, Any] = {"icon": icon.COPY, "disabled": True, "hint": hint}
            self._again = add("button", "Simulate this recording", lambda _: self.simulate(), **look)
            self._progress = add("progress_bar", 0.0, visible=False)
        with gui.add_folder("Playback", visible=False) as self._folder:
            self.time = add("slider", "Time [s]", None, 0.0, 1.0, 0.001, 0.0)
            self._play = add("button", "Play recording", lambda _: self._toggle(), icon=icon.PLAYER_PLAY)
            self._speed = add("slider", "Speed [×]", None, 0.05, 4.0, 0.05, 1.0, hint="recorded time per real time")
            self.compared = add("markdown", "", visible=False)
        with gui.add_folder("Export", visible=False) as self._export:
            add("button", "Export CSV", lambda event: self._send(event, ".csv"), icon=icon.CSV)
            add("button", "Export NPZ", lambda event: self._send(event, ".npz"), icon=icon.FILE_ZIP)
            self.films = FilmButtons(page, lambda: self.a)

    def open(self, first: Track, second: Track | None = None) -> None:
        """Show a recording with a second one; without one, simulate the motion of the first in a thread."""
        self.load(first)
        if second is not None:
            self.compare(second)
        else:
            run = threading.Thread(target=self.page.run, args=(self.simulate,), name="trocar-simulate", daemon=True)
            run.start()

    def load(self, track: Track, alone: bool = False) -> None:
        """Show a recording, from its beginning; without a second recording if it is `alone` or of another arm."""
        self.a = track
        if self.b is not None and (alone or self.b.arm.joint_names != track.arm.joint_names):
            self.b = None
        self.time.max = max(track.duration, 1e-3)
        self.time.value = 0.0
        self._folder.visible = self._export.visible = True
        self.source.disabled = self._again.disabled = False
        self.source.value = "recording"
        self._describe()
        self._set_playing(False)
        self.simulation.pause()
        self._show()

    def compare(self, track: Track) -> None:
        """Show a second recording as a ghost."""
        if self.a is None:
            self.load(track)
            return
        difference(self.a, track)  # raises if there is nothing to compare
        self.b = track
        self._describe()

    def simulate(self) -> None:
        """Simulate the motion of A; the result is B."""
        if self.a is None or self._again.disabled:
            return
        a, arms = self.a, list(self.page.live().scene.arms.values())
        live = arms[0].settings if len(arms) == 1 else None
        settings = live if live is not None and live.name == a.settings.name else a.settings
        self._again.disabled = self._progress.visible = True
        try:
            track = resimulated(a, settings, lambda done: setattr(self._progress, "value", 100.0 * done))
            if self.a is a:  # unless another recording was loaded meanwhile
                self.compare(track)
        finally:
            self._again.disabled = self._progress.visible = False

    def _show(self) -> None:
        """Let the page show the recording, or the robot."""
        active = self.a is not None and self.source.value == "recording"
        self.page.source = self._frame if active else self.page.live

    def _frame(self, *_: object) -> Frame:
        """The frame to show; time advances while the recording plays."""
        assert self.a is not None
        now = time.perf_counter()
        if self._playing:
            t = self.time.value + (now - self._last) * self._speed.value
            if t >= self.a.duration:
                t = self.a.duration
                self._set_playing(False)
            self.time.value = round(t, 4)
        self._last = now
        self._number += 1
        return self.a.frame(float(self.time.value), -self._number, self._playing, self._speed.value)

    def refresh(self, selection: Selection) -> None:
        """Draw the ghost."""
        b = None if selection.frame.live else self.b
        if self._ghost is not None and self._ghost[0] is not b:
            self._ghost[1].remove()
            self._ghost = None
        if b is None:
            return
        if self._ghost is None:
            self._ghost = b, ModelDrawing(self.page.server.scene, "/ghost", b.scene.spec, ghost=True)
        self._ghost[1].update(b.frame(selection.frame.time).qpos)
        self._ghost[1].hide_where_on(self.page.drawing)

    def close(self) -> None:
        self.films.close()

    def _toggle(self) -> None:
        self._set_playing(not self._playing)

    def _set_playing(self, playing: bool) -> None:
        if playing and self.a is not None and self.time.value >= self.a.duration:
            self.time.value = 0.0
        self._playing = playing
        self._play.label = "Pause recording" if playing else "Play recording"

    def _on_record(self) -> None:
        if not self._recorded:
            self.simulation.arm(self.page.selected).record()
            self._recorded = self.page.selected
            self._record.label = f"Stop recording {self._recorded}"
            return
        arm, self._recorded, self._record.label = self._recorded, "", "Record"
        recording = self.simulation.arm(arm).recorded()
        self.load(Track(recording, "this run", self.page.live().scene.arms[arm].settings))

    def _on_load(self, event: viser.GuiEvent[Any]) -> None:
        file = event.target.value
        track = Track.from_bytes(file.name, file.content, self._settings)
        (self.load if event.target is self.load_a else self.compare)(track)

    def _describe(self) -> None:
        tracks = {"A": self.a, "B (ghost, where it differs from A)": self.b}
        self._about.content = "  \n".join(
            f"**{place}**: {plain(track.name)}, {track.arm.name}, {track.duration:.2f} s, {len(track.t)} rows"
            for place, track in tracks.items()
            if track is not None
        )
        self.compared.visible = self.a is not None and self.b is not None
        if self.a is not None and self.b is not None:
            self.compared.content = _table(self.a, self.b)

    def _send(self, event: viser.GuiEvent[Any], suffix: str) -> None:
        if self.a is not None:
            send_recording(event.client, self.a.recording, f"recording{suffix}")


class RecordedCurvePanel(Panel, tab=("Recorded curves", viser.Icon.TIMELINE), left=True, interval=0.1):
    """Recordings A and B of one joint over time, with a line at the time shown; the zoom keeps this time in view.

    Attributes: joint, zoom: dropdown and slider. plots: by quantity.
    """

    def __init__(self, recordings: RecordingPanel) -> None:
        self._recordings = recordings
        self._drawn: tuple[Any, ...] = ()

    def build(self, page: Page) -> None:
        self._hint = page.add("markdown", "No recording yet. Load or make one in the tab *Recordings*.")
        self.joint = page.add("dropdown", "Joint", None, page.selection.about.arm.joint_names)
        self.zoom = page.add("slider", "Zoom [×]", None, 1.0, MAX_ZOOM, 0.5, 1.0, hint="around the time shown")
        self._legend = page.add("html", "", visible=False)
        labels = {name: ("A", "B") if name in RMS_CURVES else ("B - A",) for name in CURVES}
        self.plots = {name: new_plot(page, labels[name], playhead=True) for name in CURVES}

    def refresh(self, selection: Selection) -> None:
        a, b, now = self._recordings.a, self._recordings.b, selection.frame.time
        self._hint.visible, shown = a is None, a is not None and not selection.frame.live
        self._legend.visible = self.joint.visible = self.zoom.visible = shown
        if not shown or a is None:
            hide(self.plots)
            self._drawn = ()
            return
        j, start, end = chosen_joint(self.joint, a.arm), *self._window(a, b, now)
        if end <= start or self._drawn == (a, b, j, start, end, now):
            return
        self._drawn = a, b, j, start, end, now
        names = [escape(track.name) for track in (a, b) if track is not None]
        self._legend.content = legend(f"A: {names[0]}", f"B: {names[1]}" if len(names) > 1 else None)
        t = np.linspace(start, end, MAX_POINTS)
        for name, plot in self.plots.items():
            tracks = [track for track in (a, b) if track is not None]
            curves = [x[:, j] for track in tracks if (x := track.at(CURVES[name], t)) is not None]
            if name not in RMS_CURVES:
                curves = [1e3 * (curves[1] - curves[0])] if len(curves) == 2 else []
            if not curves:
                plot.visible = False
                continue
            title = f"{plot_title(a.arm, j, name)}: {np.interp(now, t, curves[0]):.4g}"
            # without a second curve the first is drawn twice: uPlot needs a constant number of series
            curves += curves if name in RMS_CURVES and len(curves) < 2 else []
            fill_plot(plot, title, t, *curves, now=now)

    def _window(self, a: Track, b: Track | None, now: float) -> tuple[float, float]:
        """Start and end of the time axis [s]."""
        whole = a.duration if b is None else min(a.duration, b.duration)
        width = whole / min(max(float(self.zoom.value), 1.0), MAX_ZOOM)
        start = min(max(now - width / 2, 0.0), whole - width)
        return start, start + width


def _table(a: Track, b: Track) -> str:
    """RMS of the difference of every joint and channel, in thousandths of SI units."""
    rms = difference(a, b)
    heads = [f"{name} [{RMS_UNITS[name][0]}]" for name in rms]
    rows = ["RMS of B - A:", "", "| joint | " + " | ".join(heads) + " |", "|---|" + "---|" * len(rms)]
    for j, joint in enumerate(a.arm.joints):
        star, values = "*" if joint.kind == "prismatic" else "", [1e3 * float(rms[name][j]) for name in rms]
        # at most three decimals: further digits are below the resolution of any measurement
        cells = [f"{x:.3f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}" for x in values]
        rows.append(f"| {joint.name}{star} | " + " | ".join(cells) + " |")
    if "m" in a.arm.joint_units:
        rows += ["", "\\* " + ", ".join(RMS_UNITS[name][1] for name in rms)]
    return "\n".join(rows)
