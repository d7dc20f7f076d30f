"""A page of a robot, open in a browser; `python -m tools.bench teleop` measures its cost."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from multiprocessing.synchronize import Event
from typing import TYPE_CHECKING

from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.robot import Robot

TIMEOUT = 60.0  # for the browser to receive the page [s]
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1, 0, 0, 0],
    "position": [1.0, 0, 0],
    "fov": 1.2,
    "near": 0.01,
    "far": 1000,
    "image_height": 480,
    "image_width": 640,
    "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
}


@contextmanager
def looked_at(robot: Robot) -> Iterator[Callable[[], None]]:
    """The page of `trocar run --view` with one headless browser, in a separate process as a real browser is.

    Yields the function that updates the page.
    """
    from trocar.view.pages import script_page
    from trocar.view.server import serve

    with ExitStack() as running:
        server = serve(port=0)
        running.callback(server.stop)
        page = script_page(server, robot)
        context = multiprocessing.get_context("spawn")
        connected = context.Event()
        browser = context.Process(target=_look, args=(page.address, connected), daemon=True)
        browser.start()
        try:
            if not connected.wait(TIMEOUT):
                raise TrocarError(f"no browser could open {page.address} within {TIMEOUT:g} s")
            yield page.draw
            if not browser.is_alive():
                raise TrocarError("the browser of the benchmark has lost its connection to the page")
        finally:
            browser.terminate()
            browser.join(TIMEOUT)


def _look(url: str, connected: Event) -> None:
    """Open a page as viser's browser code does; read its messages and discard them."""
    import msgspec
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    protocol = Subprotocol(f"viser-v{version('viser')}")
    with connect(url.replace("http:", "ws:"), subprotocols=[protocol], max_size=None) as socket:
        socket.send(msgspec.msgpack.encode(CAMERA))
        for _ in socket:
            connected.set()
