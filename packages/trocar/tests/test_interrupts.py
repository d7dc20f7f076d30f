"""Processes that a command starts ignore Ctrl-C from the beginning."""

import operator
import signal
import sys
from multiprocessing import active_children
from pathlib import Path

import pytest

from trocar.interrupts import deaf_processes
from trocar.transports.link import ConnectedProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def blocks_interrupts(pid: int | str) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:"))
    return bool(int(mask, 16) & 1 << (signal.SIGINT - 1))


def test_a_node_ignores_ctrl_c_while_it_is_imported() -> None:
    before = set(active_children())
    process = ConnectedProcess(operator.methodcaller("recv"))
    try:
        (child,) = set(active_children()) - before
        assert child.pid is not None
        assert blocks_interrupts(child.pid)
        assert not blocks_interrupts("self")
    finally:
        process.kill()


def test_ctrl_c_while_a_process_is_started_comes_afterwards() -> None:
    passed = []

    def start() -> None:
        with deaf_processes():
            signal.raise_signal(signal.SIGINT)
            passed.append(True)

    with pytest.raises(KeyboardInterrupt):
        start()
    assert passed
