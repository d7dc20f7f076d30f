"""Controls to record, load, scrub, compare and export recordings."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import viser

from trocar.recording.loading import SUFFIXES
from trocar.robot import Robot
from trocar.robot.messages import Frame
from trocar.robot.settings import ArmSettings
from trocar.robot.track import Track, difference, resimulated
from trocar.view.model_drawing import ModelDrawing
from trocar.view.page import Page
from trocar.view.panel import Panel, Tab
from trocar.view.panels.films import FilmButtons
from trocar.view.panels.plots import TAB, CurvePanel, chosen_joint, fill_plot, hide, legend, new_plot, plot_title
from trocar.view.plain_text import plain
from trocar.view.selection import Selection

KINDS = ",".join(SUFFIXES)
MAX_POINTS = 1000  # of a curve
CURVES = {"position": "q", "velocity": "dq", "effort": "tau", "difference of positions": "q"}  # and their channels
RMS_UNITS = {"q": ("mrad", "mm"), "dq": ("mrad/s", "mm/s"), "tau": ("mN m", "mN")}  # revolute, prismatic joints


class RecordingPanel(Panel):
    """Two slots for recordings, A and B. A is scrubbed; B follows it as a ghost.

    Args:
        settings: of the arm of a file that does not name its own.
    """

    tab: Tab | None = ("Recordings", viser.Icon.MOVIE)
    interval: ClassVar[float] = 0.0

    def __init__(self, robot: Robot, settings: ArmSettings | None = None) -> None:
        self._simulation, self._settings = robot.simulation(), settings or ArmSettings()
        self.a: Track | None = None
        self.b: Track | None = None
        self._recorded = ""  # arm that is being recorded
        self._ghost: tuple[Track, ModelDrawing] | None = None
        self._playing, self._last, self._number = False, time.perf_counter(), 0

    def build(self, page: Page) -> None:
        gui, on = page.server.gui, page.on
        self._page = page
        self.source: Any = gui.add_dropdown("Scene shows", ("simulation", "recording"), disabled=True)
        with gui.add_folder("Record the simulation"):
            self._record = gui.add_button("Record", icon=viser.Icon.PLAYER_RECORD, color="red")
        with gui.add_folder("Recordings"):
            self._about = gui.add_markdown("None yet: record the simulation, or load a file (.csv, .npz, a ROS bag).")
            self.load_a = gui.add_upload_button("Load", icon=viser.Icon.UPLOAD, mime_type=KINDS)
            load_b = gui.add_upload_button("Compare with", icon=viser.Icon.GIT_COMPARE, mime_type=KINDS)
            self._again = gui.add_button(
                "Simulate this recording",
                icon=viser.Icon.COPY,
                disabled=True,
                hint="the arm follows the recorded motion with the options of the Mechanism tab; the result is B",
            )
            self._progress: Any = gui.add_progress_bar(0.0, visible=False)
        with gui.add_folder("Playback", visible=False) as self._folder:
            self.time: Any = gui.add_slider("Time [s]", 0.0, 1.0, 0.001, 0.0)
            self._play = gui.add_button("Play recording", icon=viser.Icon.PLAYER_PLAY)
            self._speed = gui.add_slider("Speed [×]", 0.05, 4.0, 0.05, 1.0, hint="recorded time per real time")
            self.compared = gui.add_markdown("", visible=False)
        with gui.add_folder("Export", visible=False) as self._export:
            csv = gui.add_button("Export CSV", icon=viser.Icon.CSV)
            npz = gui.add_button("Export NPZ", icon=viser.Icon.FILE_ZIP)
            self.films = FilmButtons(page, lambda: self.a)
        self.source.on_update(lambda _: self._show())
        self._record.on_click(on(lambda _: self._on_record()))
        self.load_a.on_upload(on(lambda event: self.load(self._uploaded(event))))
        load_b.on_upload(on(lambda event: self.compare(self._uploaded(event))))
        self._again.on_click(on(lambda _: self.simulate()))
        self._play.on_click(on(lambda _: self._set_playing(not self._playing)))
        csv.on_click(on(lambda event: self._send(event, ".csv")))
        npz.on_click(on(lambda event: self._send(event, ".npz")))

    def open(self, first: Path | None, second: Path | None = None, namespace: str | None = None) -> None:
        """Load recordings from files; an unreadable file becomes a message. namespace: arm in a bag."""
        if first is not None:
            self._page.run(lambda: self.load(Track.load(first, self._settings, namespace)))
        if second is not None and self.a is not None:
            self._page.run(lambda: self.compare(Track.load(second, self._settings, namespace)))

    def load(self, track: Track) -> None:
        """Show a recording, from its beginning."""
        self.a = track
        if self.b is not None and self.b.arm.joint_names != track.arm.joint_names:
            self.b = None
        self.time.max = max(track.duration, 1e-3)
        self.time.value = 0.0
        self._folder.visible = self._export.visible = True
        self.source.disabled = self._again.disabled = False
        self.source.value = "recording"
        self._describe()
        self._set_playing(False)
        self._simulation.pause()
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
        a, arms = self.a, list(self._page.live().scene.arms.values())
        live = arms[0].settings if len(arms) == 1 else None
        settings = live if live is not None and live.name == a.settings.name else a.settings
        self._again.disabled = self._progress.visible = True
        try:
            track = resimulated(a, settings, lambda done: self._advance(100.0 * done))
            if self.a is a:  # unless another recording was loaded meanwhile
                self.compare(track)
        finally:
            self._again.disabled = self._progress.visible = False

    def _advance(self, percent: float) -> None:
        self._progress.value = percent

    def _show(self) -> None:
        """Let the page show the recording, or the robot."""
        active = self.a is not None and self.source.value == "recording"
        self._page.source = self._frame if active else self._page.live

    def _frame(self) -> Frame:
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
            self._ghost = b, ModelDrawing(self._page.server.scene, "/ghost", b.scene.spec, ghost=True)
        self._ghost[1].update(b.frame(selection.frame.time).qpos)
        self._ghost[1].hide_where_on(self._page.drawing)

    def close(self) -> None:
        self.films.close()

    def _set_playing(self, playing: bool) -> None:
        if playing and self.a is not None and self.time.value >= self.a.duration:
            self.time.value = 0.0
        self._playing = playing
        self._play.label = "Pause recording" if playing else "Play recording"

    def _on_record(self) -> None:
        if not self._recorded:
            self._simulation.arm(self._page.selected).record()
            self._recorded = self._page.selected
            self._record.label = f"Stop recording {self._recorded}"
            return
        arm, self._recorded, self._record.label = self._recorded, "", "Record"
        recording = self._simulation.arm(arm).recorded()
        self.load(Track(recording, "this run", self._page.live().scene.arms[arm].settings))

    def _uploaded(self, event: viser.GuiEvent[Any]) -> Track:
        file = event.target.value
        return Track.from_bytes(file.name, file.content, self._settings)

    def _describe(self) -> None:
        lines = [
            f"**{place}**: {plain(track.name)}, {track.arm.name}, {track.duration:.2f} s, {len(track.t)} rows"
            for place, track in (("A", self.a), ("B (ghost, where it differs from A)", self.b))
            if track is not None
        ]
        self._about.content = "  \n".join(lines)
        self.compared.visible = self.a is not None and self.b is not None
        if self.a is not None and self.b is not None:
            self.compared.content = _table(self.a, self.b)

    def _send(self, event: viser.GuiEvent[Any], suffix: str) -> None:
        if self.a is not None and event.client is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = self.a.recording.save(Path(folder) / f"recording{suffix}")
                event.client.send_file_download(path.name, path.read_bytes(), save_immediately=True)


class RecordedCurvePanel(Panel):
    """Whole recordings of the joint that `curves` shows, with the values at the current time in the titles."""

    tab: Tab | None = TAB
    left: ClassVar[bool] = True
    interval: ClassVar[float] = 0.25

    def __init__(self, recordings: RecordingPanel, curves: CurvePanel) -> None:
        self._recordings, self._curves = recordings, curves
        self._drawn: tuple[Any, ...] = ()

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self._legend: Any = gui.add_html("", visible=False)
        self._plots = {name: new_plot(gui, ("B - A",) if name not in RMS_CURVES else ("A", "B")) for name in CURVES}

    def refresh(self, selection: Selection) -> None:
        a, b, now = self._recordings.a, self._recordings.b, selection.frame.time
        self._legend.visible = visible = not selection.frame.live and self._curves.draws
        if not visible or a is None:
            hide(self._plots)
            self._drawn = ()
            return
        j = chosen_joint(self._curves.joint, a.arm)
        rows = np.unique(np.linspace(0, len(a.t) - 1, MAX_POINTS).astype(int))
        t = a.t[rows] if b is None else a.t[rows][a.t[rows] <= b.duration]
        if len(t) < 2:
            return
        drawn, before = (a, b, j), self._drawn
        self._drawn, self._legend.content = drawn, legend("A", None if b is None else "B")
        for name, plot in self._plots.items():
            tracks = [track for track in (a, b) if track is not None]
            curves = [x[:, j] for track in tracks if (x := track.at(CURVES[name], t)) is not None]
            if name not in RMS_CURVES:
                curves = [1e3 * (curves[1] - curves[0])] if len(curves) == 2 else []
            if not curves or a.at(CURVES[name], now) is None:
                plot.visible = False
                continue
            title = f"{plot_title(a.mechanism, j, name)}: {np.interp(now, t, curves[0]):.4g} at {now:.3f} s"
            if before == drawn:
                plot.title = title
            else:
                # without a second curve the first is drawn twice: uPlot needs a constant number of series
                fill_plot(plot, title, t, *curves, *(curves if name in RMS_CURVES and len(curves) < 2 else ()))


RMS_CURVES = tuple(CURVES)[:3]  # those with a curve of each recording


def _table(a: Track, b: Track) -> str:
    """RMS of the difference of every joint and channel, in thousandths of SI units."""
    rms = difference(a, b)
    heads = [f"{name} [{RMS_UNITS[name][0]}]" for name in rms]
    rows = ["RMS of B - A:", "", "| joint | " + " | ".join(heads) + " |", "|---|" + "---|" * len(rms)]
    for j, joint in enumerate(a.arm.joints):
        star = "*" if joint.kind == "prismatic" else ""
        rows.append(f"| {joint.name}{star} | " + " | ".join(_short(1e3 * rms[name][j]) for name in rms) + " |")
    if "m" in a.arm.joint_units:
        rows += ["", "\\* " + ", ".join(RMS_UNITS[name][1] for name in rms)]
    return "\n".join(rows)


def _short(value: float) -> str:
    """Format with at most three decimals: further digits are below the resolution of any measurement."""
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
