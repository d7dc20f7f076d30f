"""Start of the cyclonedds process: cyclonedds is imported only here, not in the process of the control loop."""

from __future__ import annotations

import signal
import sys
from multiprocessing.connection import Connection

from trocar.ros.dds.protocol import Failed, Settings, send

SWITCH = 3e-4  # thread switch interval; Python's default of 5 ms is five samples at 1000 Hz [s]


def run(pipe: Connection, settings: Settings, pictures: Connection | None = None) -> None:
    """Serve the interface until None comes or the pipe is closed. Ctrl-C is left to the simulation."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH)
    try:
        from trocar.ros.dds.node import Node

        node = Node(pipe, settings, pictures)
    except Exception as error:
        send(pipe, Failed(str(error) or type(error).__name__))
        return
    node.serve()
