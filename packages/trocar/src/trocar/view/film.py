"""Pictures and films of a recording; works without viser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from trocar.appearance import Picture, render, render_video
from trocar.files import scratch_folder
from trocar.robot.track import Track

if TYPE_CHECKING:
    from trocar.view.page import Page

FPS, FILM_SIZE = 20.0, (640, 480)  # of films that the page makes
FILMS = {".gif": "gif", ".mp4": "movie"}  # with the icons of their buttons


class Film:
    """Images of a track, rendered one by one on request; always from one thread, which owns OpenGL's context.

    Args:
        fps: images per second of the film. speed: recorded time per film time.
        camera: "iso", "side" or "tip". size: (width, height) [pixels].
    """

    def __init__(
        self, track: Track, fps: float, speed: float = 1.0, camera: str = "iso", size: tuple[int, int] = (960, 720)
    ) -> None:
        self._track, self._camera, self._size = track, camera, size
        self._times = np.arange(0.0, track.duration + 1e-9, speed / fps)
        self._scene = track.settings.build()

    def __len__(self) -> int:
        return len(self._times)

    def __iter__(self) -> Iterator[Picture]:
        return (self.picture(float(t)) for t in self._times)

    def picture(self, t: float) -> Picture:
        """The arm at time t [s]."""
        name = self._track.settings.name
        self._scene.arms[name].place(self._track.frame(t).arms[name].q)
        return render(self._scene, self._camera, self._size)


class FilmButtons:
    """Buttons for a GIF and an MP4 of the track that `current` returns; one film at a time, with its progress."""

    def __init__(self, page: Page, current: Callable[[], Track | None]) -> None:
        self._current, self._page = current, page
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-films")  # one OpenGL context
        self._busy, self._cancelled = threading.Lock(), threading.Event()
        self._buttons = [page.add("button", f"Export {name[1:].upper()}", icon=icon) for name, icon in FILMS.items()]
        self.status = page.add("markdown", "", visible=False)
        self._bar = page.add("progress_bar", 0.0, visible=False)
        self._cancel = page.add("button", "Cancel film", lambda _: self.cancel(), icon="x", visible=False)
        for button, suffix in zip(self._buttons, FILMS, strict=True):
            button.on_click(lambda event, suffix=suffix: self.send(event.client, suffix))

    def send(self, client: Any, suffix: str) -> None:
        """Make a film and send it to the browser that requested it; errors become messages."""
        track = self._current()
        if track is None or client is None or not self._busy.acquire(blocking=False):
            return
        try:
            self._cancelled.clear()
            self._show(True, f"Film of {track.duration:.1f} s: 0 %")
            content = self._thread.submit(self._film, track, suffix).result()
            client.send_file_download(f"recording{suffix}", content, save_immediately=True)
        except CancelledError:
            pass  # the user who cancelled knows
        except Exception as error:
            self._page.post(f"no film was made: {error}")
        finally:
            self._show(False)
            self._busy.release()

    def cancel(self) -> None:
        """Stop the film that is being made, after the current picture."""
        self._cancelled.set()

    def close(self) -> None:
        self.cancel()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _film(self, track: Track, suffix: str) -> bytes:
        film = Film(track, FPS, size=FILM_SIZE)
        with scratch_folder("trocar-film-") as folder:
            return render_video(folder / f"film{suffix}", self._counted(film, track.duration), FPS).read_bytes()

    def _counted(self, film: Film, duration: float) -> Iterator[Picture]:
        percent = 0
        for k, picture in enumerate(film, 1):
            if self._cancelled.is_set():
                raise CancelledError
            yield picture
            if (done := 100 * k // len(film)) > percent:
                percent = done
                self._bar.value, self.status.content = float(percent), f"Film of {duration:.1f} s: {percent} %"

    def _show(self, busy: bool, status: str = "") -> None:
        for button in self._buttons:
            button.disabled = busy
        self._bar.value, self.status.content = 0.0, status
        self._bar.visible = self.status.visible = self._cancel.visible = busy
