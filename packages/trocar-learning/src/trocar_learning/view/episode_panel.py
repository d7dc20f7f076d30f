"""A data set in the page: the chosen episode becomes recording A, and the twin's motion along it B."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import viser

from trocar.appearance.films import Picture
from trocar.robot.settings import ArmSettings
from trocar.robot.track import Track
from trocar.view.page import Page
from trocar.view.panel import Panel, Selection, plain
from trocar.view.panels.recordings import RecordingPanel
from trocar_learning.episodes import EpisodeSet, LoadedEpisode
from trocar_learning.episodes.replay import completed, twin_parameters

MAX_PICTURES = 2**28  # size of the pictures of an episode that are kept [bytes]
WIDTH = 320  # of a picture [pixels]


class EpisodePanel(Panel, tab=("Episodes", viser.Icon.DATABASE), interval=0.1):
    """Number and arm of the episode, what the data set says about it, and its first film at the time shown.

    Args:
        episodes: the data set. first: episode to open. recordings: panel that plays it.

    Attributes:
        number, arm: slider and dropdown.
    """

    def __init__(self, episodes: EpisodeSet, first: int, recordings: RecordingPanel) -> None:
        self._episodes, self._first, self._recordings = episodes, first, recordings
        self._episode: LoadedEpisode | None = None
        self._film: list[Picture] = []
        self._rate, self._shown = 1.0, -1

    def build(self, page: Page) -> None:
        last = max(len(self._episodes) - 1, 1)
        self.number = page.add("slider", "Episode", lambda _: self.open(), 0, last, 1, self._first)
        self.arm = page.add("dropdown", "Arm", lambda _: self.open(), ("psm1",))
        self._about = page.add("markdown", "")
        self._image = page.add("image", np.zeros((2, 2, 3), dtype=np.uint8), visible=False, format="jpeg")

    def open(self) -> None:
        """Load the chosen episode and simulate it."""
        number = min(int(self.number.value), len(self._episodes) - 1)
        episode = self._episodes[number]
        if tuple(self.arm.options) != tuple(episode.recordings):
            self.arm.options = tuple(episode.recordings)
        recording, effort = completed(episode, str(self.arm.value))
        settings = ArmSettings(arm=str(recording.provenance["arm"]), parameters=twin_parameters(episode, recording))
        self._about.content = _about(episode, self._episodes, number, effort)
        self._recordings.load(Track(recording, f"episode {number}, {self.arm.value}", settings), alone=True)
        self._episode, self._film, self._shown, self._image.visible = episode, [], -1, False
        for job in (self._recordings.simulate, lambda: self._read(episode)):
            threading.Thread(target=self.page.run, args=(job,), name="trocar-episode", daemon=True).start()

    def _read(self, episode: LoadedEpisode) -> None:
        """Read the first film of an episode."""
        for name in episode.pictures:
            images = episode.images(name)
            if images.nbytes <= MAX_PICTURES and episode is self._episode:  # unless another was opened meanwhile
                step = max(1, images.shape[2] // WIDTH)
                t = episode.recording.t
                self._rate = (len(t) - 1) / max(float(t[-1] - t[0]), 1e-9)
                self._film = [image[::step, ::step] for image in images]
            return

    def refresh(self, selection: Selection) -> None:
        """Show the picture of the time that the scene shows."""
        film = self._film
        if not film or selection.frame.live:
            return
        k = min(int(selection.frame.time * self._rate + 0.5), len(film) - 1)
        if k != self._shown:
            self._image.image, self._image.visible, self._shown = film[k], True, k


def _about(episode: LoadedEpisode, episodes: EpisodeSet, number: int, effort: str) -> str:
    """Description of an episode by its data set, as Markdown."""
    success = {None: "not stated", True: "yes", False: "no"}[episode.success]
    entries: dict[str, Any] = {"task": episode.instruction or "not stated", "success": success, "effort": effort}
    entries |= {name: episode.about[name] for name in ("split", "seed", "policy", "level") if name in episode.about}
    lines = [f"{plain(episodes.format)}, episode {number} of {len(episodes)}"]
    return "  \n".join([*lines, *(f"**{name}**: {plain(str(value))}" for name, value in entries.items())])
