"""The motion for wrist cables: within the limits, at rest in every pose, and it recovers known numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.arms.arm import CONTROL_RATE
from trocar.arms.wrist_cables import WristCables, drawn_wrist, load_wrist
from trocar.cli import application
from trocar.errors import TrocarError
from trocar.identification.excitation.limits import excitation_limits
from trocar.identification.excitation.wrist_motion import REST, WristMotion, pairs_at_rest, wrist_motion
from trocar.identification.wrist import JointPairs, identify_wrist
from trocar.identification.wrist.cable_numbers import RESULTS, anchored, joint_friction
from trocar.mechanics import CableWrist, load_mechanism
from trocar.robot.rehearsal import Rehearsal, rehearse

MECHANISM = load_mechanism("PSM")
ARM = MECHANISM.arm
LIMITS = excitation_limits(ARM, {}, 1.0)
NOISE = 5e-3  # [rad]


@pytest.fixture(scope="module")
def motion() -> WristMotion:
    return wrist_motion(ARM, LIMITS, 200.0)


def test_the_motion_rests_in_every_pose_within_the_limits(motion: WristMotion) -> None:
    rows = motion.rows
    assert LIMITS.violation(rows.q, rows.dq)[0] <= 1e-12
    for rest, end in zip(motion.rests, motion.ends, strict=True):
        during = (rows.t >= end - REST + 1e-9) & (rows.t <= end)
        assert rows.q[during] == pytest.approx(np.tile(rest, (during.sum(), 1)), abs=1e-9)
        assert np.abs(rows.dq[during]).max() < 1e-9
    h = rows.t[1]
    assert np.diff(rows.q, axis=0) / h == pytest.approx(0.5 * (rows.dq[1:] + rows.dq[:-1]), abs=2e-3)
    jerk = 60.0 * 0.6 / 0.4**3  # at the start of a step, which may lie between two rows
    assert np.diff(rows.dq, axis=0) / h == pytest.approx(0.5 * (rows.ddq[1:] + rows.ddq[:-1]), abs=0.5 * jerk * h)


def test_single_wrist_joints_move_both_ways_and_pitch_and_yaw_reach_all_corners(motion: WristMotion) -> None:
    wrist = motion.rests[:, 3:6]
    steps = np.diff(wrist, axis=0)
    for joint in range(3):
        alone = (np.abs(np.delete(steps, joint, axis=1)) < 1e-12).all(1)
        assert (steps[alone, joint] > 0.0).sum() > 15
        assert (steps[alone, joint] < 0.0).sum() > 15
    for pitch, yaw in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        assert (np.linalg.norm(wrist[:, 1:] - 0.8 * np.array([pitch, yaw]), axis=1) < 1e-9).sum() >= 2
    assert 3 * 60 < motion.ends[-1] < 8 * 60


def seen(motion: WristMotion, cables: WristCables, seed: int) -> JointPairs:
    """The rests as a camera sees them, by the law of the cables."""
    q = motion.rests[:, :6]
    true = q + [2e-3, -1e-3, 5e-4, 0.1, -0.1, 0.2]
    true[:, 3:] += CableWrist(cables).rest(q[:, 3:]).q - q[:, 3:]
    return JointPairs(name="rests", command=q, seen=true).with_noise(NOISE, seed)


def test_the_motion_recovers_the_numbers_of_drawn_wrists(motion: WristMotion) -> None:
    z = []
    for seed in range(4):
        cables = drawn_wrist(np.random.default_rng(seed))
        found = identify_wrist([seen(motion, cables, seed)], MECHANISM, "mine", "test", folds=0).cables
        sigma = np.sqrt(np.diag(found.covariance))[RESULTS]
        z.append((found.numbers - anchored(cables, joint_friction(MECHANISM)).numbers)[RESULTS] / sigma)
        relative = np.abs(found.stiffness - anchored(cables, joint_friction(MECHANISM)).stiffness)[1:, 1:]
        assert (relative < 0.15 * np.abs(found.stiffness[1:, 1:]).max()).all()
    assert np.mean(np.abs(z) < 1.96) > 0.9
    assert np.std(z) == pytest.approx(0.8, abs=0.3)


def test_anchored_cables_have_the_same_rest_positions(motion: WristMotion) -> None:
    cables = drawn_wrist(np.random.default_rng(9))
    other = anchored(cables, joint_friction(MECHANISM))
    assert other.friction[0] == pytest.approx(joint_friction(MECHANISM)[0])
    q = motion.rests[:100, 3:6]
    assert CableWrist(other).rest(q).q == pytest.approx(CableWrist(cables).rest(q).q, abs=1e-12)


def test_a_rehearsal_in_the_engine_gives_the_rests_of_the_law(motion: WristMotion) -> None:
    """The first rests of single wrist pitch, on the simulated robot with its controller."""
    first = int(np.flatnonzero(np.abs(motion.rests[:, 4]) > 1e-9)[0]) - 1
    start, count = motion.ends[first], 60
    rows = motion.rows
    part = (rows.t >= start) & (rows.t <= start + 8.0)
    plan = replace(rows, t=rows.t[part] - start, q=rows.q[part], dq=rows.dq[part], ddq=rows.ddq[part])
    cables = load_wrist("hwang2020")
    engine = tr.Simulator("PSM", timestep=1 / CONTROL_RATE, wrist=cables)
    rehearsal = rehearse(engine, plan)
    ends = motion.ends[first + 1 :][motion.ends[first + 1 :] <= start + 8.0 - 1e-6] - start
    assert np.abs(rehearsal.truth - rehearsal.recording.q)[:, 4].max() > 0.03  # the joints are behind the motors
    at = np.searchsorted(rehearsal.recording.t, ends) - 1
    law = CableWrist(cables).rest(rehearsal.recording.q[:, 3:6])
    assert rehearsal.truth[at, 3:6] == pytest.approx(law.q[at], abs=3e-3)
    short = WristMotion(rests=motion.rests[:count], ends=np.linspace(1.0, 7.9, count), rows=plan)
    pairs = pairs_at_rest(short, rehearsal.recording, rehearsal.truth, "rehearsal")
    assert len(pairs.command) == count


def test_an_arm_without_a_wrist_is_refused() -> None:
    ecm = tr.load_arm("ECM")
    with pytest.raises(TrocarError, match="has no joint"):
        wrist_motion(ecm, excitation_limits(ecm), 200.0)


def test_the_command_writes_a_motion_and_compares_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, motion: WristMotion
) -> None:
    """With a rehearsal by the law: the engine would take half a minute."""

    def by_the_law(sim: tr.Simulator, plan: tr.Recording, **_: object) -> Rehearsal:
        every = slice(None, None, 10)
        rows = replace(plan, t=plan.t[every], q=plan.q[every], dq=plan.dq[every], ddq=None)
        truth = rows.q.copy()
        truth[:, 3:6] = CableWrist(load_wrist("hwang2020")).rest(rows.q[:, 3:6]).q
        return Rehearsal(recording=rows, motor_efforts=np.zeros(7), switched_off=None, truth=truth)

    monkeypatch.setattr("trocar.robot.rehearsal.rehearse", by_the_law)
    result = CliRunner().invoke(application(), ["excite-wrist", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "of 18 numbers lie within" in result.output
    assert np.array_equal(tr.load_recording(tmp_path / "excitation.csv").q, motion.rows.q)
    assert "servo_jp" in (tmp_path / "play.py").read_text()
    assert len(JointPairs.load(tmp_path / "pairs.npz").command) == len(motion.rests)
