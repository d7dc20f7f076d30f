"""Start of the cyclonedds process: cyclonedds is imported only here, not in the process of the control loop."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection

from trocar.robot.interface import Service, Topic
from trocar.transports.priority import urgent_process
from trocar.transports.protocol import Failed, send

SWITCH = 3e-4  # thread switch interval; Python's default of 5 ms is five samples at 1000 Hz [s]


@dataclass(frozen=True)
class Settings:
    """Settings of the cyclonedds process; see `Bridge`."""

    topics: tuple[Topic, ...]
    services: tuple[Service, ...]
    domain: int
    interface: str
    distro: str
    hold_when_lost: bool
    priority: bool = False


def run(pipe: Connection, settings: Settings, images: Connection | None = None) -> None:
    """Serve the interface until None arrives or the pipe is closed. The simulation handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH)
    prioritised = settings.priority and urgent_process().granted  # before cyclonedds starts its threads
    try:
        from trocar.transports.ros2.node import Node

        node = Node(pipe, settings, prioritised)
    except Exception as error:
        send(pipe, Failed(str(error) or type(error).__name__))
        return
    node.serve(images)
