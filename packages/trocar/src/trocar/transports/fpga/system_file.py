"""System files of the dVRK (`system-*.json`): arms with their arm and IO files, pedals and set-up joints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from trocar.transports.fpga.io_file import (
    GRIPPER,
    DigitalInput,
    IOConfiguration,
    SetUpPots,
    read_io_file,
    read_set_up,
)
from trocar.transports.fpga.json_table import XML, JsonTable, read_commented_json

SET_UP_TYPE, CLASSIC_SET_UP = "SUJ", "SUJ_Classic"  # start of the types of set-up joints; the type on boards
GENERIC = "_GENERIC"  # end of the types of arms that another component of the dVRK's program provides


def read_system(path: str | PathLike[str]) -> IOConfiguration:
    """The configuration of a system file, with the IO files of its arms and consoles.

    Files are searched in its folder, then in the working directory, as the dVRK does. An arm without an IO file is not
    simulated, and a note says so.
    """
    folder, table = (
        Path(path).parent,
        JsonTable(read_commented_json(path, "system file"), f"system file {fspath(path)}"),
    )
    parts, types, generations, notes = [], {}, {}, []
    set_up: tuple[SetUpPots, ...] = ()

    def read(name: str, consequence: str) -> IOConfiguration | None:
        """Content of an IO file; None, with a note, if it cannot be used."""
        file = _found(folder, name)
        if file is None:
            notes.append(f"there is no {name} next to the system file; {consequence}")
        elif file.suffix == ".xml":
            notes.append(f"{name} {XML}; {consequence}")
        else:
            return read_io_file(file)
        return None

    for arm in table.tables("arms"):
        name, kind, serial = arm.text("name"), arm.text("type", ""), arm.text("serial", "")
        if arm.text("simulation", "NONE") != "NONE":  # the dVRK simulates it, without boards
            continue
        if kind.startswith(SET_UP_TYPE) and kind != CLASSIC_SET_UP:
            notes.append(f"{name}: set-up joints of type {kind} have no boards; they are not simulated")
            continue
        consequence = f"{name} is not simulated"
        if kind.endswith(GENERIC):
            notes.append(f"{name}: arms of type {kind} have no boards; {consequence}")
            continue
        file = _found(folder, _arm_file(arm, folder))
        if kind == CLASSIC_SET_UP:
            if file is None:
                notes.append(f"there is no {_arm_file(arm, folder)} next to the system file; {consequence}")
            elif (part := read(arm.text("IO_file", f"sawRobotIO1394-{name}.json"), consequence)) is not None:
                set_up = read_set_up(file)
                parts.append(_renamed(part, arm.text("name_on_IO", name), name))
            continue
        types[name] = kind
        if file is not None:
            content = JsonTable(read_commented_json(file, "arm file"), f"arm file {file}")
            generations[name] = content.text("generation", "Classic")
        for infix in ("", "-gripper") if kind.startswith("MTM") else ("",):
            default = f"sawRobotIO1394-{name}{infix}{'-' if serial else ''}{serial}.json"
            key, what = ("IO_gripper_file", f"the gripper of {consequence}") if infix else ("IO_file", consequence)
            part = read(arm.text(key, default), what)
            if part is not None:
                parts.append(_renamed(part, arm.text("name_on_IO", name), name))
    extra = [name for port in table.tables("IOs") for name in port.texts("configuration_files")]
    for name in dict.fromkeys([*extra, *_named_files(table.content.get("consoles", []))]):
        if _found(folder, name) is None and (inputs := pedals(Path(name).name)) is not None:
            parts.append(IOConfiguration(inputs=inputs))
        elif (part := read(name, "its inputs are not simulated")) is not None:
            parts.append(part)
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


def _found(folder: Path, name: str) -> Path | None:
    """A file in the folder of the system file, or in the working directory."""
    return next((path for path in (folder / name, Path(name)) if path.is_file()), None)


def _arm_file(arm: JsonTable, folder: Path) -> str:
    """Name of the arm file; set-up joints had the key `kinematic` before release 2.3."""
    if arm.text("type", "") != CLASSIC_SET_UP:
        return arm.text("arm_file", f"{arm.text('name')}-{arm.text('serial', '')}.json")
    default = min((path.name for path in folder.glob("suj*.json")), default="suj.json")
    return arm.text("arm_file", arm.text("kinematic", default))


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
