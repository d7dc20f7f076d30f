"""The dVRK's configuration files: which boards, axes and scales belong to an arm.

Read are system files (`system-*.json`), arm files (`PSM1-28007.json`) and IO files (`sawRobotIO1394-*.json`, version
6). Comments are allowed. Positions are in rad or m, efforts in N m or N, as everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.files import read_whole
from trocar.spatial import Array

VERSION = 6  # of IO files
MAX_BOARD, MAX_AXIS, MAX_BIT = 15, 9, 31
LOOKUP_SIZE = 4096  # positions of a potentiometer with a table
RELEASE_CURRENT, MOTORIZED = 2.2, "Motorized PSM"  # of the brakes of set-up joints by default [A]; type of their arm
GRIPPER = "_gripper"  # ending of the name of a master's gripper
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True)
class Linear:
    """y = offset + scale x."""

    offset: float
    scale: float


@dataclass(frozen=True, kw_only=True)
class AmplifierChannel:
    """A channel that delivers current: board number, axis, and the client's scales.

    Attributes:
        command: bits of the DAC by current [A]. feedback: current [A] by bits of the ADC.
    """

    board: int
    axis: int
    command: Linear
    feedback: Linear


@dataclass(frozen=True, kw_only=True)
class ActuatorScales(AmplifierChannel):
    """A channel with a motor.

    Attributes:
        current: per effort [A/(N m), A/N]. encoder: position by counts. voltage: of the potentiometer, by bits.
        potentiometer: position by voltage.
    """

    current: float
    encoder: Linear
    voltage: Linear
    potentiometer: Linear


@dataclass(frozen=True, kw_only=True)
class BrakeScales(AmplifierChannel):
    """A channel with a brake, which `released` [A] keeps open."""

    released: float


@dataclass(frozen=True)
class DigitalInput:
    """A switch: board number, bit, and the level while it is pressed."""

    name: str
    board: int
    bit: int
    pressed_low: bool


@dataclass(frozen=True)
class DigitalOutput:
    """A digital output: board number and bit."""

    name: str
    board: int
    bit: int


@dataclass(frozen=True)
class SetUpPots:
    """Set-up joints of an arm. Potentiometers: two (rows) for each of six joints, position by voltage [rad, m].

    Attributes:
        arm: name of the arm on the cart. plug: of the SUJ controller, 1 to 4. offsets, scales: (2, 6).
        release: current that opens the brakes [A]. motorized: the first joint is a lift.
    """

    arm: str
    plug: int
    offsets: Array
    scales: Array
    release: float
    motorized: bool


@dataclass(frozen=True, kw_only=True)
class IORobot:
    """The actuators of an arm or of a master's gripper.

    Attributes:
        hardware: name of its boards. serial: number of the arm.
        coupling: (n, n) actuator positions by those of the potentiometers.
        lookup: (n, 4096) positions by bits, where potentiometers have a table instead of scales. None: scales.
    """

    name: str
    hardware: str
    serial: str
    actuators: tuple[ActuatorScales, ...]
    brakes: tuple[BrakeScales, ...]
    coupling: Array
    lookup: Array | None


@dataclass(frozen=True, kw_only=True)
class IOConfiguration:
    """Equipment that the files of a system connect to the boards.

    Attributes:
        robots, inputs: of all IO files. chips: boards with the chip of an instrument, by the name of the arm.
        outputs: of all IO files. set_up: potentiometers of set-up joints.
        types: type of every arm of the system file, such as PSM; by name. generations: Classic or Si.
        notes: lines about what is not simulated.
    """

    robots: tuple[IORobot, ...] = ()
    inputs: tuple[DigitalInput, ...] = ()
    chips: Mapping[str, int] = field(default_factory=dict)
    outputs: tuple[DigitalOutput, ...] = ()
    set_up: tuple[SetUpPots, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    generations: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def boards(self) -> dict[int, str]:
        """Hardware of every board that the files name."""
        hardware = {drive.board: robot.hardware for robot in self.robots for drive in (*robot.actuators, *robot.brakes)}
        default = next(iter(hardware.values()), "QLA1")
        other = [switch.board for switch in self.inputs] + [output.board for output in self.outputs]
        other += self.chips.values()
        return {**dict.fromkeys(other, default), **hardware}


def read_commented_json(path: str | PathLike[str], what: str) -> Any:
    """Content of a JSON file with comments."""
    text = read_whole(path, what).decode("utf-8-sig", errors="replace")
    if text.lstrip().startswith("<"):
        raise TrocarError(
            f"the {what} {fspath(path)} is XML, the format before release 2.2; convert it with the dVRK's "
            "config generator"
        )
    try:
        return json.loads(_COMMENT.sub(lambda match: match[1] or " ", text))
    except RecursionError:
        raise TrocarError(f"the {what} {fspath(path)} is nested too deeply") from None
    except ValueError as error:
        raise TrocarError(f"the {what} {fspath(path)} is not valid JSON: {error}") from None


def read_system(path: str | PathLike[str]) -> IOConfiguration:
    """The configuration of a system file, with the IO files of its arms and consoles next to it."""
    folder, table = Path(path).parent, _Table(read_commented_json(path, "system file"), f"system file {fspath(path)}")
    parts, types, generations, notes = [], {}, {}, []
    set_up: tuple[SetUpPots, ...] = ()
    for arm in table.tables("arms"):
        name, kind = arm.text("name"), arm.text("type", "")
        if arm.text("simulation", "NONE") != "NONE":  # the dVRK simulates it, without boards
            continue
        types[name], serial = kind, arm.text("serial", "")
        if kind == "SUJ_Classic":
            default = min((path.name for path in folder.glob("suj*.json")), default="suj.json")
            set_up = read_set_up(folder / arm.text("arm_file", default))
        file = folder / arm.text("arm_file", f"{name}-{serial}.json")
        if file.is_file():
            generations[name] = _Table(read_commented_json(file, "arm file"), f"arm file {file}").text(
                "generation", "Classic"
            )
        for infix in ("", "-gripper") if kind.startswith("MTM") else ("",):
            default = f"sawRobotIO1394-{name}{infix}{'-' if serial else ''}{serial}.json"
            io_file = folder / arm.text("IO_gripper_file" if infix else "IO_file", default)
            if io_file.is_file():
                parts.append(_renamed(read_io_file(io_file), arm.text("name_on_IO", name), name))
            else:
                notes.append(f"{name}: there is no {io_file.name} next to the system file; it is not simulated")
    for name in dict.fromkeys(_named_files(table.content.get("consoles", []))):
        if (folder / name).is_file():
            parts.append(read_io_file(folder / name))
        elif (inputs := pedals(Path(name).name)) is not None:
            parts.append(IOConfiguration(inputs=inputs))
        else:
            notes.append(f"there is no {name} next to the system file; its inputs are not simulated")
    return IOConfiguration(
        robots=tuple(robot for part in parts for robot in part.robots),
        inputs=tuple(switch for part in parts for switch in part.inputs),
        chips={name: board for part in parts for name, board in part.chips.items()},
        outputs=tuple(output for part in parts for output in part.outputs),
        set_up=set_up,
        types=types,
        generations=generations,
        notes=(*notes, *(note for part in parts for note in part.notes)),
    )


def _renamed(part: IOConfiguration, before: str, name: str) -> IOConfiguration:
    """An IO file whose robot has another name than its arm in the system file."""
    if before == name:
        return part
    names = {before: name, before + GRIPPER: name + GRIPPER}
    robots = tuple(replace(robot, name=names.get(robot.name, robot.name)) for robot in part.robots)
    chips = {names.get(arm, arm): board for arm, board in part.chips.items()}
    inputs = tuple(
        replace(switch, name=name + switch.name.removeprefix(before))
        if switch.name.startswith(before + "_")
        else switch
        for switch in part.inputs
    )
    return replace(part, robots=robots, chips=chips, inputs=inputs)


def read_io_file(path: str | PathLike[str]) -> IOConfiguration:
    """The content of an IO file; an error names the file and the entry."""
    table = _Table(read_commented_json(path, "IO file"), f"IO file {fspath(path)}")
    version = str(table.content.get("$version", ""))
    notes = (
        ()
        if version == str(VERSION)
        else (
            f"{Path(path).name} has version {version or 'none'}; trocar knows version {VERSION} and reads it as such",
        )
    )
    inputs = tuple(
        DigitalInput(
            entry.text("name"),
            entry.count("board_id", MAX_BOARD),
            entry.count("bit_id", MAX_BIT),
            entry.flag("pressed_value"),
        )
        for entry in table.tables("digital_inputs")
    )
    chips = {
        entry.text("name").removesuffix("_dallas"): entry.count("board_id", MAX_BOARD)
        for entry in table.tables("dallas_chips")
    }
    outputs = tuple(
        DigitalOutput(entry.text("name"), entry.count("board_id", MAX_BOARD), entry.count("bit_id", MAX_BIT))
        for entry in table.tables("digital_outputs")
    )
    robots = tuple(_robot(entry, Path(path).parent) for entry in table.tables("robots"))
    return IOConfiguration(robots=robots, inputs=inputs, chips=chips, outputs=outputs, notes=notes)


def read_set_up(path: str | PathLike[str]) -> tuple[SetUpPots, ...]:
    """Potentiometers in the file of the set-up joints of a Classic cart (`suj-*.json`)."""
    table = _Table(read_commented_json(path, "file of set-up joints"), f"file of set-up joints {fspath(path)}")
    pots = []
    for arm in table.tables("arms"):
        scales, offsets = (
            np.array([arm.vector(f"{which}_{what}", 6) for which in ("primary", "secondary")])
            for what in ("scales", "offsets")
        )
        release, motorized = arm.number("brake_release_current", RELEASE_CURRENT), arm.text("type", "") == MOTORIZED
        pots.append(SetUpPots(arm.text("name"), arm.count("plug_number", 4), offsets, scales, release, motorized))
    return tuple(pots)


def pedals(file: str) -> tuple[DigitalInput, ...] | None:
    """Inputs of the files that the dVRK installs for pedals and head sensor at a master; None for other names.

    Source: sawIntuitiveResearchKit 2.4, share/io.
    """
    match = re.fullmatch(r"sawRobotIO1394-MTM([LR])-(foot-pedals-(QLA1|DQLA)|dv-head-sensor)\.json", file)
    if match is None:
        return None
    first = 0 if match[1] == "L" else 2
    if match[2].startswith("dv"):
        bits = {f"dv_head_sensor_{k + 1}": (first, bit) for k, bit in enumerate((0, 4, 8, 16))}
    else:
        board, start = (first + 1, 0) if match[3] == "QLA1" else (first, 16)
        names = ("clutch", "focus_minus", "focus_plus", "coag", "camera", "bicoag")
        bits = {name: (board, start + k) for k, name in enumerate(names)}
        if match[3] == "QLA1":
            bits["dvrk_head_sensor"] = first, 3
    return tuple(DigitalInput(name, board, bit, True) for name, (board, bit) in bits.items())


def _named_files(content: Any) -> Iterator[str]:
    """Values of all keys `IO_file` in a JSON value."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key == "IO_file" and isinstance(value, str):
                yield value
            else:
                yield from _named_files(value)
    elif isinstance(content, list):
        for entry in content:
            yield from _named_files(entry)


def _robot(entry: _Table, folder: Path) -> IORobot:
    pots = entry.table("potentiometers", {})
    actuators = sorted(entry.tables("actuators"), key=lambda each: each.count("actuator_id", MAX_AXIS))
    n, coupling = len(actuators), pots.table("coupling", {}).content.get("JointToActuatorPosition")
    matrix = np.eye(n)
    if coupling is not None:
        matrix = checks.finite(f"{pots.where}: JointToActuatorPosition", coupling, (n, n), f"a matrix ({n}, {n})")
        if not n or abs(np.linalg.det(matrix)) < 1e-9:
            raise TrocarError(f"{pots.where}: JointToActuatorPosition is singular")
    return IORobot(
        name=entry.text("name"),
        hardware=entry.text("hardware_version", "QLA1"),
        serial=str(entry.content.get("serial_number", "")),
        actuators=tuple(_actuator(each) for each in actuators),
        brakes=tuple(_brake(each) for each in entry.tables("brakes")),
        coupling=matrix,
        lookup=_lookup(pots, folder, n) if pots.text("potentiometers_type", "ANALOG") == "DIGITAL" else None,
    )


def _lookup(pots: _Table, folder: Path, n: int) -> Array:
    path = folder / pots.text("lookup_table_file")
    table = _Table(read_commented_json(path, "lookup table"), f"lookup table {path}")
    return checks.finite(
        f"'lookup' of the {table.where}", table.content.get("lookup"), (n, LOOKUP_SIZE), f"{n} lists of {LOOKUP_SIZE}"
    )


def _drive(entry: _Table) -> dict[str, Any]:
    drive = entry.table("drive", entry.content)
    return {
        "board": entry.count("board_id", MAX_BOARD),
        "axis": entry.count("axis_id", MAX_AXIS),
        "command": drive.linear("current_to_bits"),
        "feedback": drive.linear("bits_to_current"),
    }


def _actuator(entry: _Table) -> ActuatorScales:
    pot = entry.table("potentiometer", {})
    absent = {"offset": 0.0, "scale": 1.0}
    return ActuatorScales(
        **_drive(entry),
        current=entry.table("drive").linear("effort_to_current").scale,
        encoder=entry.table("encoder").linear("bits_to_position"),
        voltage=pot.linear("bits_to_voltage", absent),
        potentiometer=pot.linear("voltage_to_position", absent),
    )


def _brake(entry: _Table) -> BrakeScales:
    return BrakeScales(**_drive(entry), released=entry.number("released_current"))


class _Table:
    """A JSON object with checked access; errors name the file and the entry."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, dict):
            raise TrocarError(f"the {where} must be a JSON object, got {type(content).__name__}")
        self.content, self.where = content, where

    def _value(self, key: str, default: Any) -> Any:
        if key not in self.content and default is None:
            raise TrocarError(f"the {self.where} has no '{key}'")
        return self.content.get(key, default)

    def table(self, key: str, default: Any = None) -> _Table:
        return _Table(self._value(key, default), f"{self.where}: {key}")

    def tables(self, key: str) -> list[_Table]:
        entries = self.content.get(key) or []
        if not isinstance(entries, list):
            raise TrocarError(f"'{key}' of the {self.where} must be a list")
        return [_Table(entry, f"{self.where}: {key} {k}") for k, entry in enumerate(entries)]

    def text(self, key: str, default: str | None = None) -> str:
        return checks.text(f"'{key}' of the {self.where}", self._value(key, default))

    def vector(self, key: str, n: int) -> Array:
        return checks.vector(f"'{key}' of the {self.where}", self._value(key, None), n)

    def flag(self, key: str) -> bool:
        return bool(self._value(key, None))

    def number(self, key: str, default: float | None = None) -> float:
        return checks.number(f"'{key}' of the {self.where}", self._value(key, default))

    def count(self, key: str, high: int) -> int:
        return checks.count(f"'{key}' of the {self.where}", self._value(key, None), 0, high)

    def linear(self, key: str, default: Any = None) -> Linear:
        table = self.table(key, default)
        scale = table.number("scale")
        if scale == 0.0:
            raise TrocarError(f"'scale' of the {table.where} must not be 0")
        return Linear(table.number("offset", 0.0), scale)
