"""Sockets of a domain that receive from this machine only.

cyclonedds announces only the address of its interface, but its sockets receive packets for any address of the machine.
On Linux a socket can be bound to the loopback device: the kernel then drops everything else.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from trocar.transports.ros2.domain import LOOPBACK

FIRST_PORT, PORTS = 7400, 250  # of domain 0, and of every domain (DDSI-RTPS)


def bind_to_loopback(domain: int) -> None:
    """Restrict the sockets of a domain in this process to the loopback device."""
    for found in domain_sockets(domain):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, LOOPBACK.encode())


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
        with socket.socket(fileno=copy) as found:
            if found.family == socket.AF_INET and found.type == socket.SOCK_DGRAM and found.getsockname()[1] in ports:
                yield found
