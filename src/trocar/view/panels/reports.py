"""Reports of `trocar reproduce`, to read next to the scene."""

from __future__ import annotations

import html
import threading
from pathlib import Path
from typing import Any

import viser

from trocar.errors import TrocarError
from trocar.runtime.messages import Messages
from trocar.view.panels.user_actions import UserActions

WIDTH = 740  # width of a report [px]


def reports_in(folder: Path) -> dict[str, Path]:
    """HTML files in a folder and below, by name."""
    if not folder.is_dir():
        raise TrocarError(f"--reports {folder}: there is no such folder")
    found = {path.relative_to(folder).as_posix().removesuffix(".html"): path for path in sorted(folder.rglob("*.html"))}
    if not found:
        raise TrocarError(f"--reports {folder}: holds no .html; make one with trocar reproduce NAME --report {folder}")
    return found


class ReportPanel:
    """A list of reports, and the chosen one in a separate panel; each report is one self-contained file."""

    def __init__(self, server: viser.ViserServer, folder: Path, messages: Messages) -> None:
        gui = server.gui
        self._reports = reports_in(folder)
        self._gui = gui
        self._choice: Any = gui.add_dropdown("Report", tuple(self._reports))
        read = gui.add_button("Read", icon=viser.Icon.BOOK)
        save = gui.add_button("Save as HTML", icon=viser.Icon.DOWNLOAD)
        self._panel: Any = None
        self._lock = threading.RLock()  # two browsers may press at once
        self._on = on = UserActions(messages)
        read.on_click(on(lambda _: self.read()))
        save.on_click(on(self._on_save))

    def read(self) -> None:
        """Show the chosen report."""
        name = self._choice.value
        content = _framed(self._reports[name].read_text(encoding="utf-8"))
        with self._lock:
            self.close()
            self._panel = self._gui.add_panel()
            self._panel.float(x=12, y=12, width=WIDTH)
            with self._panel.add_tab(name, viser.Icon.REPORT):
                self._gui.add_html(content)
                close = self._gui.add_button("Close", icon=viser.Icon.X)
        close.on_click(self._on(lambda _: self.close()))

    def close(self) -> None:
        with self._lock:
            if self._panel is not None:
                self._panel.remove()
                self._panel = None

    def _on_save(self, event: viser.GuiEvent[Any]) -> None:
        path = self._reports[self._choice.value]
        if event.client is not None:
            event.client.send_file_download(path.name, path.read_bytes(), save_immediately=True)


def _framed(page: str) -> str:
    """An HTML page in a frame, with its own styles and without scripts."""
    return (
        f'<iframe sandbox title="report" srcdoc="{html.escape(page)}" '
        'style="width:100%;height:68vh;border:0;background:#fff"></iframe>'
    )
