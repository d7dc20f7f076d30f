"""The server of a phone or headset: one page over HTTPS, and a websocket per device that carries poses and pictures."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cache
from http import HTTPStatus
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
import numpy as np
from msgspec import Meta
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from trocar.errors import TrocarError
from trocar.teleoperation.devices import TrackedHand
from trocar.teleoperation.devices.device import MAX_DISTANCE
from trocar.view.access import EVERY_ADDRESS, Access
from trocar.view.webxr.certificate import certificate_file, network_address

FILES = {"/": ("page.html", "text/html"), "/page.js": ("page.js", "text/javascript")}
FILES |= {name: (name[1:], "text/javascript") for name in ("/poses.js", "/headset.js")}
SOCKET = "/poses"
RATE, BURST = (250.0, 500.0)  # messages of one device: per second, and at once; headsets send up to 120 a second
MAX_CONNECTIONS = 8  # open websockets, including those that are being replaced
PERIOD = 1 / 20  # between two reports to the devices [s]
TIMEOUT = 20.0  # for a handshake, and for the answer to a ping; poses are stale much earlier [s]
FELT = 0.02  # resolution of the force [N]
OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("open_timeout", "ping_interval", "ping_timeout"), TIMEOUT),
    "max_queue": 16,
    "compression": None,
    "close_timeout": 1.0,
    "server_header": None,
}
HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Permissions-Policy": "xr-spatial-tracking=(self), accelerometer=(self), gyroscope=(self), magnetometer=(self)",
}
MAX_MESSAGE = 4096  # [bytes]; both hands take 500
UNIT = 1e-3  # tolerance of the length of a quaternion; WebXR has single precision

Metres = Annotated[float, Meta(ge=-MAX_DISTANCE, le=MAX_DISTANCE)]  # neither NaN nor infinite
Part = Annotated[float, Meta(ge=-1.0 - UNIT, le=1.0 + UNIT)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Button = Literal["clutch", "camera", "slower", "faster"]
_quiet = logging.getLogger("trocar.view.webxr")  # failed handshakes are the other side's problem
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


# -- messages ----------------------------------------------------------------------------------------------------------


class HandPose(msgspec.Struct, forbid_unknown_fields=True):
    """One hand in the axes of WebXR.

    Attributes:
        p: position [m]. q: orientation, a quaternion xyzw. closed: gripper, 0 open to 1 closed. buttons: held.
    """

    p: tuple[Metres, Metres, Metres]
    q: tuple[Part, Part, Part, Part]
    closed: Share
    buttons: Annotated[list[Button], Meta(max_length=4)]


class PoseMessage(msgspec.Struct, forbid_unknown_fields=True):
    """Both hands at one time; None if a hand is not tracked."""

    right: HandPose | None = None
    left: HandPose | None = None


_DECODER = msgspec.json.Decoder(PoseMessage)


def refusal(raw: str | bytes, hands: dict[str, TrackedHand]) -> str:
    """Pass a message on to its hands; returns the reason if it is refused, "" otherwise.

    Args:
        hands: by "right" and "left", those that the sender drives. All of them hold after a refused message.
    """
    try:
        message = _DECODER.decode(raw)
        quaternions = [pose.q for pose in (message.right, message.left) if pose is not None]
        if any(abs(math.hypot(*q) - 1.0) > UNIT for q in quaternions):
            raise ValueError("orientation is not a unit quaternion")
    except Exception as error:  # whatever strange bytes make a decoder do
        for hand in hands.values():
            hand.lose(f"sends a message that is refused ({str(error)[:70]})")
        return str(error)
    for side, hand in hands.items():
        pose: HandPose | None = getattr(message, side)
        if pose is None:
            hand.lose("is not tracked")
        else:
            hand.put(np.array(pose.p), np.array(pose.q), pose.closed, frozenset(pose.buttons))
    return ""


# -- server ------------------------------------------------------------------------------------------------------------


class PoseServer:
    """Serves devices in a separate thread until `close`.

    A connection must have the token of the printed address, a known Host and the page's own Origin, as for the page of
    `trocar view`. A second connection of a device replaces the first one. Whenever a connection ends, its hands are
    lost and the PSMs hold.

    Args:
        devices: hands by name of the device ("phone", "vr", "phone2") and side ("right", "left").
        host: address to listen on. port: 0 for any free one. certificate: PEM file. Default: see `certificate_file`.

    Attributes:
        access: token and rules of connections. port: of the server.
        received: number of messages so far, "accepted" and "refused".
        status: function that returns lines to show on the devices; set it before a device connects.
        picture: function that returns the latest JPEG pictures (left eye, right eye) to show, or None.
    """

    def __init__(
        self,
        devices: Mapping[str, Mapping[str, TrackedHand]],
        host: str = "127.0.0.1",
        port: int = 8443,
        certificate: Path | None = None,
    ) -> None:
        if not 0 <= port <= 65535:
            raise TrocarError(f"port must be 0 (any free port) to 65535, got {port}")
        self.access, self.host, self.received = Access(host), host, Counter[str]()
        self.status: Callable[[], list[str]] = list
        self.picture: Callable[[], tuple[bytes, bytes] | None] = lambda: None
        self._devices = {name: dict(hands) for name, hands in devices.items()}
        self._current: dict[str, ServerConnection] = {}
        self._open = 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._context.load_cert_chain(certificate or certificate_file(host))
        self._loop: asyncio.AbstractEventLoop
        self._stopping: asyncio.Event
        started = Future[int]()  # the port
        serving = lambda: asyncio.run(self._serve(port, started))  # noqa: E731
        self._thread = threading.Thread(target=serving, name="trocar-webxr", daemon=True)
        self._thread.start()
        try:
            self.port = started.result()
        except OSError as error:
            self._thread.join()
            problem = error.strerror or error
            raise TrocarError(f"host {host}, port {port}: {problem}; choose another one") from None

    def addresses(self) -> dict[str, str]:
        """Address of every device's page, with the token that opens it."""
        host = network_address() if self.host in EVERY_ADDRESS else self.host
        host = f"[{host}]" if ":" in host else host
        return {
            name: f"https://{host}:{self.port}/?{urlencode({'device': name, 'token': self.access.token})}"
            for name in self._devices
        }

    def close(self) -> None:
        """End all connections and the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()

    async def _serve(self, port: int, started: Future[int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        try:
            server: Server = await serve(
                self._talk,
                self.host,
                port,
                ssl=self._context,
                process_request=self._answer,
                max_size=MAX_MESSAGE,
                logger=_quiet,
                **OPTIONS,
            )
        except OSError as error:
            started.set_exception(error)
            return
        started.set_result(int(server.sockets[0].getsockname()[1]))
        await self._stopping.wait()
        server.close()
        await server.wait_closed()

    # -- connections ---------------------------------------------------------------------------------------------------

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request with a file of the page, or None to open the websocket."""
        reason = self.access.refusal(request)
        if reason is not None:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{reason}\n")
        path = urlsplit(request.path).path
        if path == SOCKET:
            if _device(request) not in self._devices:
                return connection.respond(HTTPStatus.NOT_FOUND, "there is no such device\n")
            if self._open >= MAX_CONNECTIONS:
                return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections\n")
            return None
        if path not in FILES:
            return connection.respond(HTTPStatus.NOT_FOUND, "there is no such page\n")
        name, kind = FILES[path]
        response = connection.respond(HTTPStatus.OK, _text(name))
        del response.headers["Content-Type"]
        host = request.headers["Host"]  # checked above
        policy = f"default-src 'self'; img-src 'self' blob: data:; connect-src 'self' wss://{host}; "
        policy += "style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        sent = HEADERS | {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Security-Policy": policy,
            "Set-Cookie": f"{self.access.cookie}; Secure",
        }
        for key, value in sent.items():
            response.headers[key] = value
        return response

    async def _talk(self, connection: ServerConnection) -> None:
        """Receive poses of one device until it goes."""
        assert connection.request is not None
        name = _device(connection.request)
        before, self._current[name] = self._current.get(name), connection
        hands, reason = self._devices[name], "has disconnected"
        self._open += 1
        tasks = [asyncio.ensure_future(self._report(connection, hands))]
        if before is not None:
            self._lose(hands, "was replaced by another page with the same address")
            tasks.append(asyncio.ensure_future(before.close(CloseCode.POLICY_VIOLATION, "another page took over")))
        try:
            reason = await self._receive(connection, hands)
        except ConnectionClosed as closed:
            if closed.sent is not None and closed.sent.code == CloseCode.MESSAGE_TOO_BIG:
                reason = f"sent a message of more than {MAX_MESSAGE} bytes and was disconnected"
        finally:
            self._open -= 1
            for task in tasks:
                task.cancel()
            if self._current.get(name) is connection:
                del self._current[name]
                self._lose(hands, reason)

    async def _receive(self, connection: ServerConnection, hands: dict[str, TrackedHand]) -> str:
        """Pass poses on; returns the reason why the connection was closed."""
        allowance, counted = BURST, time.monotonic()
        while True:
            raw = await connection.recv()
            now = time.monotonic()
            allowance, counted = (min(allowance + (now - counted) * RATE, BURST) - 1.0, now)
            if allowance < 0.0:
                await connection.close(CloseCode.POLICY_VIOLATION, "too many messages")
                return f"sent more than {RATE:g} messages a second and was disconnected"
            if connection in self._current.values():  # else another page has taken over
                self.received["refused" if refusal(raw, hands) else "accepted"] += 1

    def _lose(self, hands: dict[str, TrackedHand], reason: str) -> None:
        for hand in hands.values():
            hand.lose(reason)

    async def _report(self, connection: ServerConnection, hands: dict[str, TrackedHand]) -> None:
        """Send a device forces as long as they last, status and pictures when they have changed."""
        sent: dict[str, Any] = {}
        last: object = None
        while True:
            force = {side: round(hand.felt / FELT) * FELT for side, hand in hands.items()}
            state = {"force": force, "status": self.status()}
            try:
                if state != sent or any(force.values()):  # each message vibrates for a moment
                    sent = state
                    await connection.send(json.dumps(state))
                pictures = self.picture()
                if pictures is not None and pictures is not last:
                    last = pictures
                    for eye, jpeg in enumerate(pictures):
                        await connection.send(bytes([eye]) + jpeg)
            except ConnectionClosed:
                return
            await asyncio.sleep(PERIOD)


def _device(request: Request) -> str:
    return parse_qs(urlsplit(request.path).query).get("device", [""])[0]


@cache
def _text(name: str) -> str:
    return resources.files("trocar.view.webxr").joinpath(name).read_text(encoding="utf-8")
