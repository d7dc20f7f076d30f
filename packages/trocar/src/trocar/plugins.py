"""Parts that other installed packages add to trocar, found by their entry points.

| group               | an entry is                                | it adds                                        |
|---------------------|--------------------------------------------|------------------------------------------------|
| `trocar.commands`   | a tuple of `commands.command.CommandEntry` | commands, also parts of a group: `serve NAME`  |
| `trocar.scenes`     | a `simulation.named_scene.NamedScene`      | a scene by name: `load_scene`, `run`, `teleop` |
| `trocar.parameters` | the `Path` of a parameter file             | a parameter set by name                        |
| `trocar.views`      | a `commands.view.ViewKind`                 | something that `trocar view` can open          |
| `trocar.panels`     | a function of a `Robot`: a `view.Panel`    | a panel of `trocar view`                       |
| `trocar.devices`    | a `teleoperation.devices.DeviceKind`       | a master of `trocar teleop`                    |

A package names its entries in its pyproject.toml: `[project.entry-points."trocar.scenes"]`, `my_scene = "mine:SCENE"`.
The name of an entry is the name of what it adds, except in `trocar.commands`.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from trocar.errors import TrocarError

GROUPS = tuple(f"trocar.{kind}" for kind in ("commands", "scenes", "parameters", "views", "panels", "devices"))


@cache
def names(group: str) -> tuple[str, ...]:
    """Names of the entries of a group, in alphabetical order; nothing is imported."""
    return tuple(_entries(group))


@cache
def plugin(group: str, name: str) -> Any:
    """The object of an entry; an error names the package that it comes from."""
    entry = _entries(group)[name]
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise TrocarError(
            f"{name!r} of the package {_package(entry)} cannot be loaded ({entry.value}): {error}; "
            f"update or remove {_package(entry)}"
        ) from error


def plugins(group: str) -> dict[str, Any]:
    """Objects of all entries of a group, by name."""
    return {name: plugin(group, name) for name in names(group)}


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    entries: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        first = entries.setdefault(entry.name, entry)
        if first.value != entry.value:
            raise TrocarError(
                f"the packages {_package(first)} and {_package(entry)} both add {entry.name!r} to {group}; remove one"
            )
    return entries


def _package(entry: EntryPoint) -> str:
    return "unknown" if entry.dist is None else entry.dist.name
