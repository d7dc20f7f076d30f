"""Levels of randomisation: drawn robots that the dVRK's PID holds, as it holds real ones."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.identification import covariance
from trocar.identification.drawn_parameters import DrawnParameters
from trocar.mechanics import load_mechanism
from trocar_learning.contest import contest_scene, seeded_setting
from trocar_learning.contest.peg_board import PEGS
from trocar_learning.envs import levels, make_task
from trocar_learning.envs.registration import make_tasks
from trocar_learning.envs.worlds.episodes import Episodes

VIBRATING = 27  # a seed whose first sample is unstable under the PID


def saturation(seed: int) -> float:
    """Share of cycles with a motor at its limit while the instrument rolls."""
    env = make_task("ForceHold", level="3sigma")
    env.reset(seed=seed)
    action = env.modes["PSM"].resting
    action[5] = 0.5
    for _ in range(15):
        info = env.step(action)[4]
    return info["saturation"]


def first_radius(seed: int) -> float:
    """Spectral radius of the first sample of a seed under the PID."""
    radii: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        measured = levels.servo_radius
        patch.setattr(levels, "servo_radius", lambda mechanism: radii.append(measured(mechanism)) or 0.0)
        make_task("ForceHold", level="3sigma").reset(seed=seed)
    return radii[0]


def test_a_drawn_arm_does_not_vibrate_under_the_pid(monkeypatch):
    assert first_radius(VIBRATING) > 1.0
    assert saturation(VIBRATING) == 0.0
    monkeypatch.setattr(levels, "servo_radius", lambda mechanism: 0.0)  # accept every sample
    assert saturation(VIBRATING) > 0.2


def test_the_robot_of_a_seed_does_not_depend_on_the_signs_of_eigenvectors(monkeypatch):
    """Versions of LAPACK give eigenvectors of other signs."""
    mechanism, eigh = load_mechanism("PSM", "wang2019_refit"), np.linalg.eigh

    def flipped(matrix):
        values, axes = eigh(matrix)
        return values, axes * np.where(np.arange(len(values)) % 3, 1.0, -1.0)

    before, known = DrawnParameters(mechanism).draw(3.0, 5)[0], np.array(DrawnParameters(mechanism).values)
    monkeypatch.setattr(np.linalg, "eigh", flipped)
    np.testing.assert_allclose(DrawnParameters(mechanism).draw(3.0, 5)[0], before, rtol=1e-9, atol=1e-12)
    assert np.abs(before / known - 1.0).max() > 0.1  # another robot than the nominal one


def test_samples_have_the_covariance_of_the_set():
    samples = DrawnParameters(load_mechanism("PSM", "wang2019_refit"))
    names, C = covariance(samples.mechanism.parameters.path, "PSM")
    chosen = [names.index(name) for name in samples.names]
    C = C[np.ix_(chosen, chosen)]
    scales = np.sqrt(np.diag(C))
    np.testing.assert_allclose(
        samples._root @ samples._root.T / np.outer(scales, scales),
        C / np.outer(scales, scales),
        atol=1e-5,  # the file has six digits
    )


@pytest.mark.parametrize("parameters", ["wang2019_refit", "wang2019"])
def test_identified_arms_are_stable_under_the_pid(parameters):
    assert 0.9 < levels.servo_radius(load_mechanism("PSM", parameters)) < 1.0


def test_the_limit_of_stability_is_that_of_one_joint():
    """A mass m under kp and kd at a period T is stable up to 2 kd T / m + kp T^2 / m = 4 (Jury's criterion)."""
    mechanism = load_mechanism("PSM", "wang2019_refit")
    T, kp, kd = levels.PERIOD, 6000.0, 200.0  # insertion
    m = (2.0 * kd * T + kp * T**2) / 4.0

    class Joint:
        arm = mechanism.arm

        def mass_matrix(self, q):
            M = 1e3 * np.eye(7)
            M[2, 2] = self.m
            return M

    for share, stable in ((1.01, True), (0.99, False)):
        Joint.m = share * m
        assert (levels.servo_radius(Joint()) < 1.0) == stable


def test_the_contest_has_the_board_and_pegs_of_the_environment_with_its_seed():
    env = make_task("PegTransfer")
    for seed in (0, 3):
        env.reset(seed=seed)
        played, contest = env.world.scene, contest_scene(seeded_setting(seed))
        for name in ("board", *PEGS):
            np.testing.assert_array_equal(played.objects[name].pose, contest.objects[name].pose)


def test_a_wrist_with_cables_is_observed_at_the_motors_and_judged_at_the_tip():
    env = make_task("Approach", wrist="cables", mode="joint_target")
    env.reset(seed=0)
    target = env.modes["PSM"].resting
    for offset in (0.3, -0.3):
        action = target + [0.0, 0.0, 0.0, 0.0, offset, -offset, 0.0]
        for _ in range(40):
            observation = env.step(action)[0]
    arm = env.world.scene.arms["PSM"]
    assert observation[:7] == pytest.approx(arm.measured_q, abs=1e-6)
    assert np.abs(arm.q - arm.measured_q)[3:6].max() > 0.05
    assert env.task.achieved(env.world)[0] == pytest.approx(env.world.scene.T_world_tip("PSM")[:3, 3], abs=1e-9)


def test_the_level_real_draws_cables_of_its_own_in_every_episode():
    env = make_task("Reach", level="real")
    wrists = []
    for seed in (0, 1, 0):
        env.reset(seed=seed)
        wrists.append(env.world.scene.arms["PSM"].options.cables)
    assert np.array_equal(wrists[0].numbers, wrists[2].numbers)
    assert not np.allclose(wrists[0].numbers, wrists[1].numbers)
    assert env.draw.parameters["PSM"] is not None
    assert env.draw.sensors.encoders


def test_other_levels_have_the_robots_that_they_had():
    """Numbers of the cables are drawn apart, so that a seed has the same goal with and without them."""
    goals = []
    for options in ({"level": "1sigma"}, {"level": "1sigma", "wrist": "drawn"}):
        env = make_task("Reach", **options)
        env.reset(seed=4)
        goals.append((*env.world.value("goal"), env.draw.wrist_friction, env.draw.delay))
    assert goals[0] == goals[1]


def test_compensation_brings_the_tip_nearer_to_its_commanded_place():
    errors = []
    for options in ({}, {"compensation": "cables"}):
        env = make_task("Approach", wrist="cables", mode="joint_target", **options)
        env.reset(seed=0)
        mode, q = env.modes["PSM"], env.stepped.arms["PSM"].q.copy()
        q[3:6] += [0.2, 0.3, -0.3]
        for _ in range(60):
            env.step(mode.action(q))
        arm = env.world.scene.arms["PSM"]
        errors.append(np.linalg.norm(arm.tip_pose()[:3, 3] - arm.mechanism.forward_kinematics(q)[:3, 3]))
    assert errors[1] < 0.5e-3 < errors[0]


def test_many_worlds_and_arms_without_a_wrist_refuse_cables():
    with pytest.raises(TrocarError, match="worlds share one wrist"):
        Episodes.drawn("Reach", [0], level="real")
    with pytest.raises(TrocarError, match="worlds have no wrist"):
        make_tasks("Reach", 2, "threads", wrist="cables")
    with pytest.raises(TrocarError, match="no arm of ECM has a wrist"):
        make_task("CameraCentre", wrist="cables")
    make_task("CameraCentre", level="real").reset(seed=0)


def test_an_episode_behind_cables_continues_after_pickling():
    env = make_task("Approach", wrist="cables", compensation="cables")
    env.reset(seed=0)
    act = env.action_space.sample()
    for _ in range(20):
        env.step(act)
    copy = pickle.loads(pickle.dumps(env))
    for _ in range(20):
        same = [one.step(-act)[0] for one in (env, copy)]
    assert np.array_equal(*same)
