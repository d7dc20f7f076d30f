"""Runs a script as `python SCRIPT ARGS...` would, with the stand-ins in place of ROS, PyKDL, crtk and dvrk."""

from __future__ import annotations

import importlib
import importlib.abc
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from trocar.scripts import (
    PACKAGES,
    conversions,
    crtk_package,
    dvrk_package,
    pykdl,
    rospy,
    simulated_time,
    tf_transformations,
)
from trocar.scripts import session as sessions
from trocar.scripts.session import Session
from trocar.transports import ros_messages, rosbag

INTERRUPTED = 130  # exit status after Ctrl-C, as in shells
# Standard library modules that wait in separate threads: they are loaded before time is replaced.
_REAL_TIME = (
    "asyncio", "concurrent.futures", "logging", "multiprocessing", "queue", "selectors", "socket", "subprocess",
    "tempfile", "unittest",
)  # fmt: skip
# Python 2 in the messages of Python 3 (print x, exec x, except A, b, 0777) and in the lines it refuses.
_PYTHON_2_ERROR = re.compile(r"call to '(print|exec)'|exception types must be|0o prefix")
_PYTHON_2_LINE = re.compile(r"<>|`|^\s*raise \w+,|\bur[\"']|\d[lL]\b")
# Errors of a script that was written for another release.
_OTHER_RELEASE = re.compile(
    "tuple|unpack|inhomogeneous|PyKDL|Frame|object has no attribute|positional argument|have no method"
)


def run_script(session: Session, script: Path, arguments: Sequence[str], answers: TextIO | None = None) -> int:
    """Run a script as `__main__` and return its exit status.

    Args:
        answers: input for `input()` and `sys.stdin`. Default: standard input.
    """
    others = set(threading.enumerate())
    with _stand_ins(session), _command_line(session, script, arguments, answers) as main:
        try:
            exec(compile(script.read_bytes(), str(script), "exec", dont_inherit=True), main.__dict__)
            for thread in set(threading.enumerate()) - others:  # Python waits for them before it exits
                if not thread.daemon:
                    thread.join()
            return 0
        except SystemExit as leaving:
            return _status(leaving.code)
        except KeyboardInterrupt:  # including rospy.ROSInterruptException after Ctrl-C in a wait
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        except BaseException as error:
            _report(error)
            return 1
        finally:
            session.stop()
            sys.stdout.flush()


# -- stand-ins ---------------------------------------------------------------------------------------------------------


def stand_in_modules(session: Session) -> dict[str, ModuleType]:
    """All stand-in modules for packages of ROS and the dVRK; dvrk.psm contains psm, as in the package."""
    posemath, messages = conversions.POSEMATH, conversions.MSG_CONVERSIONS
    crtk = {name: getattr(crtk_package, name) for name in crtk_package.__all__}
    arms = dvrk_package.MODULE_1 if session.api == "1" else dvrk_package.MODULE
    contents: dict[str, Mapping[str, Any]] = {
        "roslib": {"load_manifest": lambda package: None},
        "tf": {},
        "tf_conversions": posemath,
        "tf_conversions.posemath": posemath,
        "crtk": crtk | messages,
        "crtk.msg_conversions": messages,
        "dvrk": arms,
        **{f"crtk.{name}": {name: part} for name, part in crtk.items()},
        **{f"dvrk.{name}": {name: part} for name, part in arms.items()},
    }
    modules = {"PyKDL": pykdl, "rospy": rospy, "rosbag": rosbag, **ros_messages.modules()}
    for name, public in contents.items():
        modules[name] = module = ModuleType(name, f"Stand-in for {name}.")
        module.__path__ = []
        vars(module).update(public)
    modules["tf.transformations"] = tf_transformations
    for name in ("tf.transformations", "tf_conversions.posemath", "crtk.msg_conversions"):
        package, _, part = name.partition(".")
        setattr(modules[package], part, modules[name])
    return modules | (simulated_time.modules(session) if session.fast else {})


class _Refusal(importlib.abc.MetaPathFinder):
    """The last import finder: its error suggests an alternative to an unsupported ROS package."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        package = fullname.split(".")[0]
        if remedy := PACKAGES["refused"].get(package):
            raise ModuleNotFoundError(f"trocar run does not offer {package}: {remedy}", name=package)


@contextmanager
def _stand_ins(session: Session) -> Iterator[None]:
    for name in _REAL_TIME:
        importlib.import_module(name)
    modules, finder = stand_in_modules(session), _Refusal()
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    sys.meta_path.append(finder)
    sessions.use(session)
    rospy.reset()
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
        sessions.use(None)
        sys.meta_path.remove(finder)
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


@contextmanager
def _command_line(
    session: Session, script: Path, arguments: Sequence[str], answers: TextIO | None
) -> Iterator[ModuleType]:
    """sys.argv, sys.path, sys.stdin and `__main__` as the script expects them."""
    main = ModuleType("__main__")
    vars(main).update(__file__=str(script), __builtins__=__builtins__)
    before = sys.argv, sys.path, sys.stdin, sys.modules["__main__"]
    sys.argv = [str(script), *arguments]
    sys.path = [str(script.resolve().parent), *sys.path]
    sys.stdin = answers if answers is not None else sys.stdin
    if session.fast:
        sys.stdin = simulated_time.TimedInput(session, sys.stdin)
    main.__dict__.update(raw_input=input, xrange=range)  # older scripts run in Python 2 and 3 except for these
    sys.modules["__main__"] = main
    try:
        yield main
    finally:
        sys.argv, sys.path, sys.stdin, sys.modules["__main__"] = before


# -- end of the script -------------------------------------------------------------------------------------------------


def _status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _report(error: BaseException) -> None:
    """Print the traceback of the script, and a hint for errors caused by the way it was started."""
    report = traceback.TracebackException.from_exception(error)
    frames = [frame for frame in report.stack if frame.filename != __file__ and "importlib._boot" not in frame.filename]
    report.stack = traceback.StackSummary.from_list(frames)
    print("".join(report.format()), end="", file=sys.stderr)
    hint = ""
    if isinstance(error, SyntaxError) and (
        _PYTHON_2_ERROR.search(str(error)) or _PYTHON_2_LINE.search(error.text or "")
    ):
        hint = (
            "the script is written for Python 2; convert it with `2to3 -w SCRIPT.py` "
            "(or `python3 -m lib2to3 -w SCRIPT.py`, up to Python 3.12)"
        )
    elif isinstance(error, EOFError):
        hint = "the script needs more input; pipe the answers, or pass a file with --input"
    elif isinstance(error, TypeError | AttributeError | ValueError) and _OTHER_RELEASE.search(str(error)):
        hint = "if the script was written for another release of the interface, choose it with --api 1, 2.0, 2.2 or 2.4"
    if hint:
        print(f"trocar run: {hint}", file=sys.stderr)
