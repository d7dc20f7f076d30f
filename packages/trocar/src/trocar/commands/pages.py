"""Pages that commands open: the server, its address, and the wait for a browser."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import typer

from trocar.errors import TrocarError
from trocar.optional_packages import Extra

if TYPE_CHECKING:
    from trocar.view.page import Page
    from trocar.view.viser_internals import PageServer

VIEW = Extra("view", "pages")  # `with VIEW.needed():` around the import of a page
PORT = 8080  # the usual one; another one can be set by the environment variable TROCAR_PORT
PAGE_TIMEOUT = 60.0  # longest wait for a browser [s]


def announce(work: str) -> None:
    """Say what a command does until it prints the address of its page; called before modules that load slowly."""
    typer.echo(f"{work} ...")


def open_page(
    running: ExitStack, make: Callable[[PageServer], Page], *, host: str = "127.0.0.1", port: int | None = None
) -> Page:
    """Open a page, which is closed with `running`. Warns if it will be open to others.

    Args:
        make: function of the server, such as one of `trocar.view.pages` with its subject.
        port: exactly this one, 0 for any free one. Default: TROCAR_PORT or 8080, or a free one if that is taken.
    """
    with VIEW.needed():
        from trocar.view.server import PortTaken, exposure, serve
    if warning := exposure(host):
        typer.echo(f"warning: {warning}", err=True)
    try:
        server = serve(host, usual_port() if port is None else port)
    except PortTaken:
        if port is not None:
            raise
        server = serve(host, 0)
    running.callback(server.stop)
    page = make(server)
    running.callback(page.close)
    return page.start()


def show_page(running: ExitStack, make: Callable[[PageServer], Page]) -> Page:
    """Open a page beside another program's run, print its address, and open a browser if there is a display."""
    page = open_page(running, make)
    typer.echo(f"page: {page.address}")
    open_browser(page.address)
    return page


def usual_port() -> int:
    """Port of pages: the environment variable TROCAR_PORT, or 8080."""
    text = os.environ.get("TROCAR_PORT", str(PORT))
    if not text.isdecimal():
        raise TrocarError(f"the environment variable TROCAR_PORT must be a port, 0 to 65535, got {text!r}")
    return int(text)


def open_browser(address: str) -> bool:
    """Open a page in a browser if there is a display."""
    from trocar.view import server

    return server.open_browser(address)


def wait_for_browser(page: Page, command: str) -> None:
    """Print the address of a page, open it, and wait until a browser shows it."""
    opened = open_browser(page.address)
    todo = "waiting for the browser" if opened else "open this address in a browser"
    typer.echo(f"{command}: {page.address}  ({todo}; the script starts then, or after {PAGE_TIMEOUT:.0f} s)", err=True)
    if not page.wait_for_browser(PAGE_TIMEOUT):
        typer.echo(f"{command}: no browser has opened the page; the script starts without it", err=True)


def wait_for_end(page: Page, command: str, browser: bool = True) -> None:
    """Print the address of a page, open it, and wait for Ctrl-C."""
    typer.echo(f"{command}: {page.address}  (end with Ctrl-C)")
    if browser:
        open_browser(page.address)
    try:
        page.wait()
    except KeyboardInterrupt:
        typer.echo("")
