"""Arms from URDF files, against Pinocchio's own reader of URDF and MuJoCo's engine."""

import numpy as np
import pinocchio as pin
import pytest

import trocar as tr
from tests.support.repository import ROOT
from trocar.arms.urdf import load_urdf
from trocar.errors import TrocarError

MODELS = ROOT / "models"
LINK = """<link name="{0}"><inertial><origin xyz="{1}" rpy="{2}"/><mass value="{3}"/>
<inertia ixx="0.011" ixy="0.001" ixz="-0.0005" iyy="0.012" iyz="0.0007" izz="0.009"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}" rpy="{5}"/>
<axis xyz="{6}"/><limit lower="-1" upper="1" effort="20" velocity="2"/><dynamics damping="0.1" friction="0.2"/>{7}
</joint>"""
PARTS = [
    '<link name="base"/>',
    LINK.format("a", "0.01 0.02 0.03", "0.1 0.2 0.3", 1.2),
    LINK.format("b", "0.1 0 0.02", "0 0.5 0", 0.8),
    LINK.format("flange", "0 0.01 0", "0.4 0 0", 0.3),
    LINK.format("c", "0 0 0.1", "0 0 0", 0.4),
    '<link name="tool"/>',
    JOINT.format("j1", "revolute", "base", "a", "0 0 0.3", "0 0 0.2", "0 0 1", ""),
    JOINT.format("j2", "revolute", "a", "b", "0.1 0 0.1", "0.3 0 0", "0 -1 0", ""),
    JOINT.format("weld", "fixed", "b", "flange", "0.3 0 0", "0.2 -0.3 0.4", "1 0 0", ""),
    JOINT.format("j3", "prismatic", "flange", "c", "0 0.05 0", "0 1 0", "0.6 0 0.8", ""),
    JOINT.format("end", "fixed", "c", "tool", "0 0 0.2", "0 0 1", "1 0 0", ""),
]
MIMIC = [
    LINK.format("d", "0 0 0.05", "0 0 0", 0.2),
    JOINT.format(
        "j4", "revolute", "c", "d", "0 0 0.1", "0.1 0 0", "1 1 0", '<mimic joint="j2" multiplier="-0.5" offset="0.3"/>'
    ),
]


def write(tmp_path, parts):
    path = tmp_path / "own.urdf"
    path.write_text(f'<robot name="own">{"".join(parts)}</robot>')
    return path


def test_the_equations_of_a_urdf_file_are_those_of_pinocchios_reader(tmp_path):
    path = write(tmp_path, PARTS)
    arm, parameters = load_urdf(path)
    mech, model = tr.load_mechanism(arm, parameters), pin.buildModelFromUrdf(str(path))
    data, frame = model.createData(), model.getFrameId("tool")
    assert arm.joint_names == ("j1", "j2", "j3")
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, dq, ddq = rng.uniform(-1, 1, (3, 3))
        np.testing.assert_allclose(mech.inverse_dynamics(q, dq, ddq), pin.rnea(model, data, q, dq, ddq), atol=1e-12)
        pin.framesForwardKinematics(model, data, q)
        np.testing.assert_allclose(mech.forward_kinematics(q), data.oMf[frame].homogeneous, atol=1e-12)
    np.testing.assert_allclose(mech.friction([0.1] * 3, [1.0, -1.0, 2.0]), [0.3, -0.3, 0.4], atol=1e-12)


def test_a_joint_that_mimics_another_is_coupled_to_it(tmp_path):
    path = write(tmp_path, [*PARTS, *MIMIC])
    arm, parameters = load_urdf(path, tip="tool")
    mech, model = tr.load_mechanism(arm, parameters), pin.buildModelFromUrdf(str(path))
    E = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, -0.5, 0]])
    q, dq, ddq = np.random.default_rng(0).uniform(-1, 1, (3, 3))
    whole = pin.rnea(model, model.createData(), E @ q + [0, 0, 0, 0.3], E @ dq, E @ ddq)
    np.testing.assert_allclose(mech.inverse_dynamics(q, dq, ddq), E.T @ whole, atol=1e-12)
    sim = tr.Simulator(arm, parameters, friction=False, limits=False)
    sim.reset(q, dq)
    sim.step(np.zeros(3))
    expected = mech.forward_dynamics(q, dq, np.zeros(3))
    np.testing.assert_allclose(sim.ddq, expected, atol=2e-3 * np.abs(expected).max())


def test_an_exported_arm_is_read_back():
    """Its closed chain has mimic joints in URDF, so positions and weights are those of the arm itself."""
    ecm = tr.load_mechanism("ECM")
    arm, parameters = load_urdf(MODELS / "ecm" / "ecm.urdf", tip="tip_link")
    read = tr.load_mechanism(arm, parameters, gravity=ecm.gravity_vector)
    q = np.random.default_rng(0).uniform(ecm.arm.lower, ecm.arm.upper, (5, 4))
    np.testing.assert_allclose(read.forward_kinematics(q), ecm.forward_kinematics(q), atol=1e-6)
    np.testing.assert_allclose(read.gravity(q), ecm.gravity(q), atol=1e-4)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("<robot/>", "no link"),
        ("<sdf/>", "expected <robot>"),
        ("<robot", "not a URDF file"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><robot/>', "entities are not allowed"),
        ('<robot><link name="a"/><link name="b"/></robot>', "one link without a parent"),
        ('<robot><link name="a"/><joint name="j" type="ball"/></robot>', "type 'ball' is unknown"),
    ],
)
def test_bad_files_give_one_line(tmp_path, text, error):
    (tmp_path / "bad.urdf").write_text(text)
    with pytest.raises(TrocarError, match=error):
        load_urdf(tmp_path / "bad.urdf")
