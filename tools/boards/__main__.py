"""Home arms through a running `trocar serve --fpga` and move them slowly, at 1500 Hz; print round trips and errors.

python -m tools.boards trocar-fpga/system-PSM1.json --minutes 10
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from tools.boards.client import BoardArm, BoardClient, UdpExchange
from tools.boards.homing import HomedArm, Words
from trocar.arms import load_arm
from trocar.transports.fpga.io_file import read_system
from trocar.transports.fpga.packets import PORT

PERIOD = 1.0 / 1500.0
PRIORITY = 8  # below that of the server
AMPLITUDE, FREQUENCY = 0.01, 0.2  # of the motion of every actuator [rad, m; Hz]


class Pacemaker:
    """Waits for the next cycle, and counts the late ones."""

    def __init__(self) -> None:
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
    options = parser.parse_args()
    if options.priority:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))
    configuration = read_system(options.system)
    client = BoardClient(UdpExchange((options.address, PORT)))
    print(f"boards {client.scan()}")
    pace, trips = Pacemaker(), []
    arms = []
    for robot in configuration.robots:
        if robot.name in configuration.types:
            facts = load_arm(robot.name if robot.name.startswith("MTM") else robot.name[:3])
            arms.append((robot.name, HomedArm(client, BoardArm(client, robot), facts, lambda: None)))
    for _, arm in arms:
        arm.switch_on()
    for phase in (HomedArm.wait_for_power, HomedArm.calibrate):
        for _ in range(300):
            samples = client.sample()
            words: Words = {}
            for _, arm in arms:
                words |= phase(arm, samples)
            client.command(words)
            pace()
    for _, arm in arms:
        arm.preload()
    samples = client.sample()
    goals = [arm.positions(samples) for _, arm in arms]
    start = time.perf_counter()
    pace.due, pace.cycles, pace.late = start, 0, 0
    worst = [0.0] * len(arms)
    while time.perf_counter() - start < 60.0 * options.minutes:
        before = time.perf_counter()
        samples = client.sample()
        trips.append(time.perf_counter() - before)
        words = {}
        angle = 2.0 * np.pi * FREQUENCY * (before - start)
        for k, (_, arm) in enumerate(arms):
            goal = goals[k] + AMPLITUDE * np.sin(angle)
            error = arm.positions(samples) - goal
            worst[k] = max(worst[k], float(np.abs(error).max()))
            rate = np.full(len(goal), 2.0 * np.pi * FREQUENCY * AMPLITUDE * np.cos(angle))
            words |= arm.control(samples, goal, rate)
        client.command(words)
        pace()
    elapsed = time.perf_counter() - start
    us = 1e6 * np.array(trips)
    print(f"{pace.cycles} cycles, {pace.cycles / elapsed:.0f} Hz, {pace.late} late")
    p50, p99 = np.percentile(us, [50, 99])
    print(f"query and read [us]: mean {us.mean():.0f}, p50 {p50:.0f}, p99 {p99:.0f}, max {us.max():.0f}")
    for (name, _), largest in zip(arms, worst, strict=True):
        print(f"{name}: moved, largest error of an actuator {largest:.4f} rad or m")


if __name__ == "__main__":
    main()
