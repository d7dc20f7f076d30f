"""Callbacks that wait or raise, and robots that have stopped: every call says so, and no thread hangs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.support.crtk_robot import started
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.messages import Message
from trocar.robot.settings import ArmSettings

TIMEOUT = 30.0  # [s]; a wait that hangs must fail a test, not block it
SPEEDS = ("real", "stepped", "fast")


@pytest.fixture(params=SPEEDS)
def robot(request: pytest.FixtureRequest) -> Iterator[Robot]:
    with Robot(ArmSettings().build(), start="ready", speed=request.param) as robot:
        yield robot


def advance(robot: Robot, seconds: float = 0.1) -> None:
    """Let a time pass [s], whoever advances the robot; fails instead of hanging."""
    if robot.pace.speed == 0.0:
        robot.run(seconds)
        return
    deadline, end = time.monotonic() + TIMEOUT, robot.now + round(seconds * 1e9)
    while robot.now < end:
        assert time.monotonic() < deadline, "the robot hangs"
        assert robot.error is None
        time.sleep(0.005)


def waits(robot: Robot) -> dict[str, Callable[[], object]]:
    """Every way to wait for a robot, by name."""
    psm = robot.psm("PSM")
    return {
        "sleep": lambda: robot.sleep(0.05),
        "wait_for": lambda: robot.wait_for(lambda: False, 0.05),
        "handle": lambda: psm.move_jp(np.zeros(6)).wait(),
        "state": lambda: psm.wait_for_operating_state("FAULT", 0.05),
        "step": lambda: robot.simulation().step(1),
    }


@pytest.mark.parametrize("way", ["sleep", "wait_for", "handle", "state", "step"])
@pytest.mark.parametrize("topic", ["PSM/measured_js", "PSM/operating_state"])
def test_a_callback_that_waits_is_told_why_it_cannot(robot: Robot, topic: str, way: str) -> None:
    errors: list[str] = []
    wait = waits(robot)[way]

    def callback(_message: Message) -> None:
        if not errors:
            try:
                wait()
            except TrocarError as error:
                errors.append(str(error))

    robot.bus.subscribe(topic, callback)
    advance(robot)
    assert len(errors) == 1
    assert "cannot wait" in errors[0] and "threading.Event" in errors[0]
    advance(robot)


def test_an_action_that_waits_is_told_why_it_cannot(robot: Robot) -> None:
    errors: list[str] = []

    def action(_time: float) -> None:
        if not errors:
            with pytest.raises(TrocarError, match="cannot wait") as error:
                robot.sleep(0.01)
            errors.append(str(error.value))

    robot.every(0.01, action)
    advance(robot)
    assert errors


def test_other_threads_wait_while_callbacks_run(robot: Robot) -> None:
    if robot.pace.speed == 0.0:
        pytest.skip("time passes only in the caller's thread")
    seen = threading.Event()
    robot.bus.subscribe("PSM/measured_js", lambda _: seen.set())
    for _ in range(50):
        robot.sleep(0.002)
    assert seen.is_set()


def test_a_raising_callback_is_reported_once_per_kind_and_the_robot_goes_on(
    robot: Robot, caplog: pytest.LogCaptureFixture
) -> None:
    reports: list[str] = []
    later: list[Message] = []
    calls = [0]

    def callback(_message: Message) -> None:
        calls[0] += 1
        raise ValueError("bad \x1b[2J day") if calls[0] % 2 else KeyError("other")

    robot.bus.subscribe("simulation/error", lambda message: reports.append(message.value))  # type: ignore[attr-defined]
    with caplog.at_level(logging.ERROR, "trocar.robot"):
        robot.bus.subscribe("PSM/measured_js", callback)
        robot.bus.subscribe("PSM/measured_js", later.append)
        advance(robot)
    assert calls[0] > 4 and len(later) >= calls[0] - 1  # the others are called after it
    assert robot.error is None
    assert [("ValueError" in text, "KeyError" in text) for text in reports] == [(True, False), (False, True)]
    assert all("PSM/measured_js" in text and "\x1b" not in text for text in reports)
    assert len(caplog.records) == 2
    robot.psm("PSM").servo_jp(robot.psm("PSM").setpoint_jp()[0])
    advance(robot)


def test_a_failing_reader_of_errors_does_not_repeat_itself(robot: Robot) -> None:
    calls: list[Message] = []

    def callback(message: Message) -> None:
        calls.append(message)
        raise RuntimeError("no")

    robot.bus.subscribe("simulation/error", callback)
    robot.bus.subscribe("PSM/measured_js", callback)
    advance(robot)
    assert robot.error is None


def test_errors_of_a_command_reach_its_sender() -> None:
    robot = started("PSM")
    with pytest.raises(TrocarError):
        robot.bus.publish("PSM/move_jp", robot.bus.read("PSM/measured_cp"))  # type: ignore[arg-type]
