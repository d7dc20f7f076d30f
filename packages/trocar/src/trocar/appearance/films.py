"""Image files: PNG pictures and films."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import itertools
import math
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trocar.errors import TrocarError, check_known
from trocar.files import scratch_folder, write_whole

Picture = NDArray[np.uint8]


def jpeg(image: Picture, quality: int) -> bytes:
    """Content of a JPEG file of an image (height, width, 3)."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def png(image: Picture) -> bytes:
    """Content of a PNG file of an image (height, width, 3)."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, format="PNG")
    return stream.getvalue()


def save_png(path: str | os.PathLike[str], image: Picture) -> Path:
    """Write an image (height, width, 3) as PNG."""
    return write_whole(path, png(image))


def render_video(path: str | os.PathLike[str], frames: Iterable[Picture], fps: float = 25.0) -> Path:
    """Write images of one size as a film, .gif or .mp4 (needs ffmpeg); `fps` in frames per second."""
    if not (math.isfinite(fps) and fps > 0):
        raise TrocarError(f"fps must be positive, got {fps!r}")
    suffix = Path(path).suffix.lower()
    check_known("film format", (".gif", ".mp4"), suffix)
    # one at a time: a minute of film at full size is gigabytes of images
    images = _of_one_size(frames)
    return write_whole(path, _gif(images, fps) if suffix == ".gif" else _mp4(images, fps))


def _of_one_size(frames: Iterable[Picture]) -> Iterator[Picture]:
    """The frames, at least one, checked to have the same shape."""
    shape = None
    for frame in frames:
        shape = frame.shape if shape is None else shape
        if frame.shape != shape:
            break
        yield np.ascontiguousarray(frame)
    else:
        if shape is not None:
            return
    raise TrocarError("a film needs at least one frame, all of the same size")


def _gif(images: Iterator[Picture], fps: float) -> bytes:
    colours = (Image.fromarray(image).quantize(128) for image in images)
    first = next(colours)
    stream = io.BytesIO()
    first.save(stream, format="GIF", save_all=True, append_images=colours, duration=round(1000 / fps), loop=0)
    return stream.getvalue()


def ffmpeg() -> str:
    """Path of the program ffmpeg: the system's, or that of imageio-ffmpeg."""
    program = shutil.which("ffmpeg")
    if program is None and importlib.util.find_spec("imageio_ffmpeg"):
        program = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    if program is None:
        raise TrocarError("an .mp4 film needs ffmpeg: install it (apt install ffmpeg) or write a .gif instead")
    return str(program)


def _mp4(images: Iterator[Picture], fps: float) -> bytes:
    return mp4(images, fps, "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2")


def mp4(frames: Iterable[Picture], fps: float, *options: str) -> bytes:
    """Content of an .mp4 film; `options` of ffmpeg for its encoder."""
    program, images = ffmpeg(), iter(frames)
    first = next(images)
    height, width = first.shape[:2]
    with scratch_folder("trocar-film-") as folder:
        target, log = folder / "film.mp4", folder / "log"
        command = [program, "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
        command += ["-r", f"{fps:g}", "-i", "-", *options, "-pix_fmt", "yuv420p", str(target)]
        with log.open("wb") as errors, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors) as process:
            assert process.stdin is not None
            try:
                # ffmpeg closed the pipe; its log gives the reason
                with contextlib.suppress(BrokenPipeError):
                    for image in itertools.chain([first], images):
                        process.stdin.write(image.tobytes())
                    process.stdin.close()
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise TrocarError(f"ffmpeg failed: {log.read_text(errors='replace').strip()}")
        return target.read_bytes()
