"""Checks with their names and results, and the function that runs them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

from trocar.robot.conformance import devices, kinematics, motion, reading, states
from trocar.robot.conformance.subject import CheckFailed, CheckSkipped, Subject
from trocar.robot.interface import INTERFACES

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
        """First line of the docstring."""
        return (self.run.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True)
class Result:
    """Result of a check of a device: passed, failed or skipped, with the reason for the last two."""

    arm: str
    check: str
    requirement: str
    status: str
    reason: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def _checks(
    needs: Permission, *functions: Callable[[Subject], None], kinds: tuple[str, ...] = ARMS
) -> tuple[Check, ...]:
    return tuple(Check(function.__name__, needs, function, kinds) for function in functions)


# The stamps of the operating states come last, because they are checked over the whole run.
CHECKS = (
    *_checks(Permission.read, reading.topics, reading.services, reading.latching, kinds=tuple(INTERFACES)),
    *_checks(Permission.read, reading.sizes, reading.units, reading.frames),
    *_checks(Permission.read, reading.state_stamps, reading.rates),
    *_checks(Permission.read, kinematics.forward, kinematics.inverse, kinematics.jacobian),
    *_checks(Permission.motion, motion.wrong_content, motion.servo_is_idle, motion.move_busy, motion.zero_length_move),
    *_checks(Permission.motion, motion.replaced_goal, motion.last_sample, motion.velocities),
    *_checks(Permission.motion, motion.jaw, kinds=("PSM",)),
    *_checks(Permission.motion, states.repeated_commands, states.pause_and_resume, states.wrong_state),
    *_checks(Permission.unbounded, motion.clipping, motion.effort_control, states.power_cycle),
    *_checks(Permission.unbounded, states.unhome, states.fault),
    *_checks(Permission.read, devices.base_of_arm, kinds=("SUJ_ARM",)),
    *_checks(Permission.motion, devices.pedals, devices.teleop_scale, devices.teleop_selection, kinds=("CONSOLE",)),
    *_checks(Permission.motion, devices.volume, kinds=("SYSTEM",)),
    *_checks(Permission.read, reading.operating_state_stamps),
)


def checks_of(kind: str) -> tuple[Check, ...]:
    """Checks of a kind of device, in their order."""
    return tuple(check for check in CHECKS if kind in check.kinds)


def examine(subject: Subject, permission: Permission = Permission.read) -> Iterator[Result]:
    """Results of all checks of a device, in their order."""
    for check in checks_of(subject.kind):
        status, reason = _outcome(check, subject, permission)
        yield Result(subject.arm, check.name, check.requirement, status, reason)


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
