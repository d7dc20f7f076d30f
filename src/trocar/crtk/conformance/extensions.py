"""Checks of CRTK commands that the dVRK does not serve; skipped if they are not served."""

from __future__ import annotations

import numpy as np

from trocar.crtk.conformance.motion import REACHED, require_refused
from trocar.crtk.conformance.subject import ANSWER, Skipped, Subject, require
from trocar.crtk.messages import Empty, JointState

SPELL = 0.2  # duration of a velocity command [s]
LEAST, MOST = 0.5, 1.2  # fraction of velocity times duration; commands have latency


def _require_served(subject: Subject, *topics: str) -> None:
    missing = [topic for topic in topics if not subject.serves(topic)]
    if missing:
        raise Skipped(f"not served, and the dVRK does not either: {', '.join(missing)}")


def joint_velocity(subject: Subject) -> None:
    """servo_jv moves with its velocity without being busy until hold; NaN and a wrong length are refused."""
    _require_served(subject, "servo_jv")
    start, step, count = subject.setpoint, subject.step, len(subject.states)
    subject.send("servo_jv", JointState(velocity=0.8 * step / SPELL))
    subject.sleep(SPELL)
    subject.send("hold", Empty())
    subject.settle()
    way = subject.setpoint - start
    busy = any(state.is_busy for state in subject.states[count:])
    subject.move(start)
    moved = np.abs(step) > 0
    share = way[moved] / (0.8 * step[moved])
    require((share > LEAST).all() and (share < MOST).all(), f"the distance is {share} of velocity times time")
    require(np.abs(way[~moved]).max(initial=0.0) < REACHED, "another joint moves")
    require(not busy, "the arm is busy")
    require_refused(subject, "servo_jv", JointState(velocity=np.full(len(step), np.nan)), "NaN")
    require_refused(subject, "servo_jv", JointState(velocity=np.zeros(len(step) + 1)), f"{len(step) + 1} joints")


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
