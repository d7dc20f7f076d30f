"""Checks of the operating states and their transitions, and of set-up joints, console and system."""

from __future__ import annotations

import numpy as np

from trocar.robot.conformance.motion import require_refused
from trocar.robot.conformance.reading import not_rigid
from trocar.robot.conformance.subject import MOTION_TIMEOUT, TIMEOUT, CheckSkipped, Subject, require
from trocar.robot.messages import Float, JointState, Joy, String

JUMP = 1.0  # step of the last joint, beyond every arm's tracking tolerance [rad]
WARNING_INTERVAL = 2.1  # the dVRK warns of refused motions at most once in 2 s [s]
PEDAL = "coag"  # moves no arm


def repeated_commands(subject: Subject) -> None:
    """enable and home of an arm that is enabled and homed keep it so and publish its state again."""
    for word in ("enable", "home"):
        news = subject.news("operating_state")
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
    _require_off(subject)
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
    _require_off(subject)
    subject.reach("enable", "ENABLED")
    _home(subject)


def _require_off(subject: Subject) -> None:
    state = subject.state.state
    require(subject.read("measured_js").stamp == 0, f"measured_js in {state} is not marked as invalid by stamp 0")
    for word in ("home", "pause", "resume"):
        require_refused(subject, "state_command", String(value=word), f"{word} in {state}")


def _home(subject: Subject) -> None:
    count = len(subject.states)
    subject.command("home")
    subject.robot.wait_for(lambda: len(subject.states) > count and subject.ready, MOTION_TIMEOUT)
    require(subject.ready, f"home leads to {_shown(subject)}")
    require(any(state.is_busy for state in subject.states[count:]), "the arm is never busy while it homes")


def _shown(subject: Subject) -> str:
    state = subject.state
    return f"{state.state}, is_homed={state.is_homed}, is_busy={state.is_busy}"


def base_of_arm(subject: Subject) -> None:
    """Joints and poses of the base of an arm are valid, and the poses are rigid."""
    js = subject.read("measured_js")
    require(js.stamp > 0 and len(js.position) == len(js.name) > 0, "measured_js has no joints")
    require(np.isfinite(js.position).all(), "measured_js is not finite")
    for topic in ("measured_cp", "local/measured_cp"):
        pose = subject.read(topic)
        require(pose.stamp > 0, f"{topic} has stamp 0")
        require(not not_rigid(pose.T), f"{topic}: {not_rigid(pose.T)}")
        require(pose.frame_id, f"{topic} has no frame_id")


def pedals(subject: Subject) -> None:
    """An emulated pedal is published as pressed and released, also by footpedals if they are served."""
    heard, mirror = {PEDAL: subject.news(PEDAL)}, Subject(subject.robot, "footpedals", "FOOT_PEDALS")
    if mirror.path(PEDAL) in subject.robot.bus.topics:
        heard[mirror.path(PEDAL)] = mirror.news(PEDAL)
    for pressed in (Joy.PRESSED, Joy.RELEASED):
        subject.send(f"emulate_{PEDAL}", Joy(buttons=(pressed,)))
        subject.sleep(0.05)
    mirror.close()
    for name, messages in heard.items():
        buttons = [message.buttons[0] for message in messages]
        require(buttons == [Joy.PRESSED, Joy.RELEASED], f"{name} sends {buttons}, expected [1, 0]")


def teleop_scale(subject: Subject) -> None:
    """teleop/set_scale within ]0; 1] is answered by teleop/scale; any other value changes nothing."""
    _require_range(subject, "teleop/set_scale", "teleop/scale", (0.0, -0.5, np.nan))


def volume(subject: Subject) -> None:
    """set_volume within [0; 1] is answered by volume; any other value changes nothing."""
    _require_range(subject, "set_volume", "volume", (2.0, -0.5, np.nan))


def _require_range(subject: Subject, command: str, event: str, wrong: tuple[float, ...]) -> None:
    before, values = subject.read(event).value, subject.news(event)
    subject.send(command, Float(value=before))
    subject.robot.wait_for(lambda: bool(values), TIMEOUT)
    require(values and values[-1].value == before, f"{command} with {before:g} is not answered by {event}")
    for value in wrong:
        subject.send(command, Float(value=value))
        subject.sleep(0.05)
        after = subject.read(event).value
        require(after == before, f"{command} with {value:g} changes {event} to {after:g}")


def teleop_selection(subject: Subject) -> None:
    """teleop/unselect and teleop/select of a pair of arms are answered by teleop/unselected and teleop/selected."""
    last = subject.robot.bus.read(subject.path("teleop/selected"))
    if not isinstance(last, String):
        raise CheckSkipped("no pair of arms has been selected")
    events = {word: subject.news(f"teleop/{word}ed") for word in ("unselect", "select")}
    for word, news in events.items():
        subject.send(f"teleop/{word}", String(value=last.value))
        subject.sleep(0.05)
        names = [message.value for message in news]
        require(last.value in names, f"teleop/{word} of {last.value} is answered by {names}")
