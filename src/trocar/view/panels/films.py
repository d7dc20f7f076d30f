"""Films of a recording, made in a separate thread, with progress and a cancel button."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import viser

from trocar.appearance import Picture, render_video
from trocar.robot.track import Track
from trocar.view.film import Film
from trocar.view.page import Page

FPS, FILM_SIZE = 20.0, (640, 480)


class FilmButtons:
    """Buttons for a GIF and an MP4 of the track that `current` returns; one film at a time, with its progress."""

    def __init__(self, page: Page, current: Callable[[], Track | None]) -> None:
        gui = page.server.gui
        self._current, self._page = current, page
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trocar-films")  # one OpenGL context
        self._busy, self._cancelled = threading.Lock(), threading.Event()
        gif = gui.add_button("Export GIF", icon=viser.Icon.GIF)
        mp4 = gui.add_button("Export MP4", icon=viser.Icon.MOVIE)
        self._buttons = gif, mp4
        self.status: Any = gui.add_markdown("", visible=False)
        self._bar: Any = gui.add_progress_bar(0.0, visible=False)
        self._cancel = gui.add_button("Cancel film", icon=viser.Icon.X, visible=False)
        gif.on_click(lambda event: self.send(event.client, ".gif"))
        mp4.on_click(lambda event: self.send(event.client, ".mp4"))
        self._cancel.on_click(lambda _: self.cancel())

    def send(self, client: viser.ClientHandle | None, suffix: str) -> None:
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
        with tempfile.TemporaryDirectory() as folder:
            return render_video(Path(folder) / f"film{suffix}", self._counted(film, track.duration), FPS).read_bytes()

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
