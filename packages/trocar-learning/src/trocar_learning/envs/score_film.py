"""Films of an episode: pictures at regular times, at most so many, written as .gif."""

from __future__ import annotations

from pathlib import Path

from trocar.appearance.films import Picture, render_video
from trocar_learning.envs.episode import Step

FRAMES = 180  # most pictures of a film
RATE = 12.5  # [1/s] of a film; episodes of up to 14 s play in real time
SIZE = 480, 300  # [pixels]


class EpisodeFilm:
    """An observer that takes pictures of an episode."""

    def __init__(self) -> None:
        self.interval = 1.0 / RATE
        self._frames: list[Picture] = []

    @property
    def speed(self) -> float:
        """Ratio to real time."""
        return self.interval * RATE

    def __call__(self, step: Step) -> None:
        env = step.env
        self.interval = max(1.0 / RATE, env.task.duration / FRAMES)
        if env.world.time >= len(self._frames) * self.interval - 1e-9:
            self._frames.append(env.picture(SIZE))

    def save(self, path: Path) -> Path:
        """Write the film as .gif."""
        return render_video(path, self._frames, RATE)
