"""Levels of randomisation: drawn robots that the dVRK's PID holds, as it holds real ones."""

from __future__ import annotations

import numpy as np
import pytest

from trocar.envs import levels, make_task
from trocar.mechanics import load_mechanism

SEEDS = range(23, 63)  # the robot of a seed differs between versions of LAPACK; one in ten vibrates


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
    seed = next(seed for seed in SEEDS if first_radius(seed) > 1.0)
    assert saturation(seed) == 0.0
    monkeypatch.setattr(levels, "servo_radius", lambda mechanism: 0.0)  # accept every sample
    assert saturation(seed) > 0.2


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
