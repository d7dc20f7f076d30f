"""Samples, stamps and priority of the bridge to ROS, without ROS."""

import gc
import itertools
import os
import threading
import time

import numpy as np
import pytest

from tests.support.crtk_robot import started
from trocar.errors import TrocarError
from trocar.robot import messages as m
from trocar.robot.pace import Pace
from trocar.transports import priority
from trocar.transports.sampling import Sampler
from trocar.transports.scene_topics import SceneTopics

SETPOINT, STATE = "PSM/setpoint_js", "PSM/operating_state"


def sampled(robot, simulated_time, rate=100.0):
    """A sampler of the robot's setpoint, and a list of what it sends."""
    sampler, sent = Sampler(robot, SceneTopics(robot, clock=False), rate, simulated_time), []
    sampler.read.add(SETPOINT)
    robot.bus.subscribe(STATE, lambda event: sent.extend(sampler.with_samples(STATE, event)))
    robot.after_cycle.append(lambda: sent.extend(sampler.after_cycle(busy=False) or ()))
    return sampler, sent


@pytest.mark.parametrize("simulated_time", [False, True])
def test_the_last_sample_up_to_the_stamp_of_the_idle_state_is_that_of_the_goal(simulated_time):
    robot = started("PSM")
    try:
        sampler, sent = sampled(robot, simulated_time)
        q = np.array(robot.bus.read(SETPOINT).position)
        for goal in (q + 0.01, q, q + 0.02):
            del sent[:]
            robot.bus.publish("PSM/move_jp", m.JointState(position=goal))
            sampler.current(SETPOINT)  # for a new reader, in the same cycle
            robot.wait_for(lambda: any(x.is_busy for _, x, _ in sent if isinstance(x, m.OperatingState)), 1.0)
            robot.wait_for(lambda: not robot.bus.read(STATE).is_busy, 5.0)
            robot.run(0.05)
            (idle,) = (stamp for _, x, stamp in sent if isinstance(x, m.OperatingState) and not x.is_busy)
            before = [x.position for name, x, stamp in sent if name == SETPOINT and stamp <= idle]
            np.testing.assert_allclose(before[-1], goal, atol=1e-9)
            for topic in (SETPOINT, STATE):
                stamps = [stamp for name, _, stamp in sent if name == topic]
                assert all(a < b for a, b in itertools.pairwise(stamps))
    finally:
        robot.after_cycle.clear()


def test_samples_come_at_the_rate_by_the_robots_clock_unless_earlier_ones_wait():
    robot = started("PSM")
    sampler, sent = sampled(robot, simulated_time=True, rate=1000.0)
    try:
        robot.run(1.0)
        assert len([name for name, _, _ in sent if name == SETPOINT]) == pytest.approx(1000, abs=2)
    finally:
        robot.after_cycle.clear()
    robot.run(0.01)
    assert sampler.after_cycle(busy=True) is None
    assert sampler.after_cycle(busy=False)
    sampler.read.clear()
    robot.run(0.01)
    assert sampler.after_cycle(busy=False) is None


@pytest.mark.parametrize(("rate", "most"), [(1000.0, 333e-6), (400.0, 500e-6), (500.0, 0.0), (100.0, 0.0)])
def test_samples_are_sent_at_regular_intervals(rate, most):
    robot = started("PSM")
    sampler, times = Sampler(robot, SceneTopics(robot, clock=False), rate, simulated_time=False), []
    sampler.read.add(SETPOINT)

    def sample():
        if sampler.after_cycle(busy=False) is not None:
            assert 0.0 <= sampler.ahead <= most + 1e-6
            times.append(robot.time + sampler.ahead)

    robot.after_cycle.append(sample)
    try:
        robot.run(0.1)
    finally:
        robot.after_cycle.clear()
    assert len(times) > 8
    np.testing.assert_allclose(np.diff(times), 1.0 / rate, atol=1e-6)


def test_samples_of_one_cycle_have_the_same_stamp():
    robot = started("PSM")
    sampler = Sampler(robot, SceneTopics(robot, clock=False), 100.0, simulated_time=False)
    sampler.read.update({SETPOINT, "PSM/measured_js", "PSM/measured_cp"})
    robot.step()
    assert len({stamp for _, _, stamp in sampler.after_cycle(busy=False)}) == 1


@pytest.mark.parametrize("rate", [0.0, -1.0, 1501.0, float("nan")])
def test_a_rate_that_the_control_loop_cannot_give_is_refused(rate):
    robot = started("PSM")
    with pytest.raises(TrocarError, match="at most 1500 Hz"):
        Sampler(robot, SceneTopics(robot, clock=False), rate, False)


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="no real-time priorities")
def test_threads_that_use_most_of_a_processor_give_up_their_priority_until_they_use_less(monkeypatch):
    requested, used, now = [], [0.0], [0.0]
    monkeypatch.setattr(os, "sched_getscheduler", lambda thread: os.SCHED_OTHER)
    monkeypatch.setattr(os, "sched_getparam", lambda thread: os.sched_param(0))
    monkeypatch.setattr(os, "sched_setscheduler", lambda thread, policy, param: requested.append(param.sched_priority))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    urgency = priority.Urgency(lambda: used[0], lambda: (0,), 9)
    for share in (0.8, 0.95, 0.8, 0.6):
        now[0] += 2.0 * priority.WINDOW
        used[0] += 2.0 * share * priority.WINDOW
        urgency.check()
    assert requested == [9, 0, 9]
    assert urgency.granted


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="no real-time priorities")
def test_a_priority_that_is_not_granted_is_reported_and_not_asked_for_again(monkeypatch):
    asked = []

    def refuse(*arguments):
        asked.append(arguments)
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    urgency = priority.urgent_thread()
    urgency.check()
    assert not urgency.granted
    assert len(asked) == 1


def test_a_loop_in_real_time_keeps_the_garbage_collector_off_its_scene():
    frozen, closing = [], threading.Event()

    def cycle():
        frozen.append(gc.get_freeze_count())
        closing.set()

    Pace().keep(cycle, closing)
    assert frozen[0] > 0
    assert gc.get_freeze_count() == 0
