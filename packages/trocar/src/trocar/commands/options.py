"""Options shared by several commands, and functions that declare options."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.errors import TrocarError, check_known, shown
from trocar.files import check_memory

if TYPE_CHECKING:
    from trocar.transports.remote_bus import RemoteBus

ROW = 6e3  # [bytes] per row of one arm, including the text of the .csv file; 5.3 kB measured for a PSM
DEFAULT_MASTER = "http://127.0.0.1:11311"
STARTS = ("ready", "off")
MAX_DIGITS = 9  # of a side of a picture
ARMS = "PSM, PSM_Si, ECM, ECM_Si, MTML or MTMR"


def option(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """An option with a value name and a help text. `names` replace the name of the argument."""
    return typer.Option(*names, metavar=metavar, help=text, **more)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """A positional argument with a value name and a help text."""
    return typer.Argument(metavar=metavar, help=text, **more)


def flag(text: str, *names: str) -> Any:
    """An on/off option, or a choice of a few words."""
    return typer.Option(*names, help=text)


def arm_name(name: str | None) -> str | None:
    """An arm's name in trocar's spelling, regardless of case. Other names are returned unchanged."""
    spelt = {known.lower(): known for known in ARMS.replace(" or ", ", ").split(", ")}
    return spelt.get(name.lower(), name) if isinstance(name, str) else name


ArmArgument = Annotated[str, argument("ARM", f"{ARMS}.", callback=arm_name)]
ArmOption = Annotated[str, option("ARM", f"{ARMS}.", callback=arm_name)]
RecordedArm = Annotated[str | None, option("ARM", f"{ARMS}, if the recording does not name it.", callback=arm_name)]
Namespace = Annotated[str | None, option("NAME", "Arm in a bag, such as PSM1, if the bag holds several.")]
ParameterSet = Annotated[
    str | None, option("SET", "Parameter set or file. Default: the arm's best set.", "--parameters", "-p")
]
Instrument = Annotated[
    str | None, option("NAME", "Instrument or endoscope. Default: the arm's usual one.", "--instrument", "-i")
]
Counterweight = Annotated[bool, flag("Include the counterweight's mass.")]
Mounting = Annotated[
    float | None, option("DEG", "Pitch of the base, in degrees. Default: the arm's standard mounting.")
]
Folder = Annotated[Path, option("DIR", "Folder for the results.", "--output", "-o")]
JsonFile = Annotated[Path | None, option("FILE", "Write the figures to FILE.", "--json")]
Duration = Annotated[float, option("S", "Simulated time, in seconds.", "--duration", "-d")]
Amplitude = Annotated[float, option("FRACTION", "Size of the motion, as a fraction of the joint's range.")]
Frequency = Annotated[float, option("HZ", "Frequency of the sinusoid.")]
Touch = Annotated[bool, flag("Add a plate, a block and a needle below the arms.", "--touch")]
RobotScene = Annotated[
    str,
    option(
        "NAME", f"dvrk, dvrk_si, psm, masters, cart_classic, cart_si or suture; an arm alone: {ARMS}; or a .toml file."
    ),
]
ParametersByArm = Annotated[
    list[str] | None,
    option(
        "ARM=SET",
        "Parameter set or file of an arm, such as PSM1=mine.toml; repeatable. Also PSM1.wrist=cables or FILE and "
        "PSM1.compensation=cables or FILE.",
        "--parameters",
        "-p",
    ),
]
Start = Annotated[str, option("STATE", "ready: enabled and homed; off: as after switching on.")]
Master = Annotated[str | None, option("URI", "ROS 1: master. Default: ROS_MASTER_URI or 127.0.0.1:11311.")]
Domain = Annotated[int | None, option("N", "ROS 2: domain, 0 to 101. Default: ROS_DOMAIN_ID or 0.")]
Interface = Annotated[str, option("NAME", "ROS 2: network interface, by name or IP address.")]
Port = Annotated[
    int | None,
    option("N", "Port of the page; 0: any free one. Default: TROCAR_PORT or 8080, or a free one if it is taken."),
]
Browser = Annotated[bool, flag("Open the page in a browser.", "--browser/--no-browser")]


WRIST_FIELDS = ("wrist", "compensation")


def arm_names(texts: list[str] | None) -> list[str]:
    """Names of arms from an option that can be repeated and takes lists: --arms PSM1,ECM --arms MTML."""
    return [name for group in texts or [] for name in group.split(",") if name]


def parameters_by_arm(texts: list[str] | None, arms: Sequence[str]) -> dict[str, dict[str, str]]:
    """Options of arms that name a set or file, by arm, from values such as PSM1=mine.toml and PSM1.wrist=cables.

    A single arm need not be named for its parameters.
    """
    chosen: dict[str, dict[str, str]] = {}
    for text in texts or []:
        name, sign, value = text.rpartition("=")
        if not sign and len(arms) == 1:
            name = arms[0]
        if not name or not value:
            raise TrocarError(f"--parameters takes ARM=SET, such as {next(iter(arms), 'PSM1')}=mine.toml, got {text!r}")
        arm, dot, field = name.partition(".")
        check_known("arm of the scene", arms, arm)
        if dot:
            check_known("option of --parameters", WRIST_FIELDS, field)
        chosen.setdefault(arm, {})[field if dot else "parameters"] = value
    return chosen


def numbers(name: str, text: str, counts: tuple[int, ...], meaning: str) -> list[float]:
    """Finite numbers from an option's value such as "0.1,0,-2"; `counts` are the numbers of values allowed."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in counts or not all(map(math.isfinite, values)):
        allowed = " or ".join(map(str, counts))
        raise TrocarError(f"--{name} takes {allowed} comma-separated numbers ({meaning}), got {shown(text)}")
    return values


def pixels(name: str, text: str) -> tuple[int, int]:
    """Width and height of a picture from an option's value such as 640x480."""
    from trocar import checks  # imports NumPy

    width, _, height = text.lower().partition("x")
    if not all(side.isascii() and side.isdigit() and len(side) < MAX_DIGITS for side in (width, height)):
        raise TrocarError(f"{name} must be WIDTHxHEIGHT in pixels, such as 640x480, got {shown(text)}")
    return checks.picture_size(name, (int(width), int(height)))


def master_uri(uri: str | None) -> str:
    """URI of the ROS master: the given one, else ROS_MASTER_URI, else the default one on this machine."""
    return uri or os.environ.get("ROS_MASTER_URI") or DEFAULT_MASTER


def connected(ros1: bool, master: str | None, ros2: bool, domain: int | None, interface: str) -> RemoteBus:
    """A client of a running ROS system."""
    from trocar.transports.remote_bus import connect_ros1, connect_ros2

    if ros1 and ros2:
        raise TrocarError("choose one of --ros1 and --ros2")
    return connect_ros1(master_uri(master)) if ros1 else connect_ros2(domain, interface)


def check_positive(**values: float) -> None:
    """Raise an error unless each option's value is positive and finite."""
    from trocar import checks  # imports NumPy, which `trocar --help` does not need

    for name, value in values.items():
        checks.positive(f"--{name}", value, "")


def check_amplitude(amplitude: float) -> None:
    if not 0 <= amplitude <= 0.5:
        raise TrocarError(f"--amplitude must be a fraction of the joint range, 0 to 0.5, got {amplitude}")


def check_rows(rows: float, remedy: str) -> None:
    """Raise an error if the recordings of a run and their files would not fit into memory."""
    check_memory(rows * ROW, f"recording {rows:.3g} rows", remedy)


def check_toml(path: Path | None, what: str) -> None:
    """Raise an error unless the output file is named NAME.toml."""
    if path is not None and path.suffix != ".toml":
        raise TrocarError(f"{what} must be named NAME.toml, got {path}")
