"""Checks of CRTK commands that the dVRK does not serve; skipped if they are not served."""

from __future__ import annotations

import numpy as np

from trocar.robot.conformance.motion import REACHED, require_refused
from trocar.robot.conformance.subject import ANSWER, Skipped, Subject, require
from trocar.robot.messages import Empty, JointState
from trocar.spatial import Array

SPELL = 0.2  # duration of a motion by velocity [s]
OFF_SPEED = 0.1  # largest relative error of the speed of a motion
STILL = 1e-9  # difference of the setpoints of an arm at rest [rad, m]


def _require_served(subject: Subject, *topics: str) -> None:
    missing = [topic for topic in topics if not subject.serves(topic)]
    if missing:
        raise Skipped(f"not served, and the dVRK does not either: {', '.join(missing)}")


def joint_velocity(subject: Subject) -> None:
    """servo_jv moves with its velocity without being busy until hold; NaN and a wrong length are refused.

    The speed follows from the stamps of the samples in motion: over a network, commands take their time to arrive.
    """
    _require_served(subject, "servo_jv")
    subject.send("hold", Empty())  # connects, which can take longer than the motion that it has to end
    start, step, count = subject.setpoint, subject.step, len(subject.states)
    samples = subject.news("setpoint_js")
    subject.send("servo_jv", JointState(velocity=0.8 * step / SPELL))
    subject.sleep(SPELL)
    subject.send("hold", Empty())
    subject.settle()
    way = subject.setpoint - start
    heard = list(samples)
    busy = any(state.is_busy for state in subject.states[count:])
    subject.move(start)
    subject.settle()  # over a network the last setpoints can arrive after the idle state
    moved = np.abs(step) > 0
    share = _speed(heard)[moved] / (0.8 * step[moved] / SPELL)
    require((np.abs(share - 1.0) < OFF_SPEED).all(), f"the arm moves at {share} of the velocity")
    require(np.abs(way[~moved]).max(initial=0.0) < REACHED, "another joint moves")
    require(not busy, "the arm is busy")
    require_refused(subject, "servo_jv", JointState(velocity=np.full(len(step), np.nan)), "NaN")
    require_refused(subject, "servo_jv", JointState(velocity=np.zeros(len(step) + 1)), f"{len(step) + 1} joints")


def _speed(samples: list[JointState]) -> Array:
    """Mean velocity (n,) of an arm that moved and stopped, over the samples in motion [rad/s, m/s]."""
    q, t = np.array([sample.position for sample in samples]), 1e-9 * np.array([sample.stamp for sample in samples])
    moving = np.flatnonzero(np.abs(np.diff(q, axis=0)).max(axis=1, initial=0.0) > STILL)
    require(len(moving) > 3, "setpoint_js was sent less than five times during the motion")
    first, last = moving[0] + 1, moving[-1]  # the arm moved during the whole time between these
    found: Array = (q[last] - q[first]) / (t[last] - t[first])
    return found


def interpolated(subject: Subject) -> None:
    """interpolate_jp reaches its goal without being busy, and goal_js reports the goal at once."""
    _require_served(subject, "interpolate_jp", "goal_js")
    start, count = subject.setpoint, len(subject.states)
    goal = start + subject.step
    subject.send("interpolate_jp", JointState(position=goal))
    subject.robot.wait_for(lambda: np.abs(subject.read("goal_js").position - goal).max() < REACHED, ANSWER)
    told = np.abs(subject.read("goal_js").position - goal).max()
    subject.settle()
    error = np.abs(subject.setpoint - goal).max()
    busy = any(state.is_busy for state in subject.states[count:])
    subject.move(start)
    require(told < REACHED, f"goal_js is {told:.2g} from the goal")
    require(error < REACHED, f"the setpoint misses the goal by {error:.2g}")
    require(not busy, "the arm is busy")
