"""Continuing a live robot in another scene."""

from __future__ import annotations

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.robot import Robot
from trocar.robot.controller.constants import PERIOD
from trocar.simulation import Scene, SceneArm

Q = np.array([0.2, -0.1, 0.12, 0.0, 0.0, 0.0, 0.3])


def scene(arm: str = "PSM", q: np.ndarray | None = None) -> Scene:
    return Scene({"PSM1": SceneArm(arm=arm, base=np.eye(4), q=q)}, timestep=PERIOD)


def test_a_robot_continues_in_another_scene() -> None:
    with Robot(scene(), start="ready", speed="stepped") as robot:
        robot.arm("PSM1").move_jp(np.array([0.3, 0.0, 0.1, 0.0, 0.0, 0.0]))
        robot.run(0.1)
        other, before = scene(q=Q), robot.now
        robot.simulation().replace(other)
        assert robot.scene is other
        robot.run(0.5)  # holds: the motion of the former scene has ended
        np.testing.assert_allclose(robot.readings("PSM1").joints, Q, atol=3e-3)
        assert robot.now > before
        robot.arm("PSM1").move_jp(Q[:6] + [0.05, 0, 0, 0, 0, 0])
        robot.run(1.0)
        assert robot.readings("PSM1").joints[0] == pytest.approx(0.25, abs=3e-3)
        robot.simulation().reset()
        np.testing.assert_allclose(robot.readings("PSM1").joints, Q, atol=3e-3)


def test_a_scene_with_other_arms_is_refused() -> None:
    with Robot(scene(), start="ready", speed="stepped") as robot:
        before = robot.scene
        with pytest.raises(TrocarError, match="the robot has the arms PSM1; the scene has others"):
            robot.simulation().replace(scene("PSM_Si"))
        with pytest.raises(TrocarError, match="scene must be a Scene"):
            robot.simulation().replace(5)  # type: ignore[arg-type]
        assert robot.scene is before
