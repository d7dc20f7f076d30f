"""Tip errors of a wrist behind cables along published commands: open loop, and with compensated commands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trocar.arms.arm import CONTROL_RATE
from trocar.arms.wrist_cables import WristCables, drawn_wrist
from trocar.control import WristCompensation
from trocar.identification.wrist import JointPairs
from trocar.identification.wrist.fit import WRIST
from trocar.mechanics import CableWrist, Mechanism
from trocar.robot.robot import Robot
from trocar.simulation import Scene, SceneArm
from trocar.spatial import Array

DRAWS = 20  # other instruments
PAUSE = 0.5  # after every command in the engine [s]


def law_errors(motion: JointPairs, cables: WristCables, mechanism: Mechanism) -> tuple[float, float, list[float]]:
    """Mean tip errors [m] at the rest positions of a motion's commands, by the law.

    Open loop, compensated exactly, and compensated for `cables` on each of `DRAWS` other instruments.
    """
    goals = motion.command
    commands = _compensated(goals, cables)
    others = [drawn_wrist(np.random.default_rng(seed), cables=cables) for seed in range(DRAWS)]

    def error(wrist: WristCables, sent: Array) -> float:
        law, joints = CableWrist(wrist), goals.copy()
        joints[:, WRIST] = law.rest(sent[:, WRIST], law.relaxed(goals[0, WRIST])).q
        return float(_distances(mechanism, goals, joints).mean())

    return error(cables, goals), error(cables, commands), [error(other, commands) for other in others]


def drawn_open_loop(motion: JointPairs, cables: WristCables, mechanism: Mechanism) -> list[float]:
    """Mean tip errors [m] of the same other instruments in open loop."""
    errors = []
    for seed in range(DRAWS):
        law, joints = CableWrist(drawn_wrist(np.random.default_rng(seed), cables=cables)), motion.command.copy()
        joints[:, WRIST] = law.rest(joints[:, WRIST]).q
        errors.append(float(_distances(mechanism, motion.command, joints).mean()))
    return errors


def engine_errors(
    motion: JointPairs, wrist: WristCables, compensation: WristCables | None, count: int
) -> tuple[float, float]:
    """Mean tip errors [m] of a live robot that `move_jp` takes to the first `count` commands of a motion.

    From the commanded joints, and from the measured ones: what the motors leave undone is in the first only.
    """
    arm = SceneArm(arm="PSM", base=np.eye(4), wrist=wrist, compensation=compensation)
    scene = Scene({"PSM1": arm}, timestep=1.0 / CONTROL_RATE)
    simulated, rows = scene.arms["PSM1"], []
    with Robot(scene, start="ready") as robot:
        psm = robot.psm("PSM1")
        for goal in motion.command[:count]:
            psm.move_jp(goal).wait()
            robot.sleep(PAUSE)
            rows.append(simulated.q[:6])
    goals = motion.command[:count]
    positioned = goals.copy()
    positioned[:, :3] = np.array(rows)[:, :3]  # without the error of yaw, pitch and insertion under gravity
    mechanism, seen = simulated.mechanism, np.array(rows)
    return float(_distances(mechanism, goals, seen).mean()), float(_distances(mechanism, positioned, seen).mean())


def _compensated(goals: Array, cables: WristCables) -> Array:
    compensation = WristCompensation(cables, goals[0])
    return np.array([compensation(goal) for goal in goals])


def _distances(mechanism: Mechanism, first: Sequence[Array] | Array, second: Sequence[Array] | Array) -> Array:
    """Distances (N,) of the tips of joints (N, 6) [m]."""
    joints = np.zeros((2, len(first), mechanism.n))
    joints[0, :, :6], joints[1, :, :6] = first, second
    tips = mechanism.forward_kinematics(joints)[..., :3, 3]
    return np.asarray(np.linalg.norm(tips[0] - tips[1], axis=-1))
