"""Reports of `trocar reproduce`, to read next to the scene."""

from __future__ import annotations

import html
import threading
from pathlib import Path
from typing import Any

import viser

from trocar.errors import TrocarError
from trocar.view.page import Page
from trocar.view.panel import Panel

WIDTH = 740  # width of a report [px]


def reports_in(folder: Path) -> dict[str, Path]:
    """HTML files in a folder and below, by name."""
    if not folder.is_dir():
        raise TrocarError(f"reports: there is no folder {folder}")
    files = {path.relative_to(folder).as_posix().removesuffix(".html"): path for path in sorted(folder.rglob("*.html"))}
    if not files:
        raise TrocarError(f"{folder} has no reports (.html); make one with trocar reproduce NAME --report {folder}")
    return files


class ReportPanel(Panel, tab=("Reports", viser.Icon.REPORT)):
    """A list of reports, and the chosen one in a separate panel; each report is one self-contained file."""

    def __init__(self, folder: Path) -> None:
        self.files = reports_in(folder)
        self._open: Any = None
        self._lock = threading.RLock()  # two browsers may press at once

    def build(self, page: Page) -> None:
        self.choice = page.add("dropdown", "Report", None, tuple(self.files))
        page.add("button", "Read", lambda _: self.read(), icon=viser.Icon.BOOK)
        page.add("button", "Save as HTML", self._on_save, icon=viser.Icon.DOWNLOAD)

    def read(self) -> None:
        """Show the chosen report in a frame, with its own styles and without scripts."""
        name = self.choice.value
        source = html.escape(self.files[name].read_text(encoding="utf-8"))
        style = "width:100%;height:68vh;border:0;background:#fff"
        with self._lock:
            self.dismiss()
            self._open = self.page.server.gui.add_panel()
            self._open.float(x=12, y=12, width=WIDTH)
            with self._open.add_tab(name, viser.Icon.REPORT):
                self.page.add("html", f'<iframe sandbox title="report" srcdoc="{source}" style="{style}"></iframe>')
                self.page.add("button", "Close", lambda _: self.dismiss(), icon=viser.Icon.X)

    def dismiss(self) -> None:
        """Hide the report."""
        with self._lock:
            if self._open is not None:
                self._open.remove()
                self._open = None

    def _on_save(self, event: viser.GuiEvent[Any]) -> None:
        path = self.files[self.choice.value]
        if event.client is not None:
            event.client.send_file_download(path.name, path.read_bytes(), save_immediately=True)
