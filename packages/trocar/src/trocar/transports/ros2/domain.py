"""Requirements of a participant: installed packages, domain, network interface and its sockets."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from trocar.errors import TrocarError, check_known

LOOPBACK = "lo"
LAST_DOMAIN = 101  # the ports of higher domains are in Linux's range of ephemeral ports
FIRST_PORT, PORTS = 7400, 250  # of domain 0, and of every domain (DDSI-RTPS)
MAX_PARTICIPANTS = 32  # participants that find each other without multicast, as in rmw_cyclonedds


def check_installed() -> None:
    """Raise an error if the packages of the extra `ros2` are not installed."""
    missing = [name for name in ("cyclonedds", "rosbags") if find_spec(name) is None]
    if missing:
        remedy = "pip install 'trocar[ros2]' (cyclonedds 11 has wheels for CPython 3.10 to 3.13)"
        raise TrocarError(f"ROS 2 requires the Python package {missing[0]}: {remedy}")


def check_domain(domain: int) -> None:
    if not 0 <= domain <= LAST_DOMAIN:
        raise TrocarError(f"a ROS domain must be a number from 0 to {LAST_DOMAIN}, got {domain}")


def chosen_domain(domain: int | None) -> int:
    """The given domain, else ROS_DOMAIN_ID, else 0."""
    if domain is None:
        text = os.environ.get("ROS_DOMAIN_ID") or "0"
        if not text.isdecimal():
            raise TrocarError(f"ROS_DOMAIN_ID must be a number from 0 to {LAST_DOMAIN}, got {text!r}")
        domain = int(text)
    check_domain(domain)
    return domain


def is_loopback(interface: str) -> bool:
    """True if an interface, by name or IP address, reaches this machine only."""
    try:
        return ipaddress.ip_address(interface).is_loopback
    except ValueError:
        return interface == LOOPBACK


def configuration(interface: str) -> str:
    """Configuration of cyclonedds for one network interface, by name or IP address.

    The loopback interface has no multicast: participants are found by their ports, as in rmw_cyclonedds with
    ROS_LOCALHOST_ONLY=1 or ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST.
    """
    try:
        chosen = f'address="{ipaddress.ip_address(interface)}"'
    except ValueError:
        check_known("network interface", [name for _, name in socket.if_nameindex()], interface)
        chosen = f'name="{interface}"'
    general = f"<General><Interfaces><NetworkInterface {chosen}/></Interfaces></General>"
    discovery = (
        f"<Discovery><ParticipantIndex>auto</ParticipantIndex>"
        f"<MaxAutoParticipantIndex>{MAX_PARTICIPANTS}</MaxAutoParticipantIndex>"
        f'<Peers><Peer Address="127.0.0.1"/></Peers></Discovery>'
    )
    own = discovery if is_loopback(interface) else ""
    return f'<CycloneDDS><Domain Id="any">{general}{own}</Domain></CycloneDDS>'


def bind_to_loopback(domain: int) -> None:
    """Bind the sockets of a domain in this process to the loopback device: the kernel drops everything else.

    cyclonedds announces only the address of its interface, but its sockets receive packets for any address.
    """
    for each in domain_sockets(domain):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, LOOPBACK.encode())


def domain_sockets(domain: int) -> Iterator[socket.socket]:
    """The UDP sockets of this process on the ports of a domain."""
    ports = range(FIRST_PORT + PORTS * domain, FIRST_PORT + PORTS * (domain + 1))
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if not os.readlink(entry).startswith("socket:"):
                continue
            copy = os.dup(int(entry.name))
        except OSError:
            continue  # closed in the meantime
        with socket.socket(fileno=copy) as own:
            if own.family == socket.AF_INET and own.type == socket.SOCK_DGRAM and own.getsockname()[1] in ports:
                yield own
