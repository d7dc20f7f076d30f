"""Callbacks that wait or raise, and robots that have stopped: every call says so, and no thread hangs."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.support.crtk_robot import started
from tests.support.waiting import TIMEOUT, until
from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.messages import Message
from trocar.robot.settings import ArmSettings

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
    end = robot.now + round(seconds * 1e9)
    until(lambda: robot.now >= end or robot.error, "the robot's time")
    assert robot.error is None


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
    assert "cannot wait" in errors[0]
    assert "threading.Event" in errors[0]
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
        before = calls[0]  # in real time, the robot does not wait for the second subscription
        advance(robot)
    assert calls[0] > before + 4
    assert len(later) >= calls[0] - before - 1
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


# -- robots that have stopped ------------------------------------------------------------------------------------------


def calls(robot: Robot) -> dict[str, Callable[[], object]]:
    """Calls of clients, by name."""
    psm = robot.psm("PSM")
    q = np.zeros(6)
    return {
        "getter": psm.measured_jp,
        "event": psm.operating_state,
        "busy": psm.is_busy,
        "homed": psm.is_homed,
        "servo": lambda: psm.servo_jp(q),
        "move": lambda: psm.move_jp(q),
        "jaw": lambda: psm.jaw.servo_jp(0.1),
        "state": psm.enable,
        "service": lambda: psm.forward_kinematics(q),
        "console": lambda: robot.console().teleop_start(),
        "wait": lambda: robot.wait_for(lambda: False, 1.0),
        "sleep": lambda: robot.sleep(1.0),
    }


def check_refused(robot: Robot, reason: str) -> None:
    for name, call in calls(robot).items():
        with pytest.raises(TrocarError, match=reason):
            pytest.fail(f"{name} returned {call()}")


def failed(robot: Robot) -> Robot:
    """A robot in real time whose control cycle has failed."""

    def fail() -> None:
        raise RuntimeError("the cycle fails")

    robot.before_cycle.append(fail)
    until(lambda: robot.error, "the failure")
    robot.before_cycle.remove(fail)
    return robot


def test_every_call_of_a_stopped_robot_raises_until_it_plays() -> None:
    with Robot(ArmSettings().build(), start="ready", speed="real") as robot:
        failed(robot)
        check_refused(robot, r"the robot has stopped: RuntimeError.*robot\.play\(\)")
        assert not robot.simulation().frame().playing  # for a page that shows the error
        robot.play()
        advance(robot)
        for call in ("getter", "servo", "service"):
            calls(robot)[call]()


@pytest.mark.parametrize("speed", SPEEDS)
def test_every_call_of_a_closed_robot_raises(speed: str) -> None:
    with Robot(ArmSettings().build(), start="ready", speed=speed) as robot:
        psm = robot.psm("PSM")
        psm.measured_jp()
    check_refused(robot, "the robot is closed")


# -- the end of a robot ------------------------------------------------------------------------------------------------


@pytest.fixture
def without_collection() -> Iterator[None]:
    """No garbage collection: objects end with their last reference, or not at all."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def ends(thread: threading.Thread) -> bool:
    thread.join(TIMEOUT)
    return not thread.is_alive()


def threads_of_robots() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "trocar-dvrk"}


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize("playing", [True, False])
def test_a_robot_in_real_time_ends_with_its_last_reference(playing: bool) -> None:
    before = threads_of_robots()
    robot = Robot(ArmSettings().build(), start="ready", speed="real", playing=playing)
    (thread,) = threads_of_robots() - before
    psm = robot.psm("PSM")
    handle = psm.move_jp(psm.setpoint_jp()[0])
    robot.console().teleop_start()
    robot.simulation().pause()
    robot.simulation().play()
    del robot
    psm.jaw.servo_jp(0.1)
    thread.join(0.2)
    assert thread.is_alive()  # its client is in use
    jaw = psm.jaw
    del psm, handle
    thread.join(0.1)
    assert thread.is_alive()
    jaw.servo_jp(0.2)
    del jaw
    assert ends(thread)


def test_clients_that_are_no_longer_used_end_their_subscriptions() -> None:
    robot = started("PSM")
    psm = robot.psm("PSM")
    assert robot.psm("PSM") is psm
    psm.move_jp(psm.setpoint_jp()[0] + 0.01).wait()
    start, number = 0, len(robot.bus._lines["PSM/operating_state"].subscribers)
    del psm
    for _ in range(5):
        assert robot.psm("PSM").wait_for_busy(start_time=start, timeout=0.1)  # states before its creation count
        robot.console()
    assert len(robot.bus._lines["PSM/operating_state"].subscribers) == number - 1
