"""CoppeliaSim's ZMQ remote API (protocol 2) on this machine, beside the legacy one and on the same scene.

A request is a CBOR map {func, args, ...}, the reply {ret: [...]} or {err: text}. Replies also have the keys of version
4.3, `success` and `error`; its clients read the number of steps from the next port. Clients ask for the functions and
constants that there are (`zmqRemoteApi.info`). Numbers are doubles, and calls are executed at once.
"""

from __future__ import annotations

import inspect
import selectors
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from trocar import checks
from trocar.errors import TrocarError, shown
from trocar_reproductions.coppelia.commands import PendingImage
from trocar_reproductions.coppelia.remote_scene import SceneRefusal
from trocar_reproductions.coppelia.sim_functions import CONSTANTS, SimFunctions
from trocar_reproductions.coppelia.stepping import Stepping
from trocar_reproductions.coppelia.zmq_sockets import MAX_SUBSCRIPTION, ListeningSocket, serve_next

try:
    import cbor2
except ImportError:  # named when a server is made
    cbor2 = None  # type: ignore[assignment]

PORT = 23000
MAX_REQUEST = 1 << 20  # bytes, in all parts
POLL_INTERVAL = 0.2  # [s]
TIMEOUT = 600.0  # time without a request after which stepping ends: this protocol does not tell that a client has left


class ZmqApiServer:
    """Serves the scene of a `Stepping` to clients of the ZMQ remote API, until it is closed.

    Args:
        stepping: the steps of the simulation, shared with the server of the legacy API.
        port: 0 selects a free one. report: called with one line about requests that are not understood.

    Attributes:
        port, count_port: of requests, and of the number of steps taken: the next one, or a free one if `port` is 0.
    """

    def __init__(self, stepping: Stepping, port: int = PORT, report: Callable[[str], None] = print) -> None:
        if cbor2 is None:
            raise TrocarError("the ZMQ remote API needs cbor2: pip install 'trocar-reproductions[zmq]'")
        checks.count("port", port, 0, 65534)
        self._stepping, self._report = stepping, report
        self._functions = SimFunctions(stepping)
        self._selector = selectors.DefaultSelector()
        self._requests = ListeningSocket(self._selector, port, "REP", ("REQ", "DEALER"), MAX_REQUEST, report)
        try:
            following = port and port + 1
            self._counts = ListeningSocket(self._selector, following, "PUB", ("SUB", "XSUB"), MAX_SUBSCRIPTION, report)
        except TrocarError:
            self._requests.close()
            raise
        self._counted = stepping.steps
        self.port, self.count_port = self._requests.port, self._counts.port
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="trocar-coppelia-zmq", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        self._closing = True
        self._thread.join(timeout=10.0)

    def _run(self) -> None:
        last = time.monotonic()
        while not self._closing:
            waits = any(client.waits for client in self._requests.clients)
            for key, events in self._selector.select(0.0 if waits else POLL_INTERVAL):
                key.data(events)
            if serve_next(self._requests, self._answer):
                last = time.monotonic()
                if self._counted != self._stepping.steps:
                    self._counted = self._stepping.steps
                    for client in tuple(self._counts.clients):
                        client.send([struct.pack("<i", self._counted & 0x7FFFFFFF)])
            elif time.monotonic() - last > TIMEOUT:
                self._leave_steps()
        self._leave_steps()
        for listening in (self._requests, self._counts):
            listening.close()
        self._selector.close()

    def _leave_steps(self) -> None:
        """Let the simulation run freely, as far as this API decides."""
        with self._stepping.lock:
            self._stepping.synchronise(self._functions, False)
        self._stepping.wake()

    def _answer(self, data: bytes) -> bytes:
        try:
            request = cbor2.loads(data)
            if not _within(request, len(data)):
                raise ValueError("values are shared")
            func, args = request["func"], request.get("args") or []
            if not (isinstance(func, str) and isinstance(args, list)):
                raise TypeError("func must be a text and args a list")
        except Exception as error:  # whatever the decoder makes of the bytes
            problem = f"a request is not a CBOR map with func and args: {shown(str(error))}"
            self._report(problem)
            return _failure(problem)
        try:
            with self._stepping.lock:
                results = self._call(func, args)
            self._stepping.wake()  # a simulation may run freely now, or a client go on
            if results and isinstance(results[0], PendingImage):  # rendered while the simulation goes on
                data = results[0].data()
                results = [data[8:], list(struct.unpack_from("<2i", data))]
            return cbor2.dumps({"ret": results, "success": True})
        except TrocarError as error:
            return _failure(f"{error} (in function {shown(func)})")

    def _call(self, func: str, args: list[Any]) -> list[Any]:
        """Results of a function."""
        match func:
            case "zmqRemoteApi.require":
                if args != ["sim"]:
                    raise SceneRefusal(f"there is no module {shown(args)}; only sim is served")
                return []
            case "_*executed*_":
                return []
            case "_*end*_":
                self._stepping.synchronise(self._functions, False)
                return []
            case "setStepping" | "step":  # version 4.3, with the client's identification at the end
                func, args = f"sim.{func}", args[:1] if func == "setStepping" else []
            case "zmqRemoteApi.info":
                known: dict[str, Any] = {name: {"func": {}} for name in self._functions.table}
                known |= {name: {"const": value} for name, value in CONSTANTS.items()}
                return [known if args == ["sim"] else {}]
        module, _, name = func.partition(".")
        if module != "sim" or name not in self._functions.table:
            raise SceneRefusal("this function is not served; see the list in docs/coppeliasim.md")
        function = self._functions.table[name]
        try:
            inspect.signature(function).bind(*args)
        except TypeError as error:
            raise SceneRefusal(f"wrong arguments: {error}") from None
        result = function(*args)
        return list(result) if type(result) is tuple else [result]


def _within(value: object, limit: int) -> bool:
    """True if a value holds at most `limit` others: each takes a byte, unless CBOR's shared references repeat them."""
    remaining = [value]
    while remaining and limit > 0:
        limit -= 1
        each = remaining.pop()
        if isinstance(each, dict):
            remaining += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set | frozenset):
            remaining += each
    return not remaining


def _failure(problem: str) -> bytes:
    return bytes(cbor2.dumps({"err": problem, "error": problem, "success": False}))
