"""Speed of a live robot under the dVRK's controllers, and the regularity of its cycles in real time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from trocar.bench.timing import Timing, elapsed
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.controller.constants import FREQUENCY, PERIOD
from trocar.robot.pace import Pace
from trocar.simulation import load_scene

TURN = 0.25  # time between reversals of the moving arms of a dVRK [s]
SWING = 0.1  # amplitude of their first joint [rad]


def crtk_figures(
    name: str = "dvrk", rounds: int = 5, seconds: float = 2.0, progress: Callable[[float], None] | None = None
) -> dict[str, Timing]:
    """Speed of a dVRK under its 1500 Hz controllers, and the share of late cycles in real time.

    Every round times `seconds` of simulated time while all arms hold and while all move, then runs the moving robot and
    an empty loop in real time for the same duration each. A cycle is late if it begins more than a period after it was
    due. Speeds are medians over the rounds; shares of late cycles are over all rounds. `real_time_priority` is 1 if the
    system granted both loops real-time priority.
    """
    if rounds < 1 or not (np.isfinite(seconds) and seconds >= PERIOD):
        raise TrocarError(f"rounds must be 1 or more and seconds {PERIOD:.2g} or more, got {rounds} and {seconds}")
    scene = load_scene(name, timestep=PERIOD)
    us: dict[str, list[float]] = {"holding": [], "moving": []}
    paces: dict[str, list[Pace]] = {"dvrk": [], "bare_loop": []}
    for i in range(rounds):
        for state, times in us.items():
            scene.reset()
            robot = Robot(scene, start="ready", speed="stepped")
            times.append(_cycle_us(robot, seconds, moving=state == "moving"))
        scene.reset()
        with Robot(scene, start="ready", speed="real") as robot:
            for turn, span in enumerate(_spans(seconds)):
                _swing(robot, turn)
                time.sleep(span)
        if robot.error is not None:
            raise TrocarError(f"the robot stopped: {robot.error!r}")
        paces["dvrk"].append(robot.pace)
        paces["bare_loop"].append(_bare_pace(seconds))
        if progress is not None:
            progress((i + 1) / rounds)
    late = {case: 100.0 * sum(p.late for p in of) / max(1, sum(p.cycles for p in of)) for case, of in paces.items()}
    values = {f"cycle_{state}_us": Timing.of(np.array(times)) for state, times in us.items()}
    values |= {f"real_time_factor_{state}": Timing.of(PERIOD * 1e6 / np.array(times)) for state, times in us.items()}
    shares = {"late_cycles_percent": late["dvrk"], "bare_loop_late_cycles_percent": late["bare_loop"]}
    shares["late_cycles_above_bare_loop_percentage_points"] = late["dvrk"] - late["bare_loop"]
    shares["real_time_priority"] = float(all(pace.prioritised for of in paces.values() for pace in of))
    values |= {figure: Timing(share) for figure, share in shares.items()}
    return {f"crtk_{name}_{figure}": value for figure, value in values.items()}


def _spans(seconds: float) -> list[float]:
    """Intervals between the reversals of moving arms [s]."""
    return np.diff([*np.arange(0.0, seconds, TURN), seconds]).tolist()


def _swing(robot: Robot, turn: int) -> None:
    """Command the first joint of all arms to the other side."""
    way = SWING if turn == 0 else 2.0 * SWING
    for name in robot.arms:
        robot.arm(name).move_jr(way * (-1.0) ** turn * np.eye(robot.readings(name).arm.tip_joints)[0])


def _cycle_us(robot: Robot, seconds: float, *, moving: bool) -> float:
    counts = [max(1, round(span * FREQUENCY)) for span in _spans(seconds)]
    total = 0.0
    for turn, count in enumerate(counts):
        if moving:
            _swing(robot, turn)
        total += elapsed(partial(robot.step, count))
    return 1e6 * total / sum(counts)


def _bare_pace(seconds: float) -> Pace:
    """An empty loop at the controllers' rate, in a separate thread."""
    pace, closing = Pace(), threading.Event()
    thread = threading.Thread(target=pace.keep, args=(lambda: None, closing), daemon=True)
    thread.start()
    time.sleep(seconds)
    closing.set()
    thread.join()
    return pace
