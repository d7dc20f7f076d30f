"""Phones and headsets of `trocar teleop`: their server, its addresses and its certificate."""

from __future__ import annotations

import io
from contextlib import ExitStack
from typing import TYPE_CHECKING

import typer

from trocar.commands.masters import TRACKED_HOST
from trocar.optional_packages import Extra

if TYPE_CHECKING:
    from trocar.teleoperation.devices import DeviceConsole, TrackedHand
    from trocar.view.panels.endoscope import EndoscopeRenderer


def serve_tracked(
    running: ExitStack, console: DeviceConsole, endoscope: EndoscopeRenderer | None, host: str, port: int
) -> None:
    """Start the server of the console's phones and headset, and print their addresses."""
    with Extra("vr", "phones and headsets").needed():
        from trocar.view.webxr import PoseServer
        from trocar.view.webxr.certificate import certificate_file, fingerprint
    from trocar.teleoperation.devices import TrackedHand

    hands: dict[str, dict[str, TrackedHand]] = {}  # by device and side: a phone is one right hand, a headset has both
    for hand in (hand.device for hand in console.hands.values()):
        if isinstance(hand, TrackedHand):
            hands.setdefault(hand.page, {})[hand.side] = hand
    certificate = certificate_file(host)
    server = PoseServer(hands, host, port, certificate)
    running.callback(server.close)
    server.status = lambda: _status(console)
    if endoscope is not None:
        server.picture = endoscope.jpegs
    for device, url in server.addresses().items():
        typer.echo(f"Open on the {'headset' if device == 'vr' else device}: {url}")
        if host != TRACKED_HOST:
            typer.echo(_code(url))
    typer.echo(f"Its browser warns of a self-signed certificate: {certificate}, SHA-256 {fingerprint(certificate)}")
    if host != TRACKED_HOST:
        warning = "anyone on the network with this address can drive the simulation"
        typer.echo(f"warning: listening on {host}: {warning}", err=True)


def _status(console: DeviceConsole) -> list[str]:
    lines = [f"{arm}: {text}" for arm, text in console.summary().items()]
    errors = [message.text for message in list(console.messages) if message.kind != "status"]
    return lines + errors[-1:]


def _code(url: str) -> str:
    """A QR code of an address as text, "" without the package segno."""
    try:
        import segno
    except ModuleNotFoundError:
        return ""
    text = io.StringIO()
    segno.make(url, error="l").terminal(text, compact=True)
    return text.getvalue()
