"""Zhou et al. 2025: the content of its tables, and the pieces of their simulation."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from tools.gravity_sensitivity import sensitivity
from trocar.arms.tables import read
from trocar.control import GravityCompensation
from trocar.identification.excitation.criterion import Criterion
from trocar.identification.excitation.search import SAMPLES, sampled
from trocar.identification.pipeline import identify
from trocar.identification.si.gravity import fit_gravity, identified, table_two
from trocar.mechanics.inertia import barycentric, pseudo_inertia
from trocar_reproductions.zhou2025 import other_arms, printed, runs
from trocar_reproductions.zhou2025.other_arms import table_one, unlike

pytestmark = pytest.mark.xdist_group("zhou2025")  # one worker: fixtures are built once
TABLE = table_two()
POSES = runs.straight(TABLE.q)


@pytest.fixture(scope="module")
def model():
    return tr.load_mechanism(runs.ARM, runs.MODEL)


@pytest.fixture(scope="module")
def truth():
    return tr.load_mechanism(runs.ARM, runs.TRUTH)


def test_poses_are_printed_with_z_down_and_the_last_angle_of_pose_five_is_a_copy(model):
    off = np.abs(printed.printed_poses(model, POSES) - TABLE.pose)
    assert off[:4].max() < 0.01
    assert off[4, :5].max() < 0.01
    assert TABLE.pose[4, 5] == TABLE.pose[4, 2]
    assert printed.printed_poses(model, POSES)[4, 5] == pytest.approx(-107.83, abs=0.03)


def test_the_printed_torques_are_gravity_and_a_constant_at_each_joint(model):
    fit = identified()
    assert np.abs(fit.residual).max() < 0.01
    assert np.abs(fit.left_out() - TABLE.GC_torque).max() < 0.02  # no overfitting: each pose follows from the others
    rigid = fit_gravity(TABLE.q, TABLE.GC_torque, offsets=False)
    assert np.abs(rigid.residual).max() > 0.1
    np.testing.assert_allclose(rigid.coefficients, (-0.1087, -0.3309, 1.1343, 0.4356, 0.793), atol=5e-4)
    np.testing.assert_allclose(runs.holding(model, POSES), TABLE.GC_torque, atol=0.01)


def test_a_joint_held_by_friction_does_not_move_and_one_pushed_beyond_does(model, truth):
    sim = runs.still_simulator()
    q, middle = POSES[1], truth.gravity(POSES[1])
    band = runs.static_band(truth, q)
    for j in range(3):
        for share, moves in ((0.9, False), (1.1, True)):
            value = middle[j] + share * band[j]
            assert runs.moves(sim, q, middle, j, value) is moves


def test_bisection_finds_the_friction_band(model, truth):
    sim = runs.still_simulator()
    q = POSES[3]
    tau = model.gravity(q)
    middle, band = runs.holding(truth, q), runs.static_band(truth, q)
    for j, direction in ((0, 1), (1, -1)):
        effort = runs.bound(sim, q, tau, j, direction, 0.05, duration=2.0)
        assert effort == pytest.approx(middle[j] + direction * band[j], abs=0.06)


def test_an_effort_that_holds_nothing_has_no_band(truth):
    sim = runs.still_simulator()
    assert np.isnan(runs.bound(sim, POSES[0], np.zeros(7), 1, 1, 0.05))


def test_frames_of_table_one_match_the_arm_and_a_wrong_length_is_detected(truth, monkeypatch):
    errors = printed.frame_errors(truth, states=10)
    assert set(errors) == set(printed.BODIES)
    assert max(errors.values()) < 1e-14
    rows = printed.printed_frames

    def shifted(q):
        return rows(q + [0, 0, 1e-6, 0, 0, 0, 0])

    monkeypatch.setattr(printed, "printed_frames", shifted)
    errors = printed.frame_errors(truth, states=10)
    assert errors["3"] == pytest.approx(1e-6, rel=0.2)  # along one axis
    assert 0 < errors["3'"] < 0.6e-6
    assert errors["2"] < 1e-14


def test_compensation_torques_are_near_the_midpoint_and_farther_off_on_the_insertion():
    near, farther = printed.midpoint_claims(TABLE)
    assert near.ours == 14
    assert farther.ours == pytest.approx(1.86, abs=0.01)


def test_an_approach_with_a_final_oscillation_leaves_the_arm_inside_the_friction_band(model):
    sim = tr.Simulator(runs.ARM, runs.TRUTH, timestep=1.0 / runs.RATE, contacts=False)
    compensation, kp = GravityCompensation(model), np.array(printed.KP)
    sliding, shaken = (
        np.abs(runs.steady_error(TABLE.q[1], np.ones(3), compensation, sim=sim, shaken=shaken))
        for shaken in (False, True)
    )
    band = TABLE.half_band[1] / kp
    assert (sliding > 0.8 * band).all()
    assert (shaken < 0.6 * band).all()


# -- identify and compensate ------------------------------------------------------------------------------------------


def test_the_motion_of_the_loop_keeps_the_limits_and_has_the_stated_condition_number():
    stated = json.loads(Path(other_arms.__file__).with_name("excitation.json").read_text())
    mechanism, motion = tr.load_mechanism(runs.ARM), other_arms.excitation()
    arm = mechanism.arm
    setpoints = motion(np.linspace(0.0, motion.duration, 1000))
    assert ((setpoints.q > arm.lower) & (setpoints.q < arm.upper)).all()
    assert (np.abs(setpoints.dq) <= [joint.velocity for joint in arm.joints]).all()
    criterion = Criterion(mechanism, arm.excitation.redundant_links)
    states = sampled(motion, len(motion.a) * SAMPLES + 1)
    assert len(criterion) == stated["parameters"]
    assert criterion.condition_number(*states) == pytest.approx(stated["condition_number"], rel=1e-3)


def test_the_columns_are_those_of_table_one():
    names, one = table_one().mechanism().parameter_names, read("identification_zhou2025")
    drives = one["drives"]
    assert {name.split(".")[0] for name in names if name.endswith(".m")} == one["links"].keys()
    assert set(one["links"].values()) == {"1", "2", "2''", "2''''", "3"}
    assert {drives[n.split(".")[0]]["frames"] for n in names if n.endswith(".Im")} == {"4", "5", "M6", "M7"}
    assert [n for n in names if n.endswith(".K")] == ["roll.K"]
    assert sum(n.endswith(".Fc") for n in names) == len(drives)


def test_the_identified_model_differs_in_structure_from_the_simulated_arm(truth):
    arm, columns = unlike(0), table_one().template
    assert [drive.name for drive in arm.drives if drive.hysteresis] == ["yaw", "pitch", "insertion"]
    assert not any(drive.hysteresis for drive in columns.drives)
    assert {"roll", "wrist_pitch"} <= arm.inertias.keys() - columns.inertias.keys()
    assert abs(arm.inertias["end"].mass / truth.parameters.inertias["end"].mass - 1.0) > 0.02
    assert min(np.linalg.eigvalsh(pseudo_inertia(barycentric(body)))[0] for body in arm.inertias.values()) > 0


def test_the_band_of_static_friction_counts_friction_with_memory(truth):
    q = POSES[2]
    other = tr.Mechanism(truth.arm, replace(truth.parameters, drives=unlike(0).drives))
    np.testing.assert_allclose(runs.static_band(other, q), runs.static_band(truth, q), rtol=1e-12)


def test_the_error_of_the_identified_compensation_is_below_friction():
    parameters = unlike(0)
    sim = tr.Simulator(runs.ARM, parameters, timestep=1.0 / runs.RATE, contacts=False)
    recording = other_arms.noisy(other_arms.record(sim))
    own, printed = (identify(recording, runs.ARM, recipe=r, cross_validate=False) for r in (None, table_one()))
    assert (other_arms.holding_error(parameters, own.parameters).max(0) < [0.8, 0.15, 0.2]).all()
    assert other_arms.holding_error(parameters, printed.parameters)[:, 0].max() > 1.4  # friction attributed to gravity


def test_a_wrong_model_uses_part_of_the_friction_and_no_model_exceeds_it(model):
    rows = {row.name: row for row in sensitivity(model, poses=300)}
    assert rows["links 10 % too light"].held > 0.9
    assert rows["no compensation"].held < 0.1
    assert rows["instrument +100 g"].used[:, 2].max() == pytest.approx(0.1 * 9.81 / 1.57, rel=0.15)
