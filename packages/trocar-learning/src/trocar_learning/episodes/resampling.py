"""Episodes at another rate than the control rate: interpolated numbers, and pictures of the nearest period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from trocar.files import Json
from trocar.spatial import Array
from trocar_learning.episodes import features as f
from trocar_learning.episodes.demonstration import Demonstration

Films = Mapping[str, list[Array]]  # images by feature


def resampled(episode: Demonstration, films: Films, fps: int) -> tuple[Demonstration, dict[str, list[Array]]]:
    """An episode and its films with `fps` frames per second, at most those of the episode.

    Frame j is at j / fps. Observations are interpolated linearly, quaternions normalised; the action is the command at
    the end of the frame; the action of the environment is its mean over the frame, the reward its sum; done and success
    are those at its end. If `fps` divides the rate of the episode, the numbers of every n-th frame stay as they are.
    """
    if fps == episode.fps:
        return episode, dict(films)
    n = len(episode)
    edges = np.arange(n + 1) / episode.fps  # of the control periods
    count = max(1, round(n * fps / episode.fps))
    t = np.arange(count) / fps
    ends = np.minimum(t + 1.0 / fps, edges[-1])
    ends[-1] = edges[-1]
    last = np.clip(np.ceil(ends * episode.fps - 1e-9).astype(int) - 1, 0, n - 1)  # period in which a frame ends
    frames = {}
    for name, values in episode.frames.items():
        if name == f.ACTION:
            rows = _interpolated(ends, edges[1:], values)
        elif name in (f.DONE, f.SUCCESS):
            rows = values[last]
        elif name in (f.ENV_ACTION, f.REWARD):
            total = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0, dtype=float)])
            rows = _interpolated(ends, edges, total) - _interpolated(t, edges, total)
            if name == f.ENV_ACTION:
                rows = rows / ((ends - t) * episode.fps)[:, None]
        else:
            rows = _interpolated(t, edges, np.vstack([values, episode.final[name][None]]))
        if name in (f.STATE, f.ACTION):
            rows = _normalised(rows, episode.features[name]["names"])
        frames[name] = rows.astype(values.dtype)
    nearest = np.minimum(np.round(t * episode.fps).astype(int), n - 1)
    pictures = {name: [files[k] for k in nearest] for name, files in episode.pictures.items()}
    features = {name: _at_rate(feature, fps) for name, feature in episode.features.items()}
    changed = replace(episode, fps=fps, features=features, frames=frames, pictures=pictures)
    return changed, {name: [images[k] for k in nearest] for name, images in films.items()}


def _interpolated(t: Array, at: Array, rows: Array) -> Array:
    return np.stack([np.interp(t, at, column) for column in np.asarray(rows, dtype=float).T], axis=1)


def _normalised(rows: Array, names: list[str]) -> Array:
    """Rows with quaternions of length 1."""
    rows = rows.copy()
    for k, name in enumerate(names):
        if name.endswith("orientation.x"):
            rows[:, k : k + 4] /= np.linalg.norm(rows[:, k : k + 4], axis=1, keepdims=True)
    return rows


def _at_rate(feature: Json, fps: int) -> Json:
    """The description of a feature, whose film has another rate."""
    info = feature.get("info") or {}
    return {**feature, "info": {**info, "video.fps": fps}} if "video.fps" in info else dict(feature)
