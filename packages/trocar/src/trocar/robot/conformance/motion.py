"""Checks that send motion commands within the amplitude, and the check of the joint limits."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from trocar.robot.conformance.subject import MOTION_TIMEOUT, SETTLING_TIME, TIMEOUT, CheckSkipped, Subject, require
from trocar.robot.messages import Empty, JointState, Message, OperatingState, Pose
from trocar.spatial import Array

SAME = 1e-6  # [rad, m]
REACHED = 1e-3  # setpoint at the end of a move [rad, m]
LAST = 1e-5  # last setpoint before the end of a move [rad, m]
BEYOND = 0.1  # distance beyond a joint limit for the check of clipping [rad]
SAME_VELOCITY = 0.1  # relative
FREE = 0.02  # difference of two samples that may be a cycle apart [rad, m]


def require_refused(subject: Subject, topic: str, message: Message, what: str) -> None:
    """Send a command and require a warning, the same setpoint and the same operating state."""
    warnings, q, before, count = subject.news("warning"), subject.setpoint, subject.state, len(subject.states)
    subject.send(topic, message)
    subject.robot.wait_for(lambda: bool(warnings), TIMEOUT)
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
        q = subject.setpoint if topic.endswith("p") else np.zeros(len(subject.setpoint))  # harmless if executed
        spoilt = q.copy()
        spoilt[0] = np.nan
        require_refused(subject, topic, JointState(position=spoilt), "NaN")
        require_refused(subject, topic, JointState(position=np.append(q, 0.0)), f"{len(q) + 1} joints")
        require_refused(subject, topic, JointState(position=q[:-1]), f"{len(q) - 1} joints")
    for topic in ("servo_cp", "move_cp"):
        require_refused(subject, topic, Pose(T=T), "NaN")


def _changes(subject: Subject, count: int) -> list[bool]:
    """Changes of is_busy after the first `count` states, starting with idle; over ROS 2, states are also repeated."""
    return [busy for busy, _ in groupby([False, *(state.is_busy for state in subject.states[count:])])]


def _flags(subject: Subject, topic: str, goal: Array) -> list[bool]:
    """Changes of is_busy caused by a command, starting with idle; waits until the arm is idle again."""
    count = len(subject.states)
    subject.send(topic, JointState(position=np.array(goal)))
    if subject.robot.wait_for(lambda: len(_changes(subject, count)) > 1, TIMEOUT):
        subject.robot.wait_for(lambda: len(_changes(subject, count)) > 2, MOTION_TIMEOUT)
    subject.settle()
    return _changes(subject, count)


def _require_busy_and_idle(changes: list[bool], when: str = "") -> None:
    require(changes == [False, True, False], f"{when}is_busy goes {changes}, expected [False, True, False]")


def servo_is_idle(subject: Subject) -> None:
    """servo_jp does not make the arm busy."""
    require(_flags(subject, "servo_jp", subject.setpoint) == [False], "is_busy becomes true")


def move_busy(subject: Subject) -> None:
    """move_jp makes the arm busy, reaches its goal, sends goal_reached and makes it idle."""
    start, reached = subject.setpoint, subject.news("goal_reached")
    goal = start + subject.step
    changes = _flags(subject, "move_jp", goal)
    error = np.abs(subject.setpoint - goal).max()
    goals = [message.value for message in reached]
    subject.move(start)
    _require_busy_and_idle(changes)
    require(error < REACHED, f"the setpoint misses the goal by {error:.2g}")
    require(goals == [True], f"goal_reached is {goals}, expected [True]")


def last_sample(subject: Subject) -> None:
    """The last setpoint_js up to the stamp of the idle state is that of the goal.

    Stamps decide, without tolerance, not the order of arrival: ROS 1 has a TCP connection and DDS a reader for each
    topic. Neither transport keeps the order between two of them, so a sample that was sent first can arrive second.
    Within one topic the order is kept: once a sample later than the idle state has arrived, none before it is missing.
    """
    start = subject.setpoint
    goal = start + subject.step
    samples, states = subject.news("setpoint_js"), subject.news("operating_state")
    subject.send("move_jp", JointState(position=goal))

    def idle() -> list[OperatingState]:
        """The last state in which the arm is busy, and those in which it is idle again."""
        busy = [k for k, state in enumerate(states) if state.is_busy]
        return states[busy[-1] :] if busy else []

    subject.robot.wait_for(lambda: any(state.is_busy for state in states), TIMEOUT)
    subject.settle()
    subject.robot.wait_for(lambda: len(idle()) > 1, TIMEOUT)
    ends = idle()
    end = ends[1].stamp if len(ends) > 1 else 0
    subject.robot.wait_for(lambda: any(sample.stamp > end for sample in samples), TIMEOUT)
    before = [sample.position for sample in samples if sample.stamp <= end]
    subject.move(start)
    require(len(ends) > 1, "the arm does not become busy and idle again")
    if end <= ends[0].stamp:
        raise CheckSkipped("the stamps of operating_state do not increase")
    require(before, "no setpoint_js is sent before the arm is idle")
    error = np.abs(before[-1] - goal).max()
    require(error < LAST, f"the last setpoint_js before the arm is idle is {error:.2g} from the goal")


def jaw(subject: Subject) -> None:
    """jaw/move_jp makes the arm busy and moves the jaw alone; jaw/servo_jp keeps it idle; wrong lengths are refused."""
    q, angle = subject.setpoint, float(subject.read("jaw/setpoint_js").position[0])
    changes = _flags(subject, "jaw/move_jp", np.array([angle + subject.rotation]))
    opened = float(subject.read("jaw/setpoint_js").position[0])
    moved = np.abs(subject.setpoint - q).max()
    back = _flags(subject, "jaw/servo_jp", np.array([angle]))
    subject.sleep(SETTLING_TIME)
    end = float(subject.read("jaw/setpoint_js").position[0])
    _require_busy_and_idle(changes, "jaw/move_jp: ")
    require(abs(opened - angle - subject.rotation) < REACHED, f"jaw/move_jp leads to {opened:g}")
    require(moved < SAME, f"jaw/move_jp moves another joint by {moved:.2g}")
    require(back == [False], "jaw/servo_jp makes the arm busy")
    require(abs(end - angle) < REACHED, f"jaw/servo_jp leads to {end:g}, expected {angle:g}")
    for topic in ("jaw/servo_jp", "jaw/move_jp"):
        require_refused(subject, topic, JointState(position=np.full(2, angle)), "2 joints")


def effort_control(subject: Subject) -> None:
    """After `free` the setpoint is the measured position, and the arm is idle; `hold` keeps the setpoint."""
    start = subject.setpoint
    subject.send("free", Empty())
    subject.sleep(SETTLING_TIME)
    measured, setpoint = subject.read("measured_js"), subject.read("setpoint_js")
    idle = not subject.state.is_busy
    subject.send("hold", Empty())
    subject.sleep(SETTLING_TIME)
    held = subject.setpoint
    subject.sleep(SETTLING_TIME)
    rest = np.abs(subject.setpoint - held).max()
    subject.move(start)
    error = np.abs(measured.position - setpoint.position).max()
    require(error < FREE, f"the setpoint of a free arm differs from its measured position by {error:.2g}")
    require(idle, "a free arm is busy")
    require(rest < SAME, f"the setpoint of an arm that holds changes by {rest:.2g}")


def zero_length_move(subject: Subject) -> None:
    """move_jp to the current setpoint makes the arm busy and idle again: clients wait for both."""
    _require_busy_and_idle(_flags(subject, "move_jp", subject.setpoint))


def replaced_goal(subject: Subject) -> None:
    """A second move_jp replaces the goal of the first without an idle moment."""
    start, count = subject.setpoint, len(subject.states)
    subject.send("move_jp", JointState(position=start + subject.step))
    subject.sleep(0.03)
    way = np.abs(subject.setpoint - start).max()
    _flags(subject, "move_jp", start)
    changes = _changes(subject, count)
    error = np.abs(subject.setpoint - start).max()
    require(way < np.abs(subject.step).max(), "the first move ended within 0.03 s")
    require(error < REACHED, f"the setpoint misses the second goal by {error:.2g}")
    _require_busy_and_idle(changes, "during both moves ")


def velocities(subject: Subject) -> None:
    """Velocities of setpoint_js are the rates of its positions [rad/s, m/s]."""
    start, samples = subject.setpoint, subject.heard("setpoint_js")
    subject.move(start + subject.step)
    there = list(samples)
    subject.move(start)
    q, dq = (np.array([getattr(sample, key) for sample in there]) for key in ("position", "velocity"))
    t = 1e-9 * np.array([sample.stamp for sample in there])
    way = np.sum(0.5 * (dq[1:] + dq[:-1]) * np.diff(t)[:, None], axis=0)
    change, moved = q[-1] - q[0], np.abs(subject.step) > 0
    require(len(there) > 3, f"setpoint_js was sent {len(there)} times during a move")
    error = np.abs(way - change)[moved] / np.abs(subject.step)[moved]
    require(error.max() < SAME_VELOCITY, f"the velocities integrate to {way[moved]}, the motion was {change[moved]}")


def clipping(subject: Subject) -> None:
    """A goal beyond a joint limit is clipped to it, not refused."""
    if subject.limits is None:
        raise CheckSkipped("the joint limits are not known")
    start, upper = subject.setpoint, subject.limits[1][-1]
    goal, errors = start.copy(), subject.news("error")
    goal[-1] = upper + BEYOND
    subject.move(goal)
    end = subject.setpoint
    subject.move(start)
    require(not errors, "the goal is answered by an error")
    require(abs(end[-1] - upper) < REACHED, f"the last joint goes to {end[-1]:g}, its limit is {upper:g}")
    require(np.abs(end - start)[:-1].max() < REACHED, "another joint moves")
