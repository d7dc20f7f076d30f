"""Checks of the operating states and their transitions."""

from __future__ import annotations

from trocar.robot.conformance.motion import require_refused
from trocar.robot.conformance.subject import MOTION_TIMEOUT, TIMEOUT, Subject, require
from trocar.robot.messages import JointState, String

JUMP = 1.0  # step of the last joint, beyond every arm's tracking tolerance [rad]
WARNING_INTERVAL = 2.1  # the dVRK warns of refused motions at most once in 2 s [s]


def repeated_commands(subject: Subject) -> None:
    """enable and home of an arm that is enabled and homed keep it so and publish its state again."""
    for word in ("enable", "home"):
        news = subject.heard("operating_state")
        del news[:]
        subject.command(word)
        subject.sleep(0.1)
        require(news, f"{word} publishes no operating state: clients wait for a new one")
        require(subject.ready, f"{word} of a homed arm leads to {_shown(subject)}")


def pause_and_resume(subject: Subject) -> None:
    """pause, also if repeated, leads to PAUSED and resume back to ENABLED; the arm stays homed and does not move."""
    q = subject.setpoint
    subject.reach("pause", "PAUSED")
    subject.reach("pause", "PAUSED")
    homed = subject.state.is_homed
    subject.reach("resume", "ENABLED")
    subject.robot.wait_for(lambda: subject.ready, TIMEOUT)
    require(homed, "the arm is not homed while it is paused")
    require(subject.ready, f"resume leads to {_shown(subject)}")
    require(abs(subject.setpoint - q).max() < subject.translation, "the arm moves")


def wrong_state(subject: Subject) -> None:
    """State commands that are not valid, and moves of a paused arm, are answered by a warning and change nothing."""
    move = JointState(position=subject.setpoint + subject.step)
    require_refused(subject, "state_command", String(value="resume"), "resume in ENABLED")
    require_refused(subject, "state_command", String(value="no_such_command"), "an unknown word")
    subject.reach("pause", "PAUSED")
    try:
        for word in ("enable", "home"):
            require_refused(subject, "state_command", String(value=word), f"{word} in PAUSED")
        subject.sleep(WARNING_INTERVAL)
        require_refused(subject, "move_jp", move, "a goal in PAUSED")
    finally:
        subject.reach("resume", "ENABLED")


def power_cycle(subject: Subject) -> None:
    """disable switches off, enable on; home makes the arm busy, then homed; data are invalid while it is off."""
    move = JointState(position=subject.setpoint + subject.step)
    subject.reach("disable", "DISABLED")
    require(not subject.state.is_homed, "the arm is homed while it is disabled")
    require(subject.read("measured_js").stamp == 0, "measured_js of a disabled arm is not marked as invalid by stamp 0")
    for word in ("home", "pause", "resume"):
        require_refused(subject, "state_command", String(value=word), f"{word} in DISABLED")
    subject.sleep(WARNING_INTERVAL)
    require_refused(subject, "move_jp", move, "a goal in DISABLED")
    subject.reach("enable", "ENABLED")
    _home(subject)


def unhome(subject: Subject) -> None:
    """unhome makes an arm in any state not homed, and home makes it homed again."""
    subject.command("unhome")
    subject.robot.wait_for(lambda: not subject.state.is_homed, TIMEOUT)
    homed = subject.state.is_homed
    _home(subject)
    require(not homed, "the arm stays homed")


def fault(subject: Subject) -> None:
    """A jump beyond the tracking tolerance leads to FAULT with an error; enable and home lead back."""
    goal, errors = subject.setpoint, subject.news("error")
    middle = 0.0 if subject.limits is None else 0.5 * (subject.limits[0][-1] + subject.limits[1][-1])
    goal[-1] += JUMP if goal[-1] < middle else -JUMP
    subject.send("servo_jp", JointState(position=goal))
    subject.robot.wait_for(lambda: subject.state.state == "FAULT", TIMEOUT)
    state = subject.state
    require(state.state == "FAULT", f"a jump of the last joint by {JUMP:g} rad leads to {_shown(subject)}")
    require(not state.is_homed and not state.is_busy, f"in FAULT the arm is {_shown(subject)}")
    require(errors, "FAULT comes without an error")
    require(
        subject.read("measured_js").stamp == 0, "measured_js of an arm in FAULT is not marked as invalid by stamp 0"
    )
    for word in ("home", "pause", "resume"):
        require_refused(subject, "state_command", String(value=word), f"{word} in FAULT")
    subject.reach("enable", "ENABLED")
    _home(subject)


def _home(subject: Subject) -> None:
    count = len(subject.states)
    subject.command("home")
    subject.robot.wait_for(lambda: len(subject.states) > count and subject.ready, MOTION_TIMEOUT)
    require(subject.ready, f"home leads to {_shown(subject)}")
    require(any(state.is_busy for state in subject.states[count:]), "the arm is never busy while it homes")


def _shown(subject: Subject) -> str:
    state = subject.state
    return f"{state.state}, is_homed={state.is_homed}, is_busy={state.is_busy}"
