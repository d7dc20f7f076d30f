"""A stand-in for rospy: nodes, topics, services, rates, parameters and log messages, over the robot in this process."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

from trocar.errors import TrocarError
from trocar.scripts.session import FOREVER, NANOSECONDS, current
from trocar.scripts.topics import QueuedCallback, ScriptNode, resolved
from trocar.transports.ros_messages import MESSAGES
from trocar.transports.ros_time import Duration, Time, seconds_of

_logged: dict[tuple[str, int], float] = {}  # time of the last message of a line of the script [s]


def _logger(level: str, variant: str) -> Callable[..., None]:
    """loginfo(text, ...); per line of the script: loginfo_once(text, ...), loginfo_throttle(period [s], text, ...)."""

    def log(*arguments: Any, **_options: Any) -> None:
        if level == "DEBUG":
            return  # not shown, as with rospy's default level
        period, text, *values = arguments if variant == "_throttle" else (FOREVER, *arguments)
        frame, now = sys._getframe(1), get_time()
        place = frame.f_code.co_filename, frame.f_lineno
        if not variant or now - _logged.get(place, -2 * FOREVER) >= period:
            _logged[place] = now
            line = str(text) % tuple(values) if values else str(text)
            print(f"[{level}] [{now:.6f}]: {line}", file=sys.stdout if level == "INFO" else sys.stderr, flush=True)

    return log


_LEVELS = {"debug": "DEBUG", "info": "INFO", "warn": "WARN", "err": "ERROR", "fatal": "FATAL"}
LOGGERS = {
    f"log{name}{variant}": _logger(level, variant)
    for name, level in _LEVELS.items()
    for variant in ("", "_once", "_throttle")
}
globals().update(LOGGERS)

__all__ = [
    "Duration", "Header", "Publisher", "ROSException", "ROSInitException", "ROSInterruptException", "Rate", "Service",
    "ServiceException", "ServiceProxy", "Subscriber", "Time", "Timer", "get_caller_id", "get_name", "get_namespace",
    "get_node_uri", "get_param", "get_published_topics", "get_rostime", "get_time", "has_param", "init_node",
    "is_shutdown", "myargv", "on_shutdown", "resolve_name", "set_param", "signal_shutdown", "sleep", "spin",
    "wait_for_message", "wait_for_service", *LOGGERS,
]  # fmt: skip

DEBUG, INFO, WARN, ERROR, FATAL = 1, 2, 4, 8, 16
Header = MESSAGES["std_msgs/Header"]


class ROSException(Exception):
    """Error of ROS."""


class ROSInitException(ROSException):
    """The node was not initialised."""


class ROSInterruptException(ROSException, KeyboardInterrupt):
    """The node was stopped during a wait."""


class ServiceException(Exception):
    """A service failed."""


_node: ScriptNode | None = None


def reset() -> None:
    """Reset the node of an earlier script."""
    global _node
    _node = None
    _logged.clear()


def node() -> ScriptNode:
    global _node
    _node = _node or ScriptNode(current())
    return _node


# -- node --------------------------------------------------------------------------------------------------------------


def init_node(
    name: str, argv: list[str] | None = None, anonymous: bool = False, log_level: int | None = None,
    disable_rostime: bool = False, disable_rosout: bool = False, disable_signals: bool = False, **_options: Any,
) -> None:  # fmt: skip
    """Name or rename the node; from now on Ctrl-C stops it: waits return and `is_shutdown()` is true."""
    if "/" in name.strip("/"):
        raise ValueError(f"node names have no namespace, got {name!r}")
    node().name = name
    if not disable_signals and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupted)


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C ends the script immediately
    current().stop()


def is_shutdown() -> bool:
    current().polls.count()
    return current().stopping


def signal_shutdown(reason: str) -> None:
    current().stop()


def on_shutdown(h: Callable[[], None]) -> None:
    current().on_stop(h)


def spin() -> None:
    if not node().name:
        raise ROSInitException("client code must call rospy.init_node() first")
    while not is_shutdown():
        current().sleep(1.0)


def get_name() -> str:
    return f"/{node().name or 'unnamed'}"


get_caller_id = get_name


def get_node_uri() -> str | None:
    """An address once the node has a name; scripts use it to detect init_node."""
    return "http://localhost:0/" if node().name else None


def get_namespace() -> str:
    return "/"


def resolve_name(name: str, caller_id: str | None = None) -> str:
    return f"/{_absolute(name)}"


def myargv(argv: list[str] | None = None) -> list[str]:
    """Arguments without those of ROS (name:=value)."""
    return [argument for argument in (sys.argv if argv is None else argv) if ":=" not in argument]


def _absolute(name: str) -> str:
    return resolved(name[1:], node().name) if name.startswith("~") else resolved(name)


# -- parameters --------------------------------------------------------------------------------------------------------

_MISSING = object()


def get_param(param_name: str, default: Any = _MISSING) -> Any:
    """A parameter that the script has set, or the default."""
    value = node().parameters.get(_absolute(param_name), default)
    if value is _MISSING:
        raise KeyError(param_name)
    return value


def set_param(param_name: str, param_value: Any) -> None:
    node().parameters[_absolute(param_name)] = param_value


def has_param(param_name: str) -> bool:
    return _absolute(param_name) in node().parameters


# -- time --------------------------------------------------------------------------------------------------------------


def get_time() -> float:
    return current().now / NANOSECONDS


get_rostime = Time.now


def sleep(duration: Any) -> None:
    current().sleep(seconds_of(duration))
    if is_shutdown():
        raise ROSInterruptException("ROS shutdown request")


class UninterruptedRate:
    """Sleeps that run a loop at a rate [Hz] by the robot's clock; a cycle that is too long restarts the schedule."""

    def __init__(self, hz: float, reset: bool = False) -> None:
        if not hz > 0:
            raise ValueError(f"a rate must be positive, got {hz}")
        self.sleep_dur = Duration(1.0 / hz)
        self._period = round(NANOSECONDS / hz)
        self._last = current().now

    def remaining(self) -> Duration:
        return Duration.of(self._last + self._period - current().now)

    def sleep(self) -> None:
        session = current()
        session.sleep_until(self._last + self._period)
        self._last += self._period
        if session.now - self._last > self._period:
            self._last = session.now


class Rate(UninterruptedRate):
    """A rate that raises in sleep when the node is stopped."""

    def sleep(self) -> None:
        super().sleep()
        if is_shutdown():
            raise ROSInterruptException("ROS shutdown request")


class Timer:
    """Calls a function every period [s]."""

    def __init__(
        self, period: Any, callback: Callable[[Any], None], oneshot: bool = False, reset: bool = False
    ) -> None:
        self._period, self._callback, self._oneshot = round(seconds_of(period) * NANOSECONDS), callback, oneshot
        self._stopped = False
        self._last: Time | None = None
        self._plan(current().now + self._period)

    def _plan(self, time: int) -> None:
        current().at(time, lambda: self._call(time))

    def _call(self, time: int) -> None:
        if self._stopped or is_shutdown():
            return
        now = Time.now()
        if not self._oneshot:
            self._plan(max(time + self._period, now.to_nsec()))
        event = SimpleNamespace(current_expected=Time.of(time), current_real=now, last_real=self._last)
        event.last_expected = event.last_duration = None
        self._callback(event)
        self._last = now

    def shutdown(self) -> None:
        self._stopped = True


# -- topics ------------------------------------------------------------------------------------------------------------


class _Connection:
    """A topic by name and type."""

    def __init__(self, name: str, data_class: Any) -> None:
        self._name, self.data_class = _absolute(name), data_class
        self.name = self.resolved_name = f"/{self._name}"


class Publisher(_Connection):
    """Publishes messages on a topic."""

    def __init__(
        self, name: str, data_class: Any, subscriber_listener: Any = None, tcp_nodelay: bool = False,
        latch: bool = False, headers: Any = None, queue_size: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, data_class)
        self._latch = latch
        node().advertise(self._name, data_class)

    def publish(self, *arguments: Any, **fields: Any) -> None:
        node().publish(self._name, _instance(self.data_class, arguments, fields), self._latch)

    def get_num_connections(self) -> int:
        return node().subscribers(self._name)

    def unregister(self) -> None:
        """Stop publishing; messages sent before stay."""


class Subscriber(_Connection):
    """Calls back with every message of a topic."""

    def __init__(
        self, name: str, data_class: Any, callback: Callable[..., None] | None = None, callback_args: Any = None,
        queue_size: int | None = None, buff_size: int = 65536, tcp_nodelay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name, data_class)

        def call(message: Any) -> None:
            if callback is not None:
                callback(message) if callback_args is None else callback(message, callback_args)

        self._listener = QueuedCallback(current(), call, queue_size)
        self._end = node().subscribe(self._name, data_class, self._listener)

    def get_num_connections(self) -> int:
        return node().publishers(self._name)

    def unregister(self) -> None:
        if not self._listener.closed:
            self._listener.closed = True
            self._end()


def _instance(kind: Any, arguments: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    if len(arguments) == 1 and not fields and isinstance(arguments[0], kind):
        return arguments[0]
    return kind(*arguments, **fields)


def wait_for_message(topic: str, topic_type: Any, timeout: float | None = None) -> Any:
    """The next message of a topic; for a robot's topic, the current one."""
    received: list[Any] = []
    subscriber = Subscriber(topic, topic_type, received.append)
    try:
        current().wait_for(lambda: bool(received), FOREVER if timeout is None else timeout)
    finally:
        subscriber.unregister()
    if is_shutdown() and not received:
        raise ROSInterruptException("rospy shutdown")
    if not received:
        reason = current().messages.last(_absolute(topic))
        raise ROSException(f"timeout exceeded while waiting for message on topic {resolve_name(topic)}{reason}")
    return received[0]


def get_published_topics(namespace: str = "/") -> list[list[str]]:
    return [row for row in node().published() if row[0].startswith(namespace)]


# -- services ----------------------------------------------------------------------------------------------------------


class ServiceProxy:
    """Calls a service."""

    def __init__(self, name: str, service_class: Any, persistent: bool = False, headers: Any = None) -> None:
        self._name, self.service_class = _absolute(name), service_class

    def __call__(self, *arguments: Any, **fields: Any) -> Any:
        request = _instance(self.service_class.Request, arguments, fields)
        try:
            return node().call(self._name, self.service_class, request)
        except TrocarError as error:
            raise ServiceException(str(error)) from error

    call = __call__

    def wait_for_service(self, timeout: float | None = None) -> None:
        wait_for_service(f"/{self._name}", timeout)

    def close(self) -> None:
        """Does nothing: there is no connection to close."""


class ScriptService:
    """Offers a service of the script."""

    def __init__(self, name: str, service_class: Any, handler: Callable[[Any], Any], **_options: Any) -> None:
        response = service_class.Response

        def answer(request: Any) -> Any:
            result = handler(request)
            if isinstance(result, response):
                return result
            if isinstance(result, dict):
                return response(**result)
            return response(*(result if isinstance(result, list | tuple) else [] if result is None else [result]))

        node().offer(_absolute(name), answer)


Service = ScriptService


def wait_for_service(service: str, timeout: Any = None) -> None:
    name = _absolute(service)
    limit = FOREVER if timeout is None else seconds_of(timeout)
    if not current().wait_for(lambda: node().has_service(name), limit):
        raise ROSException(f"timeout exceeded while waiting for service /{name}")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"rospy.{name} is not offered by trocar run; it offers {', '.join(__all__)}")
