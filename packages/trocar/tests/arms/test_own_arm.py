"""A custom robot: an Arm and its Parameters are accepted wherever the name of an arm is."""

from dataclasses import replace

import numpy as np
import pytest

import trocar as tr
from tests.support.finite_differences import jacobian
from trocar.appearance.kinematic_model import kinematic_arm
from trocar.arms import Arm, Joint, Motors, closure, prismatic, revolute, shift
from trocar.arms.parameters import Drive, Inertia, Parameters, to_toml
from trocar.identification.excitation.limits import excitation_limits
from trocar.mechanics import Workspace, singular_sets, singularity
from trocar.simulation.export import model_files
from trocar.simulation.modelling.arm_model import _check_one_branch
from trocar.spatial import mdh


def joint(name, kind="revolute", lower=-1.0, upper=1.0):
    return Joint(name=name, kind=kind, lower=lower, upper=upper, effort=5.0, velocity=1.0, acceleration=5.0)


def own_arm(**changes):
    """A yaw axis, a parallelogram that turns a forearm, and a slide: no arm of the package has this table."""
    T = shift(z=0.1) @ mdh(alpha=np.pi / 2)
    bodies = (
        revolute("turret", None, shift(z=0.3), {"yaw": 1.0}),
        revolute("crank", "turret", T @ shift(x=-0.1), {"pitch": 1.0}),
        revolute("rod", "crank", shift(y=0.05), {"pitch": -1.0}),
        revolute("pitch", "turret", T, {"pitch": 1.0}),
        prismatic("slide", "pitch", mdh(alpha=np.pi / 2, a=0.04), {"slide": 1.0}),
    )
    facts = {
        "name": "Own",
        "joints": (joint("yaw"), joint("pitch"), joint("slide", "prismatic", 0.05, 0.3)),
        "bodies": bodies,
        "tip_body": "slide",
        "T_body_tip": shift(z=0.1),
        "loops": (closure("loop", bodies, "rod", (0.1, 0.0, 0.0), "pitch"),),
        "driven": {"yaw": "turret", "pitch": "crank"},
    }
    return Arm(**(facts | changes))


def inertia(mass, *com):
    return Inertia(mass=mass, com=np.array(com), I=mass * np.diag([1e-3, 1.2e-3, 0.9e-3]))


def own_parameters(**changes):
    inertias = {
        "turret": inertia(1.0, 0.0, 0.01, 0.05),
        "rod": inertia(0.1, 0.05, 0.0, 0.0),
        "pitch": inertia(0.5, 0.02, 0.03, 0.0),
        "slide": inertia(0.3, 0.0, 0.01, 0.05),
    }
    drives = tuple(
        Drive(name=name, motors={f"motor_{name}": 1.0}, Im=0.01, Fv=0.1, Fc=0.2, terms=("Im", "Fv", "Fc"))
        for name in ("yaw", "pitch", "slide")
    )
    return Parameters(**({"arm": "Own", "inertias": inertias, "drives": drives} | changes))


@pytest.fixture
def mech():
    return tr.load_mechanism(own_arm(), own_parameters())


def states(mech, count=50):
    return np.random.default_rng(0).uniform(mech.arm.lower, mech.arm.upper, (count, mech.n))


def test_defaults_are_filled_in():
    arm = own_arm()
    assert [body.name for body in arm.serial] == ["turret", "pitch", "slide"]
    assert arm.driven == {"yaw": "turret", "pitch": "crank", "slide": "slide"}
    assert arm.home == (0.0, 0.0, 0.05)
    assert arm.tip_joints == 3
    assert arm.structure is None
    np.testing.assert_array_equal(arm.motors.effort, [5.0, 5.0, 5.0])


def test_the_serial_table_and_the_closed_chain_have_one_tip(mech):
    q = states(mech)
    np.testing.assert_allclose(mech.forward_kinematics(q), mech.pose(q), atol=1e-15)
    assert mech.loop_residual(q).max() < 1e-15
    for state in q[:5]:
        J = jacobian(lambda x: mech.forward_kinematics(x)[:3, 3], state)
        np.testing.assert_allclose(mech.jacobian(state)[:3], J, atol=1e-8)


def test_numeric_inverse_kinematics_needs_no_seed(mech):
    q = states(mech)
    np.testing.assert_allclose(mech.inverse_kinematics(mech.forward_kinematics(q)), q, atol=1e-7)
    found = mech.inverse_kinematics_all(mech.forward_kinematics(q[0]))
    assert np.abs(found[0] - q[0]).max() < 1e-7


def test_a_pose_out_of_reach_is_unreachable(mech):
    T = np.tile(mech.forward_kinematics(mech.arm.home), (2, 1, 1))
    T[1, :3, 3] += 1.0
    with pytest.raises(tr.Unreachable, match=r"index 1 .* stopped .* m short") as caught:
        mech.inverse_kinematics(T)
    assert caught.value.index == (1,)


def test_inverse_kinematics_of_a_wrist_that_has_no_closed_form():
    psm = tr.load_mechanism("PSM")
    placement = np.array(psm.arm.serial[5].placement)
    placement[1, 3] = 0.004
    serial = (*psm.arm.serial[:5], replace(psm.arm.serial[5], placement=placement))
    other = tr.Mechanism(replace(psm.arm, serial=serial))
    assert other.arm.structure is None
    q = np.random.default_rng(0).uniform(0.7 * psm.arm.lower, 0.7 * psm.arm.upper, (20, 7))
    q[:, 2] = 0.06 + 0.8 * q[:, 2]
    T = other.forward_kinematics(q)
    np.testing.assert_allclose(other.forward_kinematics(other.inverse_kinematics(T)), T, atol=1e-8)


@pytest.mark.parametrize("name", ["ECM", "MTML", "PSM"])
def test_searching_for_a_point_agrees_with_the_closed_form(name):
    closed = tr.load_mechanism(name)
    barely = np.array(closed.arm.T_last_tip)
    barely[0, 3] += 1e-9  # off the last axis, so there is no closed form
    searched = Workspace(tr.Mechanism(replace(closed.arm, T_last_tip=barely)))
    low, high = Workspace(closed).box
    points = np.random.default_rng(0).uniform(low, high, (200, 3))
    verdict = Workspace(closed).contains(points)
    assert 20 < verdict.sum() < 190
    assert (searched.contains(points) == verdict).mean() > 0.98  # a point next to the boundary may differ


def test_workspace_and_singularities_of_an_arm_without_closed_form(mech):
    workspace = Workspace(mech)
    tips = workspace.cloud(64).points
    assert workspace.contains(tips).all()
    assert not workspace.contains(tips + [1.0, 0.0, 0.0]).any()
    assert workspace.contains_pose(mech.forward_kinematics(states(mech, 5))).all()
    low, high = workspace.box
    assert ((tips > low) & (tips < high)).all()
    assert 0 < len(workspace.cloud(64, "random", "volume").q) < 64
    assert singularity(mech, states(mech, 5)).measure == "det J'J"
    for refused in (lambda: singular_sets(mech), lambda: workspace.wrist_volume, lambda: workspace.dexterity(tips)):
        with pytest.raises(tr.TrocarError):
            refused()


def test_both_engines_give_the_same_acceleration(mech):
    sim = tr.Simulator(mech.arm, mech.parameters, friction=False, limits=False)
    rng = np.random.default_rng(1)
    for start in states(mech, 10):
        rates, tau = rng.normal(size=(2, 3))
        sim.reset(start, rates)
        for _ in range(30):  # constraints are soft for the first few steps under a new load
            q, dq = sim.q, sim.dq
            sim.step(tau)
        np.testing.assert_allclose(mech.inverse_dynamics(q, dq, sim.ddq), tau, atol=2e-5)


def test_a_parameter_file_of_a_custom_arm_reads_back(mech, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(to_toml(mech.parameters), encoding="utf-8")
    read = tr.load_mechanism(mech.arm, path)
    np.testing.assert_array_equal(read.parameter_vector, mech.parameter_vector)


def test_a_custom_arm_can_be_drawn_exported_and_excited(mech):
    spec, qpos = kinematic_arm(mech.arm)
    assert spec.compile().nq == len(qpos) == 5
    files = model_files(tr.Simulator(mech.arm, mech.parameters))
    assert {"own.xml", "own.urdf", "own.srdf", "model.sdf", "own.rviz"} <= set(files)
    assert b"given in Python" in files["README.md"]
    limits = excitation_limits(mech.arm)
    np.testing.assert_allclose(limits.upper, [0.9, 0.9, 0.2875])


def test_limit_errors_have_the_same_format(mech):
    sim = tr.Simulator(mech.arm, mech.parameters)
    with pytest.raises(tr.TrocarError, match=r"joint 3 \(slide\) violates 0\.05 <= 0\.4 <= 0\.3 m$"):
        sim.reset([0.0, 0.0, 0.4])
    with pytest.raises(tr.TrocarError, match=r"^via point 1: joint 1 \(yaw\) violates -1 <= 2 <= 1 rad$"):
        mech.arm.check_within_limits(np.array([2.0, 0.0, 0.1]), "via point 1")
    mech.arm.check_within_limits(mech.arm.upper + 9e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tr.load_mechanism(own_arm(), "wang2019"), "parameter set of Own 'wang2019' is unknown"),
        (lambda: tr.load_mechanism(own_arm(), own_parameters(arm="PSM")), "is for PSM, not for Own"),
        (lambda: tr.load_mechanism(own_arm(), own_parameters(geometry="x")), "geometry 'x', the arm has 'own'"),
        (lambda: tr.load_mechanism(own_arm(), instrument="400006"), "with its instrument; omit instrument"),
        (lambda: tr.load_mechanism("PSM", own_parameters()), "is for Own, not for PSM"),
        (lambda: tr.Simulator(own_arm()), "Own has no dynamic parameters"),
        (lambda: tr.Simulator(own_arm(), own_parameters(), compliance=tr.Compliance()), "no drive compliance is known"),
        (lambda: own_arm(driven={"pitch": "rod", "yaw": "rod"}), "'yaw' of Own does not move 'rod'"),
        (lambda: own_arm(loops=()), "3 joints but its mechanism 5 degrees of freedom"),
        (lambda: kinematic_arm(own_arm(look="shiny")), "look of Own 'shiny' is unknown"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(tr.TrocarError, match=message):
        call()


def test_a_rotor_over_two_branches_is_rejected():
    """MuJoCo's mass matrix has no entry for crank and slide, which hang side by side."""
    coupling = np.eye(3)
    coupling[2, 1] = 0.1
    arm = own_arm()
    with pytest.raises(tr.TrocarError, match="'crank' and 'slide', which are on different branches"):
        tr.Simulator(replace(arm, motors=Motors.of(arm.joints, coupling)), own_parameters())


def test_a_rotor_that_moves_nothing_is_rejected():
    arm = own_arm()
    with pytest.raises(tr.TrocarError, match="the rotor of drive 'idle' moves no body of Own"):
        _check_one_branch(arm, "idle", {})
