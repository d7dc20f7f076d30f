"""Experiments on a master alone: gravity compensation and the wrist platform."""

from __future__ import annotations

import math

import numpy as np

from trocar.report import Claim
from trocar.spatial import Array
from trocar.teleoperation.console_bench.bounds import own_bound
from trocar.teleoperation.console_bench.rig import MASTER, Q_MASTER, PairRig


def gravity_compensation(poses: int = 20, seconds: float = 10.0) -> list[Claim]:
    """Release a master in many poses: it stays with gravity compensation and falls without."""
    drift: list[float] = []
    fall: list[float] = []
    for q in _poses(poses):
        drift.append(_drift(q, seconds, compensated=True))
        if len(fall) < 3:
            fall.append(_drift(q, min(seconds, 1.0), compensated=False))
    note = f"{poses} poses, {seconds:g} s each"
    return [
        own_bound("gravity compensation: drift", max(drift), 1e-3, "m", note),
        own_bound("gravity compensation off: fall", min(fall), 0.02, "m", "least fall in 1 s, 3 poses", at_least=True),
    ]


def _poses(count: int) -> Array:
    """Joints (count, 7) in the inner half of the limits."""
    rig = PairRig()
    arm = rig.robot.controllers[MASTER].arm
    middle, span = 0.5 * (arm.lower + arm.upper), arm.upper - arm.lower
    return middle + 0.25 * span * np.random.default_rng(0).uniform(-1.0, 1.0, (count, 7))


def _drift(q: Array, seconds: float, *, compensated: bool) -> float:
    rig = PairRig(q_master=q)
    master = rig.robot.mtm(MASTER)
    master.use_gravity_compensation(compensated)
    master.body.servo_cf(np.zeros(6))
    start = rig.hand.arm.tip_pose()[:3, 3]
    rig.robot.run(seconds)
    return float(np.linalg.norm(rig.hand.arm.tip_pose()[:3, 3] - start))


def platform(seconds: float = 1.5) -> list[Claim]:
    """The platform turns while a hand holds the orientation, which brings the wrist's yaw towards its middle."""
    q = Q_MASTER.copy()
    q[4:6] = 0.3, 0.5
    rig = PairRig(q_master=q)
    master = rig.robot.mtm(MASTER)
    controller = rig.robot.controllers[MASTER]
    master.use_gravity_compensation(True)
    master.body.servo_cf(np.zeros(6))
    rig.hand.grasp()
    rig.hand.k_turn, rig.hand.b_turn = 0.5, 0.01
    rig.robot.step(2)
    before, most = abs(_room(rig)), 0.0
    for _ in range(round(seconds * 1500)):
        rig.robot.step()
        most = max(most, abs(float(controller.commanded_effort()[3])))
    return [
        own_bound(
            "platform: remaining share of q6 cos q5",
            abs(_room(rig)) / before,
            0.5,
            "",
            f"{before:.2f} rad at the start",
        ),
        own_bound("platform: torque", most, 0.4, "N m"),
    ]


def _room(rig: PairRig) -> float:
    q = rig.hand.arm.q
    return float(q[5] * math.cos(q[4]))
