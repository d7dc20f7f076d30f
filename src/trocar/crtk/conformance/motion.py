"""Checks that send motion commands within the amplitude, and the one of the joint limits."""

from __future__ import annotations

import numpy as np

from trocar.crtk.conformance.subject import ANSWER, LONGEST, Skipped, Subject, require
from trocar.crtk.messages import JointState, Message, Pose
from trocar.spatial import Array

SAME = 1e-6  # [rad, m]
REACHED = 1e-3  # setpoint at the end of a move [rad, m]
BEYOND = 0.1  # a joint limit, for the check of clipping [rad]
SAME_VELOCITY = 0.1  # relative


def require_refused(subject: Subject, topic: str, message: Message, what: str) -> None:
    """Send a command and require a warning, the same setpoint and the same operating state."""
    warnings = subject.heard("warning")
    del warnings[:]  # the last one is sent to a new subscriber
    q, before, count = subject.setpoint, subject.state, len(subject.states)
    subject.send(topic, message)
    subject.robot.wait_for(lambda: bool(warnings), ANSWER)
    warned = bool(warnings)
    subject.sleep(0.02)
    require(warned, f"{topic} with {what} is not answered by a warning")
    change = np.abs(subject.setpoint - q).max()
    require(change < SAME, f"{topic} with {what} moves the setpoint by {change:.2g}")
    for state in (*subject.states[count:], subject.state):
        for key in ("state", "is_homed", "is_busy"):
            require(getattr(state, key) == getattr(before, key), f"{topic} with {what} changes {key}")


def wrong_content(subject: Subject) -> None:
    """Commands with NaN or a wrong length are answered by a warning and change nothing."""
    T = np.array(subject.read("setpoint_cp").T)
    T[0, 3] = np.nan
    for topic in ("servo_jp", "servo_jr", "move_jp", "move_jr"):
        q = subject.setpoint if topic.endswith("p") else np.zeros(len(subject.setpoint))  # harmless if carried out
        spoilt = q.copy()
        spoilt[0] = np.nan
        require_refused(subject, topic, JointState(position=spoilt), "NaN")
        require_refused(subject, topic, JointState(position=np.append(q, 0.0)), f"{len(q) + 1} joints")
        require_refused(subject, topic, JointState(position=q[:-1]), f"{len(q) - 1} joints")
    for topic in ("servo_cp", "move_cp"):
        require_refused(subject, topic, Pose(T=T), "NaN")


def _flags(subject: Subject, topic: str, goal: Array, wanted: list[bool]) -> list[bool]:
    """Changes of is_busy that a command causes, beginning with idle; waits for those wanted."""
    count = len(subject.states)

    def changes() -> list[bool]:
        flags = [False]
        for state in subject.states[count:]:
            if state.is_busy != flags[-1]:
                flags.append(state.is_busy)
        return flags

    subject.send(topic, JointState(position=np.array(goal)))
    subject.robot.wait_for(lambda: len(changes()) > 1, ANSWER)
    subject.robot.wait_for(lambda: changes() == wanted, LONGEST if len(changes()) > 1 else 0.0)
    subject.settle()
    return changes()


def servo_is_idle(subject: Subject) -> None:
    """servo_jp does not make the arm busy."""
    found = _flags(subject, "servo_jp", subject.setpoint, [False])
    require(found == [False], "is_busy becomes true")


def move_busy(subject: Subject) -> None:
    """move_jp makes the arm busy, reaches its goal, sends goal_reached and makes it idle."""
    start, reached = subject.setpoint, subject.heard("goal_reached")
    goal = start + subject.step
    del reached[:]
    found = _flags(subject, "move_jp", goal, [False, True, False])
    error = np.abs(subject.setpoint - goal).max()
    goals = [message.value for message in reached]
    subject.move(start)
    require(found == [False, True, False], f"is_busy goes {found}, expected [False, True, False]")
    require(error < REACHED, f"the setpoint misses the goal by {error:.2g}")
    require(goals == [True], f"goal_reached says {goals}, expected [True]")


def zero_length_move(subject: Subject) -> None:
    """move_jp to the present setpoint makes the arm busy and idle again: clients wait for both."""
    found = _flags(subject, "move_jp", subject.setpoint, [False, True, False])
    require(found == [False, True, False], f"is_busy goes {found}, expected [False, True, False]")


def replaced_goal(subject: Subject) -> None:
    """A second move_jp replaces the goal of the first without an idle moment."""
    start, count = subject.setpoint, len(subject.states)
    subject.send("move_jp", JointState(position=start + subject.step))
    subject.sleep(0.03)
    way = np.abs(subject.setpoint - start).max()
    found = _flags(subject, "move_jp", start, [False, True, False])
    busy = [state.is_busy for state in subject.states[count:]]
    error = np.abs(subject.setpoint - start).max()
    require(way < np.abs(subject.step).max(), "the first move ended within 0.03 s")
    require(error < REACHED, f"the setpoint misses the second goal by {error:.2g}")
    require(busy and not busy[-1], "the arm stays busy")
    require(all(busy[:-1]), f"the arm is idle between the moves: is_busy goes {busy}, {found}")


def velocities(subject: Subject) -> None:
    """Velocities of setpoint_js are the rates of its positions [rad/s, m/s]."""
    start = subject.setpoint
    samples = subject.heard("setpoint_js")
    subject.move(start + subject.step)
    there = list(samples)
    subject.move(start)
    q, dq = (np.array([getattr(sample, key) for sample in there]) for key in ("position", "velocity"))
    t = 1e-9 * np.array([sample.stamp for sample in there])
    way = np.sum(0.5 * (dq[1:] + dq[:-1]) * np.diff(t)[:, None], axis=0)
    change, moved = q[-1] - q[0], np.abs(subject.step) > 0
    require(len(there) > 3, f"setpoint_js was sent {len(there)} times during a move")
    error = np.abs(way - change)[moved] / np.abs(subject.step)[moved]
    require(
        error.max() < SAME_VELOCITY, f"the integral of the velocities is {way[moved]}, the motion was {change[moved]}"
    )


def clipping(subject: Subject) -> None:
    """A goal beyond a joint limit is clipped to it, not refused."""
    if subject.limits is None:
        raise Skipped("the joint limits are not known")
    start, upper = subject.setpoint, subject.limits[1][-1]
    goal, errors = start.copy(), subject.heard("error")
    goal[-1] = upper + BEYOND
    del errors[:]
    subject.move(goal)
    end = subject.setpoint
    subject.move(start)
    require(not errors, "the goal is answered by an error")
    require(abs(end[-1] - upper) < REACHED, f"the last joint goes to {end[-1]:g}, its limit is {upper:g}")
    require(np.abs(end - start)[:-1].max() < REACHED, "another joint moves")
