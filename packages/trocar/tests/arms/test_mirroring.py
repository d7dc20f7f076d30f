"""The left master as the mirror image of the right one: poses, gravity, springs, drives, priors and recipes."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.arms.mirroring import mirror_image, parities
from trocar.arms.parameters import CableTorque, Dahl, Drive, LeverSpring, load_parameters, to_toml
from trocar.identification import covariance
from trocar.identification.consistency import prior
from trocar.identification.recipes.recipe import load_recipe
from trocar.mechanics.drives import Elastics
from trocar.transports.fpga.nominal import gravity_regressor

MEASURED = Path(os.environ.get("TROCAR_DATA", "no data folder")) / "dvrk_config_jhu/jhu-dVRK/gc-MTML-22723.json"

SETS = ("wang2019", "wang2019_refit", "wang2019_published")
D = np.array([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0])  # mirror image of the joints
ACROSS = np.array([-1.0, 1.0, 1.0])  # and of a point, in the base frame


def poses(count=200):
    """Random joints of the right arm."""
    arm = tr.load_arm("MTMR")
    return np.random.default_rng(0).uniform(arm.lower, arm.upper, (count, 7))


def masters(parameters):
    return (tr.load_mechanism(name, parameters) for name in ("MTML", "MTMR"))


def moment_of_the_platform(mech):
    """First moment of the gimbal across the platform, p6 of the dVRK's gravity compensation [kg m]."""
    weights = tr.load_mechanism(mech.arm.name, replace(mech.parameters, drives=(), elastics=()))
    q = np.zeros((360, 7))
    q[:, 1], q[:, 3] = np.pi / 2, np.linspace(0, 2 * np.pi, 360, endpoint=False)
    return -2 * (weights.gravity(q)[:, 3] * np.cos(q[:, 3])).mean() / 9.81


def test_the_tips_are_mirror_images():
    left, right = masters("wang2019")
    q = poses()
    np.testing.assert_allclose(
        left.forward_kinematics(D * q)[:, :3, 3], ACROSS * right.forward_kinematics(q)[:, :3, 3], atol=1e-15
    )


@pytest.mark.parametrize("parameters", SETS)
def test_gravity_and_potential_energy_are_mirror_images(parameters):
    left, right = masters(parameters)
    q = poses()
    np.testing.assert_allclose(left.gravity(D * q), D * right.gravity(q), atol=1e-12)
    np.testing.assert_allclose(left.potential_energy(D * q), right.potential_energy(q), atol=1e-12)


@pytest.mark.parametrize("parameters", SETS)
def test_the_mass_matrices_of_the_gimbals_are_mirror_images(parameters):
    left, right = masters(parameters)
    q, gimbal = poses(), np.ix_(range(200), range(3, 7), range(3, 7))
    ours, theirs = left.mass_matrix(D * q)[gimbal], (np.outer(D, D) * right.mass_matrix(q))[gimbal]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("parameters", SETS)
def test_the_moment_of_the_platform_is_that_of_measured_masters(parameters):
    """gc-MTML-22723 (JHU), gc-MTML-73298, gc-MTMR-28002 (CUHK), gc-MTML-76673 and gc-MTMR-81503 (UCL)."""
    left, right = (moment_of_the_platform(mech) for mech in masters(parameters))
    assert left == pytest.approx(np.mean([-0.01962, -0.02033, -0.02049]), rel=0.03)
    assert right == pytest.approx(np.mean([0.02059, 0.02141]), rel=0.06)


@pytest.mark.skipif(not MEASURED.is_file(), reason="TROCAR_DATA has no configuration files of JHU")
@pytest.mark.parametrize(
    ("parameters", "differences"), [("wang2019", (0.461, 0.091, 0.019)), ("wang2019_refit", (0.048, 0.036, 0.037))]
)
def test_gravity_of_the_left_arm_is_that_of_a_measured_one(parameters, differences):
    """On another robot than that of the set. Unmirrored, J2 to J4 differ by at least 0.25, 0.27 and 0.07 N m."""
    known = json.loads(MEASURED.read_text())["GC_controller"]
    limits = (np.radians(known[f"joint_position_{side}_limit"]) for side in ("lower", "upper"))
    q = np.random.default_rng(0).uniform(*limits, (2000, 7))
    crank = np.degrees(q[:, 1] + q[:, 2])
    q = q[(crank > -11) & (crank < 16)]
    measured = gravity_regressor(q) @ np.mean([known["gc_dynamic_params_pos"], known["gc_dynamic_params_neg"]], axis=0)
    difference = tr.load_mechanism("MTML", parameters).gravity(q) - measured
    np.testing.assert_allclose(np.sqrt((difference**2).mean(0))[1:4], differences, atol=1e-3)


@pytest.mark.parametrize("parameters", SETS)
def test_links_from_the_base_to_the_forearm_are_the_same(parameters):
    left, right = (load_parameters(name, parameters) for name in ("MTML", "MTMR"))
    for name in ("outer_yaw", "crank", "rod", "upper_arm", "forearm"):
        np.testing.assert_array_equal(left.inertias[name].com, right.inertias[name].com)
        np.testing.assert_array_equal(left.inertias[name].I, right.inertias[name].I)
    assert left.drives == right.drives  # none has terms that depend on the sign of its coordinate


@pytest.mark.parametrize("arm", ["MTML", "MTMR"])
def test_a_file_of_one_master_is_that_master_and_mirrored_for_the_other(arm, tmp_path):
    other = {"MTML": "MTMR", "MTMR": "MTML"}[arm]
    path = tmp_path / "own.toml"
    path.write_text(to_toml(load_parameters(arm, "wang2019_refit")))
    q = D * poses() if arm == "MTML" else poses()
    known = tr.load_mechanism(arm, "wang2019_refit").gravity(q)
    np.testing.assert_array_equal(tr.load_mechanism(arm, path).gravity(q), known)
    np.testing.assert_allclose(tr.load_mechanism(other, path).gravity(D * q), D * known, atol=1e-12)


def test_a_set_in_python_is_mirrored_and_back():
    right = load_parameters("MTMR", "wang2019_refit")
    left = load_parameters("MTML", right)
    assert (left.arm, load_parameters("MTMR", left).arm) == ("MTML", "MTMR")
    assert left.source == f"{right.source}; mirror image of that of the MTMR"
    again = load_parameters("MTMR", left)
    assert (again.drives, again.elastics) == (right.drives, right.elastics)
    for name, body in right.inertias.items():
        np.testing.assert_array_equal(again.inertias[name].com, body.com)
        np.testing.assert_array_equal(again.inertias[name].I, body.I)


def full_set():
    """A set of the right arm with every term that a drive or a spring can have, on mirrored joints."""
    terms = {"Fv": 0.01, "Fc": 0.02, "K0": 0.03, "K": 0.04, "K2": 0.05, "Fx": 0.003, "Im": 1e-4}
    drives = [
        Drive(name=name, joints={name: 1.0}, hysteresis=(Dahl(0.01, 0.02, 0.004),), terms=tuple(terms), **terms)
        for name in ("wrist_platform", "wrist_pitch", "wrist_yaw", "wrist_roll")
    ]
    drives.append(Drive(name="motor_7", motors={"motor_7": 1.0}, K0=0.02, K2=0.01, terms=("K0", "K2")))
    springs = [
        LeverSpring(name=f"spring {name}", joint=name, amplitude=200.0, r=0.01, h=0.1, rest=0.06, offset=0.3)
        for name in ("wrist_pitch", "wrist_yaw")
    ]
    cable = CableTorque(name="cable", joint="wrist_roll", coefficients=(0.3, -0.1, 0.2), lower=-1.0, upper=2.0)
    return replace(load_parameters("MTMR"), drives=tuple(drives), elastics=(*springs, cable))


def test_drives_springs_and_cables_are_mirror_images():
    left, right = masters(full_set())
    q, dq = poses(), np.random.default_rng(1).normal(size=(200, 7))
    np.testing.assert_allclose(left.gravity(D * q), D * right.gravity(q), atol=1e-12)
    np.testing.assert_allclose(left.friction(D * q, D * dq), D * right.friction(q, dq), atol=1e-12)


def test_a_drive_that_joins_mirrored_and_other_joints_is_refused():
    mixed = Drive(name="belt", joints={"elbow_pitch": 1.0, "wrist_platform": 0.7}, Fv=0.1, terms=("Fv",))
    own = replace(load_parameters("MTMR"), drives=(mixed,))
    assert load_parameters("MTMR", own) == own
    with pytest.raises(tr.TrocarError, match="'belt' moves elbow_pitch, wrist_platform, which are not all mirrored"):
        load_parameters("MTML", own)


def test_recipe_and_priors_of_the_left_arm_are_mirrored(tmp_path):
    left, right = (load_recipe(arm).template.elastics for arm in ("MTML", "MTMR"))
    q = poses()
    arm = tr.load_arm("MTMR")
    ours, theirs = Elastics(left, arm).effort(D * q), Elastics(right, arm).effort(q)
    np.testing.assert_allclose(ours, D * theirs, atol=1e-15)
    corners = [(p["wrist_platform"].lower[1], p["wrist_platform"].upper[1]) for p in map(prior, ("MTML", "MTMR"))]
    assert corners == [(-0.14, 0.03), (-0.03, 0.14)]
    masses = [(p["wrist_platform"].P[1, 3], p["forearm"].P[2, 3]) for p in map(prior, ("MTML", "MTMR"))]
    assert masses[0] == (-masses[1][0], masses[1][1])


def test_the_covariance_is_that_of_the_mirrored_parameters():
    left, right = masters("wang2019_refit")
    factors = dict(
        zip(
            right.parameter_names,
            parities(right.parameter_names, "MTML", right.parameters.drives, "MTMR"),
            strict=True,
        )
    )
    signs = np.array([factors[name] for name in left.parameter_names])
    np.testing.assert_allclose(left.parameter_vector, signs * right.parameter_vector, rtol=1e-12)
    (names, C), (_, mirrored) = covariance(right.parameters.path), covariance(left.parameters.path, "MTML")
    a, b = names.index("wrist_platform.my"), names.index("wrist_platform.mz")
    assert mirrored[a, b] == -C[a, b] != 0
    np.testing.assert_array_equal(np.diag(mirrored), np.diag(C))
    assert mirror_image(right.parameters, "MTMR") is right.parameters
