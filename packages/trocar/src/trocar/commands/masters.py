"""Masters of `trocar teleop` as the command line names them: DEVICE[@PLACE]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from trocar.commands.options import connected
from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar.teleoperation.devices import DeviceKind, InputDevice
    from trocar.transports.remote_bus import RemoteBus

COUNTS = {1: "once", 2: "twice"}
ROS = ("ros1", "ros2")  # before the name of a master in ROS: ros2:MTMR
TRACKED_HOST, TRACKED_PORT = "127.0.0.1", 8443  # of the server of phones and headsets


@dataclass(frozen=True, kw_only=True)
class ChosenMasters:
    """Devices of a run.

    Attributes:
        names, kinds: of every device; a master in ROS is connected by `openers`.
        places: what follows @ in the names; "" for nothing. forces: send forces to masters in ROS.
        tracked: host and port of the server of phones and headsets; None without one.
    """

    names: Sequence[str]
    kinds: Sequence[DeviceKind]
    places: Sequence[str]
    forces: bool
    tracked: tuple[str, int] | None

    def openers(self, running: ExitStack) -> list[Callable[[], InputDevice]]:
        """Functions that open the devices: the second of a kind is the second of the machine."""
        openers: list[Callable[[], InputDevice]] = []
        systems: dict[tuple[str, str], RemoteBus] = {}
        for k, (name, kind, place) in enumerate(zip(self.names, self.kinds, self.places, strict=True)):
            system, sign, arm = name.partition(":")
            if not sign:
                openers.append(partial(kind.open, self.names[:k].count(name)))
                continue
            if (system, place) not in systems:
                systems[system, place] = running.enter_context(_system(system, place))
            openers.append(partial(_crtk_master, systems[system, place], arm, self.forces))
        return openers


def chosen_masters(texts: Sequence[str], *, forces: bool = False, page: bool = True) -> ChosenMasters:
    """The devices of the command line; wrong ones raise an error before anything is opened."""
    from trocar.teleoperation.devices import DEVICES, DeviceKind

    names, places = zip(*(_split(text) for text in texts), strict=True)
    in_ros = [name for name in names if name.partition(":")[0] in ROS and ":" in name]
    if forces and not in_ros:
        raise TrocarError("--allow-motion is for masters in ROS, such as --master ros2:MTMR")
    check_known("master", [*DEVICES, *in_ros], *names)
    kinds = [DEVICES[name] if name in DEVICES else DeviceKind(_unopened) for name in names]
    for name, kind, place in zip(names, kinds, places, strict=True):
        if place and not (kind.tracked or name in in_ros):
            raise TrocarError(f"--master {name} is a device of this machine; leave out @{place}")
        if kind.in_page and not page:
            raise TrocarError(f"--master {name} is a part of the page: leave out --no-page")
        if kind.max_count is not None and names.count(name) > kind.max_count:
            raise TrocarError(f"--master {name} can be given {COUNTS[kind.max_count]}")
    tracked = _tracked({place for kind, place in zip(kinds, places, strict=True) if kind.tracked})
    return ChosenMasters(names=names, kinds=kinds, places=places, forces=forces, tracked=tracked)


def _tracked(places: set[str]) -> tuple[str, int] | None:
    """Host and port of the server of phones and headsets at these places."""
    if not places:
        return None
    if len(places) > 1:
        raise TrocarError(f"phones and headsets have one server, got {' and '.join(sorted(places))}")
    host, _, port = places.pop().partition(":")
    if port and not (port.isdecimal() and int(port) <= 65535):
        raise TrocarError(f"the port of a phone or headset must be 0 to 65535, got {port!r}")
    return host or TRACKED_HOST, int(port) if port else TRACKED_PORT


def _split(text: str) -> tuple[str, str]:
    name, _, place = text.partition("@")
    return name, place


def _unopened(index: int) -> InputDevice:
    raise TrocarError("a master in ROS is opened by its system")


def _system(system: str, place: str) -> RemoteBus:
    """A client of the ROS system of a master: at a URI (ROS 1) or on an interface (ROS 2)."""
    ros1 = system == "ros1"
    return connected(ros1, place or None if ros1 else None, not ros1, None, "lo" if ros1 or not place else place)


def _crtk_master(system: RemoteBus, name: str, forces: bool) -> InputDevice:
    from trocar.teleoperation.devices import CrtkMaster

    return CrtkMaster(system, name, forces=forces)
