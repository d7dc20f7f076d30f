"""IO files of the dVRK (`sawRobotIO1394-*.json`, version 6): which boards, axes and scales belong to an arm.

Positions are in rad or m, efforts in N m or N, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar.transports.fpga.json_table import JsonTable, Linear, read_commented_json

VERSION = 6  # of IO files
MAX_BOARD, MAX_AXIS, MAX_BIT = 15, 9, 31
LOOKUP_SIZE = 4096  # positions of a potentiometer with a table
RELEASE_CURRENT, MOTORIZED = 2.2, "Motorized PSM"  # of the brakes of set-up joints by default [A]; type of their arm
GRIPPER = "_gripper"  # ending of the name of a master's gripper


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
    """A digital output: board number, bit, and the times after which a high or low level ends [s]; 0: it stays."""

    name: str
    board: int
    bit: int
    high: float = 0.0
    low: float = 0.0


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
        hardware: name of its boards. serial: number of the arm. io_only: it has no encoders and no scale of efforts.
        coupling: (n, n) actuator positions by those of the potentiometers.
        lookup: (n, 4096) positions by bits, where potentiometers have a table instead of scales. None: scales.
    """

    name: str
    hardware: str
    serial: str
    io_only: bool
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


def read_io_file(path: str | PathLike[str]) -> IOConfiguration:
    """The content of an IO file; an error names the file and the entry."""
    table = JsonTable(read_commented_json(path, "IO file"), f"IO file {fspath(path)}")
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
        DigitalOutput(
            entry.text("name"),
            entry.count("board_id", MAX_BOARD),
            entry.count("bit_id", MAX_BIT),
            entry.number("high_duration", 0.0),
            entry.number("low_duration", 0.0),
        )
        for entry in table.tables("digital_outputs")
    )
    robots = tuple(_robot(entry, Path(path).parent) for entry in table.tables("robots"))
    return IOConfiguration(robots=robots, inputs=inputs, chips=chips, outputs=outputs, notes=notes)


def read_set_up(path: str | PathLike[str]) -> tuple[SetUpPots, ...]:
    """Potentiometers in the file of the set-up joints of a Classic cart (`suj-*.json`)."""
    table = JsonTable(read_commented_json(path, "file of set-up joints"), f"file of set-up joints {fspath(path)}")
    pots = []
    for arm in table.tables("arms"):
        scales, offsets = (
            np.array([arm.vector(f"{which}_{what}", 6) for which in ("primary", "secondary")])
            for what in ("scales", "offsets")
        )
        release, motorized = arm.number("brake_release_current", RELEASE_CURRENT), arm.text("type", "") == MOTORIZED
        pots.append(SetUpPots(arm.text("name"), arm.count("plug_number", 4), offsets, scales, release, motorized))
    return tuple(pots)


def _robot(entry: JsonTable, folder: Path) -> IORobot:
    pots = entry.table("potentiometers", {})
    actuators = sorted(entry.tables("actuators"), key=lambda each: each.count("actuator_id", MAX_AXIS))
    # set-up joints and grippers
    io_only = (
        bool(entry.content.get("only_IO"))
        or entry.text("type", "") == "io-only"
        or not any("encoder" in each.content for each in actuators)
    )
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
        io_only=io_only,
        actuators=tuple(_actuator(each, io_only) for each in actuators),
        brakes=tuple(_brake(each) for each in entry.tables("brakes")),
        coupling=matrix,
        lookup=_lookup(pots, folder, n) if pots.text("potentiometers_type", "ANALOG") == "DIGITAL" else None,
    )


def _lookup(pots: JsonTable, folder: Path, n: int) -> Array:
    path = folder / pots.text("lookup_table_file")
    table = JsonTable(read_commented_json(path, "lookup table"), f"lookup table {path}")
    return checks.finite(
        f"'lookup' of the {table.where}", table.content.get("lookup"), (n, LOOKUP_SIZE), f"{n} lists of {LOOKUP_SIZE}"
    )


def _drive(entry: JsonTable) -> dict[str, Any]:
    drive = entry.table("drive", entry.content)
    return {
        "board": entry.count("board_id", MAX_BOARD),
        "axis": entry.count("axis_id", MAX_AXIS),
        "command": drive.linear("current_to_bits"),
        "feedback": drive.linear("bits_to_current"),
    }


def _actuator(entry: JsonTable, io_only: bool) -> ActuatorScales:
    pot = entry.table("potentiometer", {})
    absent = {"offset": 0.0, "scale": 1.0}
    drive, encoder = entry.table("drive"), entry.table("encoder", {} if io_only else None)
    return ActuatorScales(
        **_drive(entry),
        current=drive.linear("effort_to_current", absent if io_only else None).scale,
        encoder=encoder.linear("bits_to_position", absent if io_only else None),
        voltage=pot.linear("bits_to_voltage", absent),
        potentiometer=pot.linear("voltage_to_position", absent),
    )


def _brake(entry: JsonTable) -> BrakeScales:
    return BrakeScales(**_drive(entry), released=entry.number("released_current"))
