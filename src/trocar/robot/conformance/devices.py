"""Checks of the other devices: set-up joints, console, system."""

from __future__ import annotations

import numpy as np

from trocar.robot.conformance.subject import TIMEOUT, CheckSkipped, Subject, require
from trocar.robot.messages import Float, Joy, Message, String

PEDAL = "coag"  # moves no arm


def base_of_arm(subject: Subject) -> None:
    """Joints and poses of the base of an arm are valid, and the poses are rigid."""
    js = subject.read("measured_js")
    require(js.stamp > 0 and len(js.position) == len(js.name) > 0, "measured_js has no joints")
    require(np.isfinite(js.position).all(), "measured_js is not finite")
    for topic in ("measured_cp", "local/measured_cp"):
        pose = subject.read(topic)
        R = pose.T[:3, :3]
        require(pose.stamp > 0, f"{topic} has stamp 0")
        require(np.allclose(R @ R.T, np.eye(3), atol=1e-6), f"{topic} is not a rigid transformation")
        require(pose.frame_id, f"{topic} has no frame_id")


def pedals(subject: Subject) -> None:
    """An emulated pedal is published as pressed and released, also by footpedals if they are served."""
    bus, other = subject.robot.bus, f"footpedals/{PEDAL}"
    heard = {PEDAL: subject.news(PEDAL)}
    extra: list[Message] = []
    subscription = bus.subscribe(other, extra.append) if other in bus.topics else None
    if subscription is not None:
        del extra[:]
        heard[other] = extra
    for pressed in (Joy.PRESSED, Joy.RELEASED):
        subject.send(f"emulate_{PEDAL}", Joy(buttons=(pressed,)))
        subject.sleep(0.05)
    if subscription is not None:
        subscription.close()
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
