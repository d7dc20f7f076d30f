"""Films of episodes: one .mp4 per episode and eye, joined without encoding them again."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trocar.appearance.films import Picture, ffmpeg, mp4
from trocar.errors import TrocarError
from trocar.files import read_whole, scratch_folder
from trocar.spatial import Array

# Every second frame is a key frame, as LeRobot encodes: any frame is decoded from at most one other. No frame refers to
# a later one, so that films can be joined. One thread and bit-exact headers: equal images give equal files.
OPTIONS = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-g", "2", "-bf", "0", "-threads", "1")
EXACT = ("-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1")
SAMPLES = 20  # images of an episode whose pixels enter the statistics
STRIDE = 4  # rows and columns of an image between them
MAX_FILM = 2**31  # size of a film that is read [bytes]


def film(images: Sequence[Picture], fps: int) -> bytes:
    """Content of an .mp4 film in H.264."""
    return mp4(images, fps, *OPTIONS, *EXACT, "-video_track_timescale", str(256 * fps))


def joined(parts: Sequence[Path]) -> bytes:
    """Content of a film of all parts, one after the other."""
    if len(parts) == 1:
        return read_whole(parts[0], "film", MAX_FILM)
    with scratch_folder("trocar-join-") as folder:
        listing, target = folder / "parts.txt", folder / "film.mp4"
        quoted = [str(path.resolve()).replace("'", r"'\''") for path in parts]
        listing.write_text("".join(f"file '{path}'\n" for path in quoted), encoding="utf-8")
        command = [ffmpeg(), "-loglevel", "error", "-f", "concat", "-safe", "0", "-i", str(listing), "-c", "copy"]
        _run([*command, *EXACT, str(target)])
        return target.read_bytes()


def decoded(path: Path, shape: tuple[int, int], start: float, count: int) -> Array:
    """Images (count, height, width, 3) of a film from the time `start` [s] on; `shape`: height and width [pixels]."""
    command = [ffmpeg(), "-loglevel", "error", "-ss", f"{start:.6f}", "-i", str(path), "-frames:v", str(count)]
    try:
        raw = _run([*command, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
    except TrocarError as error:
        raise TrocarError(f"the film {path} cannot be decoded: {error}") from None
    size = shape[0] * shape[1] * 3
    if len(raw) != count * size:
        raise TrocarError(
            f"{path} has {len(raw) // size} images of {shape[1]} x {shape[0]} at {start:g} s, not {count}"
        )
    return np.frombuffer(raw, dtype=np.uint8).reshape(count, *shape, 3)


def _run(command: list[str]) -> bytes:
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if result.returncode:
        lines = result.stderr.decode(errors="replace").strip().splitlines()
        raise TrocarError(f"ffmpeg failed: {lines[-1] if lines else f'status {result.returncode}'}")
    return result.stdout


def sampled_pixels(images: Sequence[Picture]) -> Array:
    """Colours (n, 3) from 0 to 1 of a sample of the pixels of some images."""
    chosen = np.unique(np.linspace(0, len(images) - 1, min(SAMPLES, len(images))).round().astype(int))
    return np.concatenate([images[k][::STRIDE, ::STRIDE].reshape(-1, 3) for k in chosen]) / 255.0
