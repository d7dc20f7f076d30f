"""Reports of `trocar reproduce`, to read next to the scene."""

from __future__ import annotations

import html
import threading
from pathlib import Path
from typing import Any

import viser

from trocar.errors import TrocarError
from trocar.view.page import Page
from trocar.view.panel import Panel, Tab

WIDTH = 740  # width of a report [px]


def reports_in(folder: Path) -> dict[str, Path]:
    """HTML files in a folder and below, by name."""
    if not folder.is_dir():
        raise TrocarError(f"reports: there is no folder {folder}")
    files = {path.relative_to(folder).as_posix().removesuffix(".html"): path for path in sorted(folder.rglob("*.html"))}
    if not files:
        raise TrocarError(f"{folder} has no reports (.html); make one with trocar reproduce NAME --report {folder}")
    return files


class ReportPanel(Panel):
    """A list of reports, and the chosen one in a separate panel; each report is one self-contained file."""

    tab: Tab | None = ("Reports", viser.Icon.REPORT)

    def __init__(self, folder: Path) -> None:
        self.files = reports_in(folder)
        self._open: Any = None
        self._lock = threading.RLock()  # two browsers may press at once

    def build(self, page: Page) -> None:
        gui = page.server.gui
        self._page = page
        self.choice: Any = gui.add_dropdown("Report", tuple(self.files))
        read = gui.add_button("Read", icon=viser.Icon.BOOK)
        save = gui.add_button("Save as HTML", icon=viser.Icon.DOWNLOAD)
        read.on_click(page.on(lambda _: self.read()))
        save.on_click(page.on(self._on_save))

    def read(self) -> None:
        """Show the chosen report."""
        name, gui = self.choice.value, self._page.server.gui
        content = _framed(self.files[name].read_text(encoding="utf-8"))
        with self._lock:
            self.dismiss()
            self._open = gui.add_panel()
            self._open.float(x=12, y=12, width=WIDTH)
            with self._open.add_tab(name, viser.Icon.REPORT):
                gui.add_html(content)
                close = gui.add_button("Close", icon=viser.Icon.X)
        close.on_click(self._page.on(lambda _: self.dismiss()))

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


def _framed(page: str) -> str:
    """An HTML page in a frame, with its own styles and without scripts."""
    return (
        f'<iframe sandbox title="report" srcdoc="{html.escape(page)}" '
        'style="width:100%;height:68vh;border:0;background:#fff"></iframe>'
    )
