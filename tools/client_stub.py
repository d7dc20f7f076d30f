"""Writes the types of the generated clients: packages/trocar/src/trocar/robot/clients/devices.pyi.

    python tools/client_stub.py

Run it after a change of `trocar.robot.interface`; a test compares the file with the classes.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import FunctionType

from trocar.files import write_whole
from trocar.robot import messages
from trocar.robot.clients import devices
from trocar.robot.clients.device import DeviceClient

STUB = Path(__file__).parents[1] / "packages" / "trocar" / "src" / "trocar" / "robot" / "clients" / "devices.pyi"
HEAD = '''"""Types of the clients; written by tools/client_stub.py from the interface table."""

from collections.abc import Collection
from typing import Any

from numpy.typing import ArrayLike

from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.robot.clients.device import DeviceClient, MoveHandle, StatefulDevice
from trocar.robot.clients.methods import Gains, Joints, Stamped
from trocar.robot.messages import {messages}
from trocar.robot.recorder import Recorder
from trocar.robot.simulation_server import RobotSnapshot
from trocar.simulation import Scene
from trocar.spatial import Array

CLOSED: float
OPEN: float
'''


def stub() -> str:
    """Text of the stub."""
    classes = [kind for kind in vars(devices).values() if isinstance(kind, type) and issubclass(kind, DeviceClient)]
    body = "".join(_class(kind) for kind in classes if kind.__module__ == devices.__name__)
    used = {
        name
        for name in re.findall(r"(?::|->) (\w+)", body)
        if isinstance(kind := getattr(messages, name, None), type) and issubclass(kind, messages.Message)
    }
    return HEAD.format(messages=", ".join(sorted(used))) + body


def _class(kind: type[DeviceClient]) -> str:
    base = kind.__bases__[0]
    parts = {space: part for space, part in kind.parts.items() if space not in getattr(base, "parts", {})}
    lines = [f"    {space}: {part.__name__}" for space, part in parts.items()]
    for name, method in vars(kind).items():
        if isinstance(method, FunctionType) and (name == "__init__" or not name.startswith("_")):
            lines.append(f"    def {name}{_signature(method)}: ...")
    body = "\n".join(lines) or "    ..."
    return f"\nclass {kind.__name__}({base.__name__}):\n{body}\n"


def _signature(method: FunctionType) -> str:
    signature = inspect.signature(method)
    parameters = [p if p.default is p.empty else p.replace(default=...) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=parameters))
    return text.replace("'", "").replace("Ellipsis", "...").replace("(self: ArmClient", "(self")


if __name__ == "__main__":
    write_whole(STUB, stub())
    print(STUB)
