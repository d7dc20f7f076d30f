"""Conformance to the dVRK's interface as named checks, for any implementation of the bus.

    from trocar.robot import Robot
    from trocar.robot.conformance import Permission, Subject, examine

    robot = Robot("psm", start="ready")
    for result in examine(Subject(robot, "PSM", "PSM"), Permission.read):
        print(result.check, result.status, result.reason)

The checks use only a bus (`AnyBus`) and a clock. With `Permission.read` they send no commands; checks that
would do so are skipped with the reason. A client of another implementation, such as a robot in ROS, is a `Connection`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from trocar.robot.conformance import motion, reading, states
from trocar.robot.conformance.subject import AnyBus, CheckFailed, CheckSkipped, Connection, Subject
from trocar.robot.interface import INTERFACES

__all__ = ["CHECKS", "AnyBus", "Check", "Connection", "Permission", "Result", "Subject", "checks_of", "examine"]

ARMS = ("ARM", "PSM", "ECM", "MTM")
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Permission(IntEnum):
    """Permitted checks: read only; motion within the amplitude; also joint limits, power off and homing."""

    read = 0
    motion = 1
    unbounded = 2


NEEDED = {
    Permission.motion: "sends commands that may move the arm",
    Permission.unbounded: "moves the arm beyond the amplitude or switches it off",
}


@dataclass(frozen=True)
class Check:
    """One requirement on some kinds of devices; `run` raises if the device does not meet it."""

    name: str
    needs: Permission
    run: Callable[[Subject], None]
    kinds: tuple[str, ...] = ARMS

    @property
    def requirement(self) -> str:
        return (self.run.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True)
class Result:
    """Result of a check of a device: passed, failed or skipped, with the reason for the last two."""

    arm: str
    check: str
    requirement: str
    status: str
    reason: str = ""


def _checks(
    needs: Permission, *functions: Callable[[Subject], None], kinds: tuple[str, ...] = ARMS
) -> tuple[Check, ...]:
    return tuple(Check(function.__name__, needs, function, kinds) for function in functions)


# The stamps of the operating states come last, because they are checked over the whole run.
CHECKS = (
    *_checks(Permission.read, reading.topics, reading.services, reading.latching, kinds=tuple(INTERFACES)),
    *_checks(Permission.read, reading.sizes, reading.units, reading.frames),
    *_checks(Permission.read, reading.state_stamps, reading.rates),
    *_checks(Permission.read, reading.forward, reading.inverse, reading.jacobian),
    *_checks(Permission.motion, motion.wrong_content, motion.servo_is_idle, motion.move_busy, motion.zero_length_move),
    *_checks(Permission.motion, motion.replaced_goal, motion.last_sample, motion.velocities),
    *_checks(Permission.motion, motion.jaw, kinds=("PSM",)),
    *_checks(Permission.motion, states.repeated_commands, states.pause_and_resume, states.wrong_state),
    *_checks(Permission.unbounded, motion.clipping, motion.effort_control, states.power_cycle),
    *_checks(Permission.unbounded, states.unhome, states.fault),
    *_checks(Permission.read, states.base_of_arm, kinds=("SUJ_ARM",)),
    *_checks(Permission.motion, states.pedals, states.teleop_scale, states.teleop_selection, kinds=("CONSOLE",)),
    *_checks(Permission.motion, states.volume, kinds=("SYSTEM",)),
    *_checks(Permission.read, reading.operating_state_stamps),
)


def checks_of(kind: str) -> tuple[Check, ...]:
    """Checks of a kind of device, in their order."""
    return tuple(check for check in CHECKS if kind in check.kinds)


def examine(subject: Subject, permission: Permission = Permission.read) -> Iterator[Result]:
    """Results of all checks of a device, in their order."""
    for check in checks_of(subject.kind):
        yield Result(subject.arm, check.name, check.requirement, *_outcome(check, subject, permission))


def _outcome(check: Check, subject: Subject, permission: Permission) -> tuple[str, str]:
    if check.needs > permission:
        return SKIPPED, f"not permitted: {NEEDED[check.needs]}"
    try:
        if check.needs > Permission.read and subject.kind in ARMS and not subject.ready:
            state: Any = subject.state
            return SKIPPED, f"the arm is not enabled, homed and idle: {state.state}, is_homed={state.is_homed}"
        check.run(subject)
    except CheckSkipped as skipped:
        return SKIPPED, str(skipped)
    except CheckFailed as failed:
        return FAILED, str(failed)
    except Exception as error:  # an implementation may raise anything; the other checks continue
        return FAILED, f"{type(error).__name__}: {error}"
    finally:
        subject.end_check()
    return PASSED, ""
