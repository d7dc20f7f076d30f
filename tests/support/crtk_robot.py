"""Robots for the tests of `trocar.robot`: scenes are built once and restarted."""

from functools import cache

import numpy as np

import trocar as tr
from trocar.robot import Robot
from trocar.robot.controller.constants import PERIOD


@cache
def _scene(name):
    if name in tr.ARMS:
        return tr.Scene({name: tr.SceneArm(arm=name, base=np.eye(4))}, timestep=PERIOD)
    return tr.load_scene(name, timestep=PERIOD)


def started(name="psm", start="ready", **options):
    """A robot of a built-in scene or of one arm."""
    scene = _scene(name)
    scene.reset()
    return Robot(scene, start=start, **options)


def q_of(arm):
    """Measured joints of a client."""
    return arm.measured_jp()[0]


def busy(is_busy, most=5000):
    """Iterations of a loop during a motion; fails if the motion does not end."""
    for turn in range(most):
        if not is_busy():
            return
        yield turn
    raise AssertionError(f"still busy after {most} turns")


class Events:
    """All events of a device."""

    def __init__(self, robot, name):
        self.warnings, self.errors, self.states, self.goals = [], [], [], []
        for topic, kept in (("warning", self.warnings), ("error", self.errors)):
            robot.bus.subscribe(f"{name}/{topic}", lambda m, kept=kept: kept.append(m.value))
        robot.bus.subscribe(f"{name}/operating_state", self.states.append)
        robot.bus.subscribe(f"{name}/goal_reached", lambda m: self.goals.append(m.value))

    @property
    def busy(self):
        """Changes of is_busy."""
        flags = [state.is_busy for state in self.states]
        return [flag for k, flag in enumerate(flags) if k == 0 or flag != flags[k - 1]]
