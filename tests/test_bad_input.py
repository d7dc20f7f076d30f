"""Wrong input raises one clear error that names what was given and what is allowed."""

import re

import numpy as np
import pytest

import trocar as tr
from trocar import control
from trocar.batch import SceneBatch
from trocar.errors import TrocarError, UnknownName, check_known
from trocar.simulation import Box, Scene, SceneArm, Seam, SoftSlab, Solid

HOME = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def psm():
    return tr.load_mechanism("PSM")


@pytest.fixture
def T(psm):
    return psm.forward_kinematics(HOME)


def test_errors_of_trocar_are_value_errors():
    assert issubclass(TrocarError, ValueError)
    assert issubclass(tr.Unreachable, TrocarError)
    assert issubclass(UnknownName, TrocarError)


def test_the_first_unknown_of_several_names_is_reported_with_the_known_ones():
    check_known("joint", ("yaw", "pitch"), "pitch", "yaw")
    check_known("joint", ("yaw", "pitch"))
    with pytest.raises(
        UnknownName, match=r"^joint 'rol' is unknown\. Did you mean 'roll'\? Known: yaw, roll\."
    ) as caught:
        check_known("joint", ("yaw", "roll"), "yaw", "rol", "jaw")
    assert caught.value.name == "rol"


# Joint values


QUERIES = {
    "forward_kinematics": lambda mech, q: mech.forward_kinematics(q),
    "pose": lambda mech, q: mech.pose(q, "wrist_yaw"),
    "poses": lambda mech, q: mech.poses(q),
    "jacobian": lambda mech, q: mech.jacobian(q),
    "jacobian_dot": lambda mech, q: mech.jacobian_dot(q, np.zeros(7)),
    "tree_configuration": lambda mech, q: mech.tree_configuration(q),
    "loop_residual": lambda mech, q: mech.loop_residual(q),
    "rcm_residual": lambda mech, q: mech.rcm_residual(q),
}


@pytest.fixture(params=QUERIES)
def query(request, psm):
    return lambda q: QUERIES[request.param](psm, q)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_joint_that_is_not_finite_is_named(query, value):
    q = HOME.copy()
    q[4] = value
    with pytest.raises(TrocarError, match=rf"^q is {value} at joint 5 \(wrist_pitch\)"):
        query(q)


def test_a_joint_that_is_not_finite_is_named_with_its_row(query):
    q = np.tile(HOME, (2, 3, 1))
    q[1, 2, 0] = np.nan
    with pytest.raises(TrocarError, match=r"^q of row \(1, 2\) is nan at joint 1 \(yaw\)"):
        query(q)
    with pytest.raises(TrocarError, match=r"^q of row 5 is nan at joint 1 \(yaw\)"):
        query(q.reshape(6, 7))


@pytest.mark.parametrize("q", [np.zeros(6), np.zeros(8), np.zeros((7, 2)), 0.0, []])
def test_a_wrong_number_of_joints_is_counted_and_the_joints_are_listed(query, q):
    with pytest.raises(TrocarError, match=r"7 values \(yaw, pitch, .*, jaw\), got shape \(.*\)"):
        query(q)


@pytest.mark.parametrize("q", ["home", ["a"] * 7, None, [[0.0] * 7, [0.0] * 6], {"yaw": 0.0}])
def test_joints_that_are_not_numbers_are_refused(query, q):
    with pytest.raises(TrocarError, match=r"^q "):
        query(q)


DYNAMICS = {
    "mass_matrix": lambda mech, q: mech.mass_matrix(q),
    "gravity": lambda mech, q: mech.gravity(q),
    "terms at q": lambda mech, q: mech.terms(q, np.zeros(7)),
}


@pytest.mark.parametrize("query", DYNAMICS.values(), ids=DYNAMICS)
@pytest.mark.parametrize("q", [["a"] * 7, [True] * 7, HOME.astype(bool), HOME + 0j, HOME.astype(object), None])
def test_the_equations_refuse_joints_that_are_not_numbers(psm, query, q):
    with pytest.raises(TrocarError, match=r"^q must be an array of numbers"):
        query(psm, q)


@pytest.mark.parametrize("dq", [["a"] * 7, [True] * 7, HOME + 0j])
def test_the_equations_refuse_rates_that_are_not_numbers(psm, dq):
    with pytest.raises(TrocarError, match=r"^dq must be an array of numbers"):
        psm.terms(HOME, dq)


@pytest.mark.parametrize("kind", [list, tuple, np.float32, ">f8"])
def test_the_equations_take_numbers_of_any_kind(psm, kind):
    values = HOME.astype(np.float32)  # the same in each of them
    q = kind(values) if kind in (list, tuple) else values.astype(kind)
    expected = psm.terms(values.astype(float), np.zeros(7))
    for got, wanted in zip(psm.terms(q, np.zeros(7)), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(psm.gravity(q), expected[2])


@pytest.mark.parametrize("timestep", ["x", "0.001", None, True, 0.0, -1e-3, 1e-300, np.nan, np.inf, 1 + 0j])
def test_a_timestep_is_a_small_positive_number(timestep):
    with pytest.raises(TrocarError, match=r"^timestep must be from 1e-09 to 0.02 s, got "):
        tr.Simulator("PSM", timestep=timestep)


@pytest.mark.parametrize("endoscope", [[], {}, True, np.zeros(2)])
def test_an_endoscope_is_a_type_or_a_mass(endoscope):
    with pytest.raises(TrocarError, match=r"^endoscope must be one of .* or a positive mass"):
        tr.Simulator("ECM", endoscope=endoscope)


def test_a_seam_joins_two_tissues():
    with pytest.raises(TrocarError, match=r"^wound joins two tissues, got left twice"):
        Seam("wound", first="left", second="left")


def test_fields_of_a_batch_are_a_dictionary():
    scene = Scene({"PSM": SceneArm(arm="PSM", base=np.eye(4))})
    with pytest.raises(TrocarError, match=r"^fields must be a dictionary"):
        SceneBatch(scene, 2, fields=5)


@pytest.mark.parametrize("source", [None, 3, b"psm"])
def test_a_scene_is_named_by_text_or_path(source):
    with pytest.raises(UnknownName, match=r"^scene .* is unknown.* Known: psm, "):
        tr.load_scene(source)


def test_an_error_in_the_rates_names_them_as_dq(psm):
    with pytest.raises(TrocarError, match=r"^dq of PSM has 7 values"):
        psm.jacobian_dot(HOME, np.zeros(6))
    with pytest.raises(TrocarError, match=r"^dq is nan at joint 1 \(yaw\)"):
        psm.jacobian_dot(HOME, np.full(7, np.nan))


def test_batches_of_states_and_rates_that_do_not_fit_are_refused(psm):
    with pytest.raises(TrocarError, match=r"\(2, 7\).*\(3, 7\)"):
        psm.jacobian_dot(np.tile(HOME, (2, 1)), np.zeros((3, 7)))


@pytest.mark.parametrize("count", [1, 4])
def test_a_motion_has_as_many_rates_as_positions(psm, count):
    """One row for all would be the steady state of friction with memory, not its state along the motion."""
    q = np.tile(HOME, (5, 1))
    for motion in ((q[:count], q, q), (q, q[:count], q), (q, q, q[:count]), (HOME, q, q), (HOME, HOME, HOME)):
        with pytest.raises(TrocarError, match=r"^q, dq and ddq of a motion must have the same shape \(T, 7\), got q "):
            psm.regressor_along(*motion)


@pytest.mark.parametrize("name", ["ECM", "ECM_Si"])
def test_an_ecm_takes_four_joints(name):
    with pytest.raises(
        TrocarError, match=rf"q of {name} has 4 values \(yaw, pitch, insertion, roll\), got shape \(7,\)"
    ):
        tr.load_mechanism(name).forward_kinematics(HOME)


# Names


@pytest.mark.parametrize(
    ("call", "given", "meant", "also_known"),
    [
        (lambda: tr.load_mechanism("PSMM"), "PSMM", "PSM", "MTMR"),
        (lambda: tr.load_mechanism("psm_si"), "psm_si", "PSM_Si", "ECM"),
        (lambda: tr.load_arm("ecm"), "ecm", "ECM", "PSM"),
        (lambda: tr.load_mechanism("PSM", "wang2020"), "wang2020", "wang2019", "gondokaryono2019"),
        (lambda: tr.load_mechanism("PSM", parameters="Gondokaryono"), "Gondokaryono", "gondokaryono2019", "wang2019"),
        (lambda: tr.load_arm("PSM", geometry="wang"), "wang", "wang2019", "gondokaryono2019"),
        (lambda: tr.load_mechanism("PSM", instrument="400006x"), "400006x", "400006", "400093"),
        (lambda: tr.load_mechanism("ECM", instrument="strait"), "strait", "straight", "down"),
        (lambda: tr.load_mechanism("PSM").pose(HOME, "wristyaw"), "wristyaw", "wrist_yaw", "rcm"),
        (lambda: tr.load_mechanism("PSM").jacobian(HOME, "Tip"), "Tip", "tip", "base"),
        (lambda: tr.load_mechanism("PSM").jacobian(HOME, variant="bodies"), "bodies", "body", "spatial"),
        (lambda: tr.load_mechanism("PSM").jacobian_dot(HOME, HOME, variant="BASE"), "BASE", "base", "spatial"),
        (lambda: tr.load_arm("PSM").body("counter"), "counter", "counterweight", "insertion"),
    ],
)
def test_an_unknown_name_gets_a_suggestion_and_the_list(call, given, meant, also_known):
    with pytest.raises(UnknownName) as caught:
        call()
    message = str(caught.value)
    assert f"'{given}' is unknown. Did you mean '{meant}'? Known: " in message
    assert also_known in message.split("Known: ")[1]


@pytest.mark.parametrize("name", [None, 3, ""])
def test_an_unknown_name_without_a_suggestion_still_lists_the_arms(name):
    with pytest.raises(UnknownName, match="Known: PSM, PSM_Si, ECM, ECM_Si, MTML, MTMR"):
        tr.load_mechanism(name)


def test_an_empty_instrument_is_not_the_default_one():
    with pytest.raises(UnknownName, match="instrument of PSM ''"):
        tr.load_mechanism("PSM", instrument="")


def test_an_instrument_of_another_arm_is_refused():
    with pytest.raises(TrocarError, match=r"Classic instruments \(40xxxx\), for PSM; PSM_Si takes da Vinci S and Si"):
        tr.load_mechanism("PSM_Si", instrument="400006")
    with pytest.raises(TrocarError, match="straight is one of the endoscopes, for ECM and ECM_Si; PSM takes"):
        tr.load_mechanism("PSM", instrument="straight")


def test_an_instrument_may_be_named_by_number_or_by_name():
    for key in (400006, "400006", "LARGE_NEEDLE_DRIVER_400006"):
        assert tr.load_mechanism("PSM", instrument=key).arm.instrument == "LARGE_NEEDLE_DRIVER_400006"


@pytest.mark.parametrize("name", ["MTML", "MTMR"])
def test_a_master_refuses_an_instrument(name):
    with pytest.raises(TrocarError, match=f"{name} carries no instrument, got instrument='400006'; omit it"):
        tr.load_mechanism(name, instrument="400006")


@pytest.mark.parametrize("name", ["PSM_Si", "ECM", "ECM_Si", "MTML", "MTMR"])
def test_an_arm_without_a_counterweight_refuses_to_omit_it(name):
    with pytest.raises(TrocarError, match=f"{name} has no counterweight; omit counterweight"):
        tr.load_mechanism(name, counterweight=False)


def test_frames_fixed_to_the_base_have_no_jacobian(psm):
    for frame in ("base", "rcm"):
        with pytest.raises(TrocarError, match=f"frame '{frame}' is fixed to the base"):
            psm.jacobian(HOME, frame)


def test_a_master_has_no_rcm_frame():
    with pytest.raises(UnknownName, match="frame of MTML 'rcm' is unknown"):
        tr.load_mechanism("MTML").pose(np.zeros(7), "rcm")


# Gravity and mounting


def test_gravity_and_mounting_together_are_refused():
    with pytest.raises(TrocarError, match="not both"):
        tr.load_mechanism("PSM", gravity=(0, 0, -9.81), mounting=0.0)


@pytest.mark.parametrize("gravity", [(0, -9.81), (0, 0, np.nan), 9.81, "down", [[0, 0, -9.81]]])
def test_gravity_must_be_three_finite_numbers(gravity):
    with pytest.raises(TrocarError, match="gravity must be three finite numbers"):
        tr.load_mechanism("PSM", gravity=gravity)


@pytest.mark.parametrize("mounting", [np.nan, np.inf, "level", (0.0, 0.1)])
def test_mounting_must_be_a_finite_pitch(mounting):
    with pytest.raises(TrocarError, match="mounting must be a finite pitch"):
        tr.load_mechanism("PSM", mounting=mounting)


# Poses


SOLVERS = {
    "inverse_kinematics": lambda mech, T: mech.inverse_kinematics(T, HOME),
    "inverse_kinematics_all": lambda mech, T: mech.inverse_kinematics_all(T, HOME),
    "inverse_kinematics_numeric": lambda mech, T: mech.inverse_kinematics_numeric(T, HOME),
}


@pytest.fixture(params=SOLVERS)
def solve(request, psm):
    return lambda T: SOLVERS[request.param](psm, T)


def test_a_scaled_rotation_is_refused(solve, T):
    T[:3, :3] *= 1.01
    with pytest.raises(TrocarError, match=r"not a rotation: R R' differs from 1 by 0\.02 \(allowed 1e-06\)"):
        solve(T)


def test_a_reflection_is_refused(solve, T):
    T[:3, 0] *= -1.0
    with pytest.raises(TrocarError, match=r"reflection \(det R = -1\)"):
        solve(T)


def test_a_transposed_pose_is_refused(solve, T):
    with pytest.raises(TrocarError, match="is it transposed"):
        solve(T.T)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (16,), (7,), ()])
def test_a_pose_of_another_shape_is_refused(solve, shape):
    with pytest.raises(TrocarError, match=r"shape \(\.\.\., 4, 4\), got \("):
        solve(np.zeros(shape))


@pytest.mark.parametrize("junk", ["tip", None, [["a"] * 4] * 4])
def test_a_pose_that_is_not_numbers_is_refused(solve, junk):
    with pytest.raises(TrocarError, match="a pose must"):
        solve(junk)


def test_a_nan_in_a_batch_of_poses_is_named(psm, T):
    batch = np.tile(T, (4, 1, 1))
    batch[2, 1, 3] = np.nan
    with pytest.raises(TrocarError, match="the pose at index 2 has a value that is NaN"):
        psm.inverse_kinematics(batch)


def test_all_branches_are_computed_for_one_pose_only(psm, T):
    with pytest.raises(TrocarError, match=r"takes one pose \(4, 4\), got shape \(2, 4, 4\)"):
        psm.inverse_kinematics_all(np.tile(T, (2, 1, 1)))


# Seeds

SEEDED = ("inverse_kinematics", "inverse_kinematics_all", "inverse_kinematics_numeric")


@pytest.mark.parametrize("method", SEEDED)
def test_a_seed_must_have_all_joints(psm, T, method):
    with pytest.raises(TrocarError, match=r"q_seed of PSM has 7 values .* got shape \(6,\)"):
        getattr(psm, method)(T, HOME[:6])


@pytest.mark.parametrize("method", SEEDED)
def test_a_seed_must_be_finite(psm, T, method):
    with pytest.raises(TrocarError, match=r"q_seed is nan at joint 1 \(yaw\)"):
        getattr(psm, method)(T, np.full(7, np.nan))


@pytest.mark.parametrize("method", SEEDED)
def test_more_seeds_than_poses_are_refused(psm, T, method):
    with pytest.raises(TrocarError, match=r"q_seed of shape \(3, 7\) does not fit"):
        getattr(psm, method)(T, np.tile(HOME, (3, 1)))


@pytest.mark.parametrize("method", ["inverse_kinematics", "inverse_kinematics_numeric"])
def test_a_batch_of_seeds_must_match_the_batch_of_poses(psm, T, method):
    with pytest.raises(TrocarError, match=r"q_seed of shape \(3, 7\) does not fit poses of shape \(2, 4, 4\)"):
        getattr(psm, method)(np.tile(T, (2, 1, 1)), np.tile(HOME, (3, 1)))


FAR = np.diag([1.0, -1.0, -1.0, 1.0])
FAR[2, 3] = 1e308
REFUSED = {
    "a pose far away": (lambda: tr.load_mechanism("PSM").inverse_kinematics(FAR), "the pose is more than 1e+09 m away"),
    "arms of a scene by kind": (lambda: tr.Scene({"a": "PSM"}), "the arm a of a scene must be a SceneArm"),
    "arms of a scene as a list": (lambda: tr.Scene(["PSM"]), "arms must be a dictionary of SceneArm"),
    "efforts of a scene": (lambda: tr.load_scene("psm").step(None), "tau must be a dictionary with the efforts of PSM"),
    "an added mass as text": (lambda: tr.load_mechanism("PSM", added_mass="x"), "added_mass must be finite"),
    "two added masses": (lambda: tr.load_mechanism("PSM", added_mass=[1, 2]), "added_mass must be finite"),
    "motor limits as numbers": (lambda: tr.Simulator("PSM", motor_limits=[1, 2]), "motor_limits must be True or False"),
    "a robot without arms": (lambda: tr.Robot("psm", arms=[]), "a robot needs at least one arm; the scene has PSM"),
    "a sleep of nan": (lambda: tr.Robot("psm").sleep(np.nan), "timeout must be a number"),
    "a run of text": (lambda: tr.Robot("psm").run("x"), "seconds must be a number"),
    "a callback": (lambda: tr.Robot("psm").bus.subscribe("PSM/measured_js", 2), "must be a function of one message"),
    "a stiffness as text": (lambda: control.CartesianImpedance(tr.load_mechanism("PSM"), "x", 1), "it holds text"),
    "a ragged stiffness": (
        lambda: control.CartesianImpedance(tr.load_mechanism("PSM"), [[1, 2], [3]], 1),
        "its rows differ in length",
    ),
    "a path without geometry": (lambda: control.CartesianPath(None, 1.0), "geometry must be a function of s"),
    "a step at no time": (lambda: control.step_to(np.zeros(7), np.ones(7), "x"), "t0 must be a number"),
    "a long name of an object": (lambda: Solid("x" * 300, Box((0, 0, 0), (0.01, 0.01, 0.01))), "1 to 60 printable"),
    "3000 objects": (
        lambda: tr.Scene({"PSM": SceneArm(arm="PSM")}, objects=[None] * 3000),
        "at most 1000 objects, got 3000",
    ),
    "a slab of 100 m": (lambda: SoftSlab("slab", (100, 100, 1)), "8.04e+10 nodes, at most 20000 are simulated"),
}


@pytest.mark.parametrize(("call", "reason"), REFUSED.values(), ids=REFUSED)
def test_wrong_arguments_are_one_line_errors(call, reason):
    with pytest.raises(TrocarError, match=re.escape(reason)):
        call()
