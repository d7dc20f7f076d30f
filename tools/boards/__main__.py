"""Home arms through a running `trocar serve boards` and move them slowly, at 1500 Hz; print round trips and errors.

python -m tools.boards trocar-fpga/system-PSM1.json --minutes 10
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from pathlib import Path

import numpy as np

from tools.boards.client import TIMEOUT, BoardArm, BoardClient, UdpExchange
from tools.boards.homing import HomedArm
from trocar.arms import load_arm
from trocar.transports.fpga.io_file import IOConfiguration
from trocar.transports.fpga.packets import PORT
from trocar.transports.fpga.system_file import read_system

PERIOD = 1.0 / 1500.0
PRIORITY = 8  # below that of the server
AMPLITUDE, FREQUENCY = 0.01, 0.2  # of the motion of every actuator [rad, m; Hz]


class Pacemaker:
    """Waits for the next cycle, and counts the late ones."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.due, self.cycles, self.late = time.perf_counter(), 0, 0

    def __call__(self) -> None:
        self.due += PERIOD
        self.cycles += 1
        left = self.due - time.perf_counter()
        if left > 0.0:
            time.sleep(left)
        elif left < -PERIOD:
            self.late += 1
            self.due = time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", help="system file of the served boards")
    parser.add_argument("--minutes", type=float, default=0.2)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--priority", action="store_true", help="real-time priority, where the system grants it")
    parser.add_argument("--server", type=int, metavar="PID", help="process of the server, whose share is reported")
    options = parser.parse_args()
    if options.priority:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
        except PermissionError:
            print("no real-time priority (limit rtprio)")
    run(read_system(options.system), options.address, 60.0 * options.minutes, options.server)


def run(configuration: IOConfiguration, address: str, seconds: float, server: int | None) -> None:
    """Home all arms, move them for a time [s] and print the figures."""
    client = BoardClient(UdpExchange((address, PORT)))
    print(f"boards {sorted(client.scan())}")
    robots = [robot for robot in configuration.robots if robot.name in configuration.types]
    facts = [load_arm(robot.name if robot.name.startswith("MTM") else robot.name[:3]) for robot in robots]
    gc.collect()  # now: it takes longer than the watchdog waits
    gc.disable()
    pace = Pacemaker()
    arms = HomedArm(client, BoardArm(client, *robots), facts, pace)
    arms.power()
    start_positions = arms.positions(client.sample())
    worst, trips, rates = np.zeros(len(start_positions)), [], np.ones(len(start_positions))
    pace.restart()
    start, used, used_here = time.perf_counter(), _used(server), time.process_time()
    while (before := time.perf_counter()) - start < seconds:
        samples = client.sample()
        trips.append(time.perf_counter() - before)
        angle = 2.0 * np.pi * FREQUENCY * (before - start)
        goal = start_positions + AMPLITUDE * np.sin(angle)
        np.maximum(worst, np.abs(arms.positions(samples) - goal), out=worst)
        client.write_block(arms.control(samples, goal, 2.0 * np.pi * FREQUENCY * AMPLITUDE * np.cos(angle) * rates))
        pace()
    elapsed = time.perf_counter() - start
    us = 1e6 * np.array(trips)
    p50, p99 = np.percentile(us, [50, 99])
    print(f"{pace.cycles} cycles in {elapsed:.0f} s, {pace.cycles / elapsed:.1f} Hz, {pace.late} late")
    print(
        f"query and read of {len(client.nodes)} boards [us]: mean {us.mean():.0f}, p50 {p50:.0f}, p99 {p99:.0f}, "
        f"max {us.max():.0f}; {np.count_nonzero(us > 1e6 * TIMEOUT)} above 20 ms"
    )
    shares = {"client": time.process_time() - used_here} | ({} if server is None else {"server": _used(server) - used})
    print("share of a processor: " + ", ".join(f"{who} {100 * t / elapsed:.0f} %" for who, t in shares.items()))
    at = 0
    for robot in robots:
        largest = worst[at : (at := at + len(robot.actuators))].max()
        print(f"{robot.name}: moved, largest error of an actuator {largest:.4f} rad or m")


def _used(process: int | None) -> float:
    """Processor time of a process [s]; 0 without one."""
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
