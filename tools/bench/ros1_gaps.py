"""Intervals of a robot's samples in ROS 1 next to busy programs: when they are sampled, sent to the node and received.

    python -m tools.bench.ros1_gaps [BUSY,...] [SECONDS]

Prints the 99th percentile and the largest interval [ms], with and without real-time priority of node and client.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from tools.bench.ros1_nodes import node
from trocar.robot import Robot
from trocar.transports.ros1.bridge import Ros1Bridge

ARM, TOPIC = "PSM1", "PSM1/measured_js"
START = 4.0  # time until all are connected [s]


class _TimedBridge(Ros1Bridge):
    """Notes when samples of the topic are taken and sent [s]."""

    def __init__(self, robot: Robot, priority: bool) -> None:
        self.sampled: list[float] = []
        self.sent: list[float] = []
        super().__init__(robot, priority=priority)

    def _sample(self) -> None:
        queued = self._outgoing.qsize()
        super()._sample()
        if self._outgoing.qsize() > queued and TOPIC in self._sampler.read:
            self.sampled.append(time.time())

    def _encoded(self, messages: Any) -> Any:
        encoded = super()._encoded(messages)
        if any(name == TOPIC for name, _ in encoded):
            self.sent.append(time.time())
        return encoded


def _client(pipe: Connection, master: str, urgent: bool) -> None:
    if urgent:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    rospy, kind = node("client", master)
    received: list[float] = []
    rospy.Subscriber(f"/{TOPIC}", kind, lambda _: received.append(time.time()), queue_size=100, tcp_nodelay=True)
    while True:
        pipe.recv()
        pipe.send(list(received))
        received.clear()


def _text(times: Sequence[float]) -> str:
    gaps = 1e3 * np.diff(times)
    return f"{len(times)} samples, {np.percentile(gaps, 99):.1f}, {gaps.max():.1f} ms"


def main(busy: Sequence[int], seconds: float) -> None:
    """Measure with numbers of busy programs, each for a time [s]."""
    context = multiprocessing.get_context("spawn")
    for priority, urgent in itertools.product((False, True), repeat=2):
        with Robot("dvrk", speed="real", start="ready", arms=[ARM]) as robot, _TimedBridge(robot, priority) as bridge:
            pipe, other = multiprocessing.Pipe()
            client = context.Process(target=_client, args=(other, bridge.master, urgent), daemon=True)
            client.start()
            time.sleep(START)
            for count in busy:
                programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
                time.sleep(1.0)
                pipe.send(None)
                pipe.recv()
                bridge.sampled.clear()
                bridge.sent.clear()
                time.sleep(seconds)
                pipe.send(None)
                received, sampled, sent = pipe.recv(), list(bridge.sampled), list(bridge.sent)
                for program in programs:
                    program.kill()
                    program.wait()
                print(
                    f"node {'real-time' if bridge.prioritised else 'ordinary'}, "
                    f"client {'real-time' if urgent else 'ordinary'}, {count} busy, load {os.getloadavg()[0]:.0f}: "
                    f"sampled {_text(sampled)}; sent {_text(sent)}; received {_text(received)}"
                )
            client.terminate()


if __name__ == "__main__":
    main(
        [int(count) for count in (sys.argv[1] if len(sys.argv) > 1 else "0,4,10").split(",")],
        float(sys.argv[2]) if len(sys.argv) > 2 else 5.0,
    )
