"""Processor time of teleoperation: two pairs and the console, camera control, and inverse kinematics of one pose."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any

import mujoco
import numpy as np

from tools.bench.page import looked_at
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism, load_mechanism
from trocar.robot import Robot
from trocar.robot.controller.constants import FREQUENCY, PERIOD
from trocar.robot.messages import Joy
from trocar.simulation import load_scene
from trocar.spatial import Array
from trocar.teleoperation.settings import PSMSettings
from trocar.teleoperation.wiring import Teleoperation

TIMEOUT = 5.0  # time to align the masters [s]
PICTURES = 30  # pictures of an open page per simulated second
PUSH = 1.0  # force of a hand that moves a master back and forth [N]
AT_ONCE = PSMSettings(start_gripper_threshold=0.0)  # follow as soon as aligned, as in the dVRK's simulated systems


class Stopwatch:
    """Processor time spent in wrapped functions [s]."""

    def __init__(self) -> None:
        self.spent = 0.0

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            begun = time.thread_time()
            try:
                return function(*arguments)
            finally:
                self.spent += time.thread_time() - begun

        return timed


class TimedTeleoperation(Teleoperation):
    """Teleoperation that measures its own processor time."""

    def __init__(self, robot: Robot, settings: PSMSettings) -> None:
        self.watch = Stopwatch()
        super().__init__(robot, settings)

    def step(self, t: float) -> None:
        begun = time.thread_time()
        super().step(t)
        self.watch.spent += time.thread_time() - begun


Page = Callable[[Robot], AbstractContextManager[Callable[[], None]]]
PAGE: Page | None = looked_at if find_spec("viser") else None


def figures(
    rounds: int = 3,
    progress: Callable[[float], None] | None = None,
    *,
    seconds: float = 1.0,
    page: Page | None = PAGE,
) -> dict[str, float]:
    """Processor microseconds per simulated millisecond of a whole dVRK under teleoperation, and real-time factors.

    Two pairs follow masters at rest, then masters that simulated hands push back and forth (external wrenches cost
    the engine an additional pass), then both masters move the ECM, each for `seconds` per round.
    Parts: teleoperation (samples, states, laws, commands), arms (controllers of six arms with inverse kinematics and
    gravity compensation), engine (sensors, PID, MuJoCo, bus). `mj_step` is MuJoCo's step alone in the same run, a
    reference for the speed and load of the machine. Medians over the rounds.

    page: opens a page of the robot and yields the function that updates it. Default: that of `trocar run --view`. With
    it, `two_pairs_pushed_with_page` is the processor time of all threads while two pairs follow pushed masters and the
    page gets 30 pictures per simulated second. Its parts: drawing (poses of bodies, messages), server (threads that
    encode the messages and send them to browsers).
    """
    if rounds < 1 or not (math.isfinite(seconds) and seconds >= 0.01):
        raise TrocarError(f"rounds must be 1 or more and seconds 0.01 or more, got {rounds} and {seconds}")
    times: dict[str, list[float]] = {}
    for i in range(rounds):
        for name, value in (_round(seconds, page) | _inverse_kinematics()).items():
            times.setdefault(name, []).append(value)
        if progress is not None:
            progress((i + 1) / rounds)
    return {f"teleop_{name}": float(np.median(values)) for name, values in times.items()}


def _round(seconds: float, page: Page | None = None) -> dict[str, float]:
    robot = Robot(load_scene("dvrk", timestep=PERIOD), start="ready", speed="stepped")
    teleoperation = TimedTeleoperation(robot, AT_ONCE)
    times = _spent(robot, teleoperation.watch, seconds, "holding")
    robot.console().teleop_start()
    robot.bus.publish("console/emulate_operator_present", Joy(buttons=(Joy.PRESSED,)))
    pairs = [teleoperation.pairs[name] for name in ("MTMR_PSM1", "MTML_PSM2")]
    _until(robot, lambda: all(pair.state.following for pair in pairs))
    times |= _spent(robot, teleoperation.watch, seconds, "two_pairs")
    hands = [PUSH]
    robot.every(0.01, lambda t: _push(robot, t, hands[0]))
    times |= _spent(robot, teleoperation.watch, seconds, "two_pairs_pushed")
    if page is not None:
        with page(robot) as refresh:
            times |= _spent_with_page(robot, refresh, seconds)
    times["mj_step_us_per_ms"] = _bare_step(robot, seconds)
    hands[0] = 0.0
    robot.bus.publish("console/emulate_camera", Joy(buttons=(Joy.PRESSED,)))
    camera = teleoperation.camera
    assert camera is not None
    _until(robot, lambda: camera.state.following)
    return times | _spent(robot, teleoperation.watch, seconds, "camera")


def _bare_step(robot: Robot, seconds: float) -> float:
    """Microseconds per millisecond of MuJoCo's step alone, from the state of the robot."""
    model, data = robot.scene.model, mujoco.MjData(robot.scene.model)
    mujoco.mj_copyData(data, model, robot.scene.data)
    count = max(1, round(0.2 * seconds * FREQUENCY))  # short, so that the free arms stay near that state
    begun = time.thread_time()
    for _ in range(count):
        mujoco.mj_step(model, data)
    return 1e6 * (time.thread_time() - begun) / count * FREQUENCY / 1e3


def _push(robot: Robot, t: float, force: float) -> None:
    """Push both masters around with a force [N]."""
    for name in ("MTML", "MTMR"):
        robot.scene.arms[name].apply_wrench([force * math.sin(6.0 * t), 0.0, force * math.cos(6.0 * t), 0.0, 0.0, 0.0])


def _until(robot: Robot, condition: Callable[[], bool]) -> None:
    for _ in range(round(TIMEOUT * 1500)):
        if condition():
            return
        robot.step()
    raise TrocarError(f"teleoperation did not start within {TIMEOUT:g} s")


def _spent(robot: Robot, teleoperation: Stopwatch, seconds: float, state: str) -> dict[str, float]:
    """Microseconds per millisecond, as a whole and by part, and the real-time factor.

    The controllers are timed in a separate run, because timing a controller costs as much as an idle one.
    """
    per_ms = 1e3 / seconds  # from seconds of processor time for `seconds` to us per ms
    before, begun = teleoperation.spent, time.thread_time()
    robot.run(seconds)
    whole = (time.thread_time() - begun) * per_ms
    share = {"teleoperation": (teleoperation.spent - before) * per_ms}
    arms = Stopwatch()
    for controller in robot.controllers.values():
        controller.update = arms.wrapped(controller.update)  # type: ignore[method-assign]
    robot.run(seconds)
    for controller in robot.controllers.values():
        del controller.update
    share["arms"] = arms.spent * per_ms
    share["engine"] = whole - sum(share.values())
    times = {f"{state}_us_per_ms": whole} | {f"{state}_{part}_us_per_ms": us for part, us in share.items()}
    return times | {f"{state}_real_time_factor": 1e3 / whole}


def _spent_with_page(robot: Robot, refresh: Callable[[], None], seconds: float) -> dict[str, float]:
    """Microseconds per millisecond of all threads of this process, as a whole and by part, and real-time factors.

    `real_time_factor` counts all threads as if they shared one core; `wall_real_time_factor` is by the wall clock and
    includes the time taken by other programs.
    """
    pictures, drawing = max(1, round(PICTURES * seconds)), Stopwatch()
    draw, per_ms = drawing.wrapped(refresh), 1e3 * PICTURES / pictures
    wall, process, thread = time.perf_counter(), time.process_time(), time.thread_time()
    for _ in range(pictures):
        robot.run(1.0 / PICTURES)
        draw()
    whole, robot_and_drawing = time.process_time() - process, time.thread_time() - thread
    times = {
        "us_per_ms": whole * per_ms,
        "drawing_us_per_ms": drawing.spent * per_ms,
        "server_us_per_ms": (whole - robot_and_drawing) * per_ms,
        "real_time_factor": 1e3 / (whole * per_ms),
        "wall_real_time_factor": 1e3 / ((time.perf_counter() - wall) * per_ms),
    }
    return {f"two_pairs_pushed_with_page_{name}": value for name, value in times.items()}


def _inverse_kinematics(count: int = 200) -> dict[str, float]:
    """Microseconds per pose: PSM, MTM with a search over the platform angle, MTM at a given angle."""
    psm, master = load_mechanism("PSM"), load_mechanism("MTMR")
    q_psm, T_psm = _poses(psm, count)
    q, T = _poses(master, count)
    return {
        "psm_ik_us": _each(lambda k: psm.inverse_kinematics(T_psm[k], q_psm[k]), count),
        "mtmr_ik_us": _each(lambda k: master.inverse_kinematics(T[k], q[k]), count // 10),
        "mtmr_ik_at_platform_us": _each(lambda k: master.inverse_kinematics_at_platform(T[k], q[k, 3], q[k]), count),
    }


def _poses(mech: Mechanism, count: int) -> tuple[Array, Array]:
    """Joints (count, n) in the middle of the limits, and their tip poses."""
    low, high = mech.arm.lower, mech.arm.upper
    q = np.random.default_rng(0).uniform(0.7 * low + 0.3 * high, 0.3 * low + 0.7 * high, (count, mech.n))
    return q, mech.forward_kinematics(q)


def _each(call: Callable[[int], Array], count: int) -> float:
    begun = time.thread_time()
    for k in range(count):
        call(k)
    return 1e6 * (time.thread_time() - begun) / count
