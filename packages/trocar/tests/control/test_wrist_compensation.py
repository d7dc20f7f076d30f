"""Compensation of a wrist behind cables: the command whose rest position is the goal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trocar.arms import load_arm
from trocar.arms.wrist_cables import load_wrist
from trocar.control import WristCompensation
from trocar.control.wrist_compensation import SPEED
from trocar.errors import TrocarError
from trocar.mechanics import CableWrist

CABLES = load_wrist("hwang2020")
LAW = CableWrist(CABLES)
PERIOD = 1.0 / 1500.0
GOALS = np.random.default_rng(3).uniform(-0.6, 0.6, (40, 3))


def joints(wrist: np.ndarray) -> np.ndarray:
    return np.array([0.1, -0.2, 0.12, *wrist])


def test_rest_positions_of_its_commands_are_the_goals() -> None:
    compensation = WristCompensation("hwang2020")
    commands = np.array([compensation(joints(goal)) for goal in GOALS])
    assert commands[:, :3] == pytest.approx(np.tile(joints(GOALS[0])[:3], (len(GOALS), 1)), abs=0.0)
    assert LAW.rest(commands[:, 3:], LAW.relaxed(np.zeros(3))).q == pytest.approx(GOALS, abs=1e-12)
    assert np.abs(commands[:, 3:] - GOALS).max() > 0.1


def test_a_real_time_command_is_at_most_a_little_faster_than_its_goal() -> None:
    """A triangle wave of 0.4 rad: after every reversal the command crosses the play at a bounded speed."""
    compensation = WristCompensation(CABLES)
    t = np.arange(0.0, 4.0, PERIOD)
    goals = np.abs((t[:, None] + [0.0, 0.3, 0.7]) % 2.0 - 1.0) * 0.4
    commands = np.array([compensation(joints(goal), PERIOD)[3:] for goal in goals])
    rate, own = np.abs(np.diff(commands, axis=0)) / PERIOD, np.abs(np.diff(goals, axis=0)) / PERIOD
    assert (rate <= own + SPEED + 1e-9).all()
    assert rate.max() > own.max() + 0.5  # the limit was reached
    off = np.abs(LAW.rest(commands, LAW.relaxed(np.zeros(3))).q - goals)
    assert np.median(off, axis=0).max() < 1e-3  # between the reversals
    assert np.abs(commands - goals).max() > 0.1


def test_a_far_goal_is_reached_and_kept() -> None:
    compensation = WristCompensation(CABLES)
    goal = joints(np.array([0.3, -0.5, 0.4]))
    commands = np.array([compensation(goal, PERIOD)[3:] for _ in range(1500)])
    assert LAW.rest(commands, LAW.relaxed(np.zeros(3))).q[-1] == pytest.approx(goal[3:], abs=1e-9)
    assert np.array_equal(commands[-1], commands[-2])


def test_commands_stay_within_the_joint_limits_and_the_history_is_that_of_the_commands() -> None:
    compensation = WristCompensation(CABLES)
    arm = load_arm("PSM")
    goals = np.array([[0.0, 1.39, 1.39], [0.2, 1.0, -1.39], [0.2, 0.3, 0.1], [0.1, 0.2, 0.3]])
    commands = np.array([compensation(joints(goal)) for goal in goals])
    assert (commands <= arm.upper[:6]).all()
    assert (commands >= arm.lower[:6]).all()
    assert np.abs(commands[:2, 4:]).max() == arm.upper[5]
    q = LAW.rest(commands[:, 3:], LAW.relaxed(np.zeros(3))).q
    assert q[2:] == pytest.approx(goals[2:], abs=1e-9)  # where no limit is in the way, as if none had been
    assert np.abs(q[:2] - goals[:2]).max() > 0.02


def test_a_motion_by_something_else_is_part_of_the_history() -> None:
    compensation = WristCompensation(CABLES)
    compensation.follow(joints(np.array([0.3, 0.6, -0.5])))
    command = compensation(joints(GOALS[0]))[3:]
    way = np.array([[0.3, 0.6, -0.5], command])
    assert LAW.rest(way, LAW.relaxed(np.zeros(3))).q[-1] == pytest.approx(GOALS[0], abs=1e-12)


def test_rigid_friction_contacts_are_compensated_within_a_milliradian() -> None:
    rigid = replace(CABLES, presliding=np.zeros(3))
    compensation = WristCompensation(rigid)
    commands = np.array([compensation(joints(goal))[3:] for goal in GOALS])
    law = CableWrist(rigid)
    assert np.abs(law.rest(commands, law.relaxed(np.zeros(3))).q - GOALS).max() < 1.1e-3


def test_its_memory_restores_it() -> None:
    compensation = WristCompensation(CABLES)
    compensation(joints(GOALS[0]))
    memory, runs = compensation.memory, []
    for _ in range(2):
        compensation.memory = memory
        runs.append([compensation(joints(goal), PERIOD) for goal in GOALS[1:5]])
    assert np.array_equal(*runs)


@pytest.mark.parametrize("goal", [[0.1, 0.2], [np.nan] * 6, np.zeros(9)])
def test_joints_of_another_kind_are_refused(goal: list[float]) -> None:
    with pytest.raises(TrocarError, match="6 to 7 finite numbers"):
        WristCompensation(CABLES)(goal)
    with pytest.raises(TrocarError, match="has no wrist"):
        WristCompensation(CABLES, arm="ECM")
