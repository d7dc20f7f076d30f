"""Writes the methods of the clients, one for every row of the interface table: robot/clients/rows.py.

    python tools/client_rows.py

Run it after a change of `trocar.robot.interface`; a test compares the file with the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trocar.files import write_whole
from trocar.robot import interface, messages
from trocar.robot.clients.device import DeviceClient, StatefulDevice
from trocar.robot.clients.methods import Method, methods
from trocar.robot.interface import Interface

ROWS = Path(__file__).parents[1] / "packages" / "trocar" / "src" / "trocar" / "robot" / "clients" / "rows.py"
HEAD = '''"""Methods of the clients; written by tools/client_rows.py from the interface table. Do not edit."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from trocar.robot import interface
from trocar.robot.clients.device import DeviceClient, MoveHandle
from trocar.robot.clients.methods import Gains, Joints, Stamped
from trocar.robot.messages import (
{messages}
)
from trocar.spatial import Array

if TYPE_CHECKING:
    from trocar.mechanics import Mechanism
    from trocar.recording import Recording
    from trocar.robot.recorder import Recorder
    from trocar.robot.simulation_server import RobotSnapshot
    from trocar.simulation import Scene
'''


@dataclass(frozen=True)
class Rows:
    """A class of `rows`.

    Attributes:
        source: name of its interface in `trocar.robot.interface`. base: a base of the client that has these methods;
            its names are left out, as are those in `by_hand`. like: interface of another base of the client.
        parts: namespaces with a client of their own.
    """

    source: str
    base: type[DeviceClient] = DeviceClient
    like: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    by_hand: tuple[str, ...] = ()


_FRAMES = {"body": "WrenchFrameRows", "spatial": "WrenchFrameRows", "local": "LocalFrameRows"}
CLASSES = {
    "WrenchFrameRows": Rows("WRENCH_FRAME"),
    "LocalFrameRows": Rows("LOCAL_FRAME"),
    "ArmRows": Rows("ARM", StatefulDevice, parts=_FRAMES),
    "JawRows": Rows("JAW"),
    "PSMRows": Rows("PSM", StatefulDevice, "ARM", {"jaw": "JawRows"}),
    "ECMRows": Rows("ECM", StatefulDevice, "ARM"),
    "GripperRows": Rows("GRIPPER"),
    "MTMRows": Rows("MTM", StatefulDevice, "ARM", {"gripper": "GripperRows"}),
    "SetUpFrameRows": Rows("SUJ_FRAME"),
    "SetUpArmRows": Rows("SUJ_ARM", StatefulDevice, parts={"local": "SetUpFrameRows"}),
    "SUJRows": Rows("SUJ", StatefulDevice),
    "SystemRows": Rows("SYSTEM", by_hand=("beep",)),
    "ConsoleRows": Rows("CONSOLE"),
    "TeleopECMRows": Rows("TELEOP_ECM"),
    "TeleopPSMRows": Rows("TELEOP_PSM", like="TELEOP_ECM"),
    "ArmSimulationRows": Rows("SIMULATED_ARM"),
    "SimulationRows": Rows("SIMULATION"),
    "FeatureRows": Rows("FEATURES"),
}


def source() -> str:
    """Text of the module."""
    body = "".join(f"\n\n{class_source(name, rows)}" for name, rows in CLASSES.items())
    used = sorted(
        name
        for name in set(re.findall(r"\b[A-Z]\w+\b", body))
        if isinstance(kind := getattr(messages, name, None), type) and issubclass(kind, messages.Message)
    )
    return HEAD.format(messages="\n".join(f"    {name}," for name in used)) + body


def class_source(name: str, rows: Rows) -> str:
    """Text of a class."""
    interfaces: Any = interface
    table: Interface = getattr(interfaces, rows.source)
    inherited = {method.flat_name for method in methods(getattr(interfaces, rows.like))} if rows.like else set()
    lines = [f"class {name}(DeviceClient, interface=interface.{rows.source}):"]
    for method in _own(methods(table), rows, inherited):
        lines += [*_method(method), ""]
    return "\n".join(lines[:-1]) + "\n"


def _own(of: Iterable[Method], rows: Rows, inherited: set[str]) -> Iterable[Method]:
    known = {*inherited, *rows.by_hand, *dir(rows.base)}
    for method in of:
        part = CLASSES.get(rows.parts.get(method.space, ""))
        in_part = part is not None and method.name in {row.name for row in methods(getattr(interface, part.source))}
        if not in_part and method.flat_name not in known:
            known.add(method.flat_name)
            yield method


def _method(method: Method) -> list[str]:
    names = [parameter.partition(":")[0] for parameter in method.parameters.split(", ") if parameter]
    arguments = [value.__name__ if isinstance(value, type) else _literal(value) for value in method.first] + names
    parameters = ", ".join(["self", *filter(None, [method.parameters])])
    call = f"self.{method.hook}({', '.join(arguments)})"
    return [
        f"    def {method.flat_name}({parameters}) -> {method.result}:",
        f'        """{method.doc}"""',
        f"        {'' if method.result == 'None' else 'return '}{call}",
    ]


def _literal(value: object) -> str:
    return repr(value).replace("'", '"')


if __name__ == "__main__":
    write_whole(ROWS, source())
    print(ROWS)
