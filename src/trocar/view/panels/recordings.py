"""Controls to record, load, scrub, compare and export recordings."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import viser

from trocar.recording.loading import SUFFIXES
from trocar.runtime.frame import Frame
from trocar.runtime.resimulation import resimulated
from trocar.runtime.session import Session
from trocar.runtime.track import Track, difference
from trocar.view.panels.films import FilmPanel
from trocar.view.panels.user_actions import UserActions
from trocar.view.plain_text import plain

KINDS = ",".join(SUFFIXES)
_UNITS = {"q": ("mrad", "mm"), "dq": ("mrad/s", "mm/s"), "tau": ("mN m", "mN")}  # revolute, prismatic joints


class RecordingPanel:
    """Two slots for recordings, A and B. A is scrubbed; B follows it as a ghost.

    Args:
        selected: returns the arm to record. shown: called when the scene shows something else.
    """

    def __init__(
        self, server: viser.ViserServer, session: Session, selected: Callable[[], str], shown: Callable[[], None]
    ) -> None:
        gui = server.gui
        self._session, self._selected, self._shown = session, selected, shown
        self._recorded = selected()
        self.a: Track | None = None
        self.b: Track | None = None
        self._playing, self._last, self._number = False, time.perf_counter(), 0

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
                hint="the arm follows the recorded motion with the settings of the Mechanism tab; the result is B",
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
            self.films = FilmPanel(gui, lambda: self.a, session.messages)

        self.source.on_update(lambda _: shown())
        self._on = on = UserActions(session.messages)
        self._record.on_click(on(lambda _: self._on_record()))
        self.load_a.on_upload(on(lambda event: self.load(self._uploaded(event))))
        load_b.on_upload(on(lambda event: self.compare(self._uploaded(event))))
        self._again.on_click(on(lambda _: self.simulate()))
        self._play.on_click(on(lambda _: self._set_playing(not self._playing)))
        csv.on_click(on(lambda event: self._send_recording(event, ".csv")))
        npz.on_click(on(lambda event: self._send_recording(event, ".npz")))

    @property
    def active(self) -> bool:
        """True while the scene shows a recording."""
        return self.a is not None and self.source.value == "recording"

    def open(self, first: Path | None, second: Path | None = None, namespace: str | None = None) -> None:
        """Load recordings from files; an unreadable file becomes a message. namespace: arm in a bag."""
        settings = self._session.frame.scene.settings
        if first is not None:
            self._on.run(lambda: self.load(Track.load(first, settings, namespace)))
        if second is not None and self.a is not None:
            self._on.run(lambda: self.compare(Track.load(second, settings, namespace)))

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
        self._session.pause()
        self._shown()

    def compare(self, track: Track) -> None:
        """Show a second recording as a ghost."""
        if self.a is None:
            self.load(track)
            return
        difference(self.a, track)  # raises if there is nothing to compare
        self.b = track
        self._describe()
        self._shown()

    def simulate(self) -> None:
        """Simulate the motion of A; the result is B."""
        if self.a is None or self._again.disabled:
            return
        a, live = self.a, self._session.frame.scene.settings
        settings = live if live.scene is None and live.arm == a.settings.arm else a.settings
        self._again.disabled = self._progress.visible = True
        try:
            made = resimulated(a, replace(settings, objects=None), lambda done: self._advance(100.0 * done))
            if self.a is a:  # unless another recording was loaded meanwhile
                self.compare(made)
        finally:
            self._again.disabled = self._progress.visible = False

    def _advance(self, percent: float) -> None:
        self._progress.value = percent

    def frame(self) -> Frame:
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

    def close(self) -> None:
        self.films.close()

    def _set_playing(self, playing: bool) -> None:
        if playing and self.a is not None and self.time.value >= self.a.duration:
            self.time.value = 0.0
        self._playing = playing
        self._play.label = "Pause recording" if playing else "Play recording"

    def _on_record(self) -> None:
        if not self._session.recording:
            self._recorded = self._selected()
            self._session.record(self._recorded)
            self._session.settled()
            self._record.label = f"Stop recording {self._recorded}"
            return
        self._record.label = "Record"
        settings = self._session.frame.scene.settings
        self.load(Track(self._session.recorded(self._recorded), "this run", settings))

    def _uploaded(self, event: viser.GuiEvent[Any]) -> Track:
        file = event.target.value
        return Track.from_bytes(file.name, file.content, self._session.frame.scene.settings)

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

    def _send_recording(self, event: viser.GuiEvent[Any], suffix: str) -> None:
        if self.a is not None and event.client is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = self.a.recording.save(Path(folder) / f"recording{suffix}")
                event.client.send_file_download(path.name, path.read_bytes(), save_immediately=True)


def _table(a: Track, b: Track) -> str:
    """RMS of the difference of every joint and channel, in thousandths of SI units."""
    found = difference(a, b)
    heads = [f"{name} [{_UNITS[name][0]}]" for name in found]
    rows = ["RMS of B - A:", "", "| joint | " + " | ".join(heads) + " |", "|---|" + "---|" * len(found)]
    for j, joint in enumerate(a.arm.joints):
        star = "*" if joint.kind == "prismatic" else ""
        rows.append(f"| {joint.name}{star} | " + " | ".join(_short(1e3 * found[name][j]) for name in found) + " |")
    if "m" in a.arm.joint_units:
        rows += ["", "\\* " + ", ".join(_UNITS[name][1] for name in found)]
    return "\n".join(rows)


def _short(value: float) -> str:
    """Format with at most three decimals: further digits are below the resolution of any measurement."""
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
