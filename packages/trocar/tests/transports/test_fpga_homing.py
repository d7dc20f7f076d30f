"""Masters and PSMs on the controller boards reach home from random starts, within the dVRK's tolerances."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.board_rig import PERIOD, BoardRig
from tools.boards.client import BoardArm
from tools.boards.homing import HomedArm

TOLERANCE = np.radians([4.0] * 6 + [6.0])  # of a master's home [rad]
VELOCITY, ACCELERATION = np.radians([90.0] * 6 + [360.0]), np.radians([45.0] * 6 + [360.0])  # of a master's moves
SHARE = 0.9  # of the joints' ranges; of the roll, within 3 rad
PLATFORM = 3  # joint


def duration(distance):
    """Of the dVRK's move from rest to rest [s]."""
    d = np.abs(distance)
    peak = VELOCITY**2 / ACCELERATION
    return np.where(d < peak, 2.0 * np.sqrt(d / ACCELERATION), d / VELOCITY + VELOCITY / ACCELERATION).max()


@pytest.mark.parametrize(("master", "psm", "seed"), [("MTMR", "PSM2", 2), ("MTML", "PSM1", 3)])
def test_a_master_and_its_psm_home_from_a_random_start(master, psm, seed):
    random = np.random.default_rng(seed)
    facts = BoardRig(master, psm).scene.arms
    lower, upper = np.maximum(facts[master].arm.lower, -3.0), np.minimum(facts[master].arm.upper, 3.0)
    q = 0.5 * (lower + upper) + 0.5 * SHARE * (upper - lower) * random.uniform(-1.0, 1.0, 7)
    start = np.concatenate([random.uniform(-0.5, 0.5, 2), [0.12], random.uniform(-0.5, 0.5, 3), [0.3]])
    rig = BoardRig(master, psm, q={master: q, psm: start})
    rig.client.scan()
    robots = [next(robot for robot in rig.configuration.robots if robot.name == name) for name in (master, psm)]
    arms = HomedArm(
        rig.client, BoardArm(rig.client, *robots), [rig.scene.arms[name].arm for name in (master, psm)], rig.wait
    )
    arms.power()
    home = np.concatenate([np.zeros(7), [0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.3]])
    error = np.abs(arms.move(home, int(1.1 * duration(q) / PERIOD), 300))
    assert (error[:7] < TOLERANCE).all()
    assert error[7:].max() < 0.01
    np.testing.assert_allclose(np.abs(rig.scene.arms[master].q)[:6], 0.0, atol=np.radians(4.0))


@pytest.mark.parametrize("name", ["MTML", "MTMR"])
def test_the_motor_of_the_platform_overcomes_gravity_everywhere_and_it_vanishes_at_home(name):
    mechanism = BoardRig(name).scene.arms[name].mechanism
    arm = mechanism.arm
    q = np.random.default_rng(0).uniform(np.maximum(arm.lower, -3.0), np.minimum(arm.upper, 3.0), (1000, 7))
    assert np.abs(mechanism.gravity(q)[:, PLATFORM]).max() < arm.motors.effort[PLATFORM]
    # so at home the PD holds it within a tenth of a degree, plus friction
    at_home = mechanism.gravity(np.zeros(7))[PLATFORM] / arm.gains.kp[PLATFORM]
    assert abs(at_home) < np.radians(0.1)
