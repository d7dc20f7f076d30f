"""A dvrk_model checkout replaces the visible shapes of the bodies that it has meshes for, and nothing else."""

import struct

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.appearance.kinematic_model import kinematic_arm

XACRO = """<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="base" params="prefix parent_link xyz rpy">
    <link name="${{prefix}}RCM_link"/>
    <joint name="a" type="fixed"><parent link="${{prefix}}RCM_link"/><child link="${{prefix}}base_link"/>
      <origin rpy="${{rpy}}" xyz="${{xyz}}"/></joint>
    <joint name="b" type="revolute"><parent link="${{prefix}}base_link"/><child link="${{prefix}}yaw_link"/>
      <origin rpy="0 -${{PI_2}} ${{PI/2}}" xyz="0 -0.1 0"/></joint>
    <link name="${{prefix}}yaw_link"><visual><origin rpy="0 0 0" xyz="0 0 0.3"/><geometry>
      <mesh filename="package://dvrk_model/meshes/arms/Classic/PSM/PSM_yaw.{suffix}" scale="2 2 2"/>
    </geometry></visual></link>
    <link name="${{prefix}}pitch_2_link"><visual><geometry>
      <mesh filename="package://dvrk_model/meshes/absent.stl"/></geometry></visual></link>
  </xacro:macro>
  <xacro:macro name="other"><link name="yaw_link"><visual><geometry><mesh filename="x.stl"/></geometry></visual></link>
  </xacro:macro>
</robot>
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one tetrahedron, 1 cm a side, corner at its origin."""
    corners = 0.01 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    folder = tmp_path / "meshes/arms/Classic/PSM"
    folder.mkdir(parents=True)
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0) for face in faces)
    (folder / "PSM_yaw.stl").write_bytes(bytes(80) + struct.pack("<I", len(faces)) + triangles)
    (tmp_path / "urdf/Classic").mkdir(parents=True)
    (tmp_path / "urdf/Classic/PSM_base.urdf.xacro").write_text(XACRO.format(suffix="dae"))
    monkeypatch.setenv("TROCAR_DVRK_MODEL", str(tmp_path))
    return tmp_path


def visible(model, body):
    return np.flatnonzero((model.geom_bodyid == model.body(body).id) & (model.geom_group == 2))


def test_a_mesh_replaces_the_shapes_of_its_body_where_the_checkout_puts_it(checkout):
    spec, qpos = kinematic_arm(tr.load_arm("PSM"), np.zeros(7))
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    (g,) = visible(model, "yaw")
    m = model.geom_dataid[g]
    vertices = model.mesh_vert[model.mesh_vertadr[m] : model.mesh_vertadr[m] + model.mesh_vertnum[m]]
    corners = data.geom_xpos[g] + vertices @ data.geom_xmat[g].reshape(3, 3).T
    # x of the link is z of the base, y is -x, z is -y; twice 1 cm from (0, -0.1 - 0.3, 0)
    expected = np.array([[0, -0.4, 0], [0, -0.4, 0.02], [-0.02, -0.4, 0], [0, -0.42, 0]])
    assert np.abs(np.linalg.norm(corners[:, None] - expected, axis=-1)).min(axis=0).max() < 1e-7


def test_everything_else_is_as_without_a_checkout(checkout, monkeypatch):
    with_meshes = tr.Simulator("PSM")
    monkeypatch.delenv("TROCAR_DVRK_MODEL")
    without = tr.Simulator("PSM")
    drawn, plain = with_meshes.spec.copy().compile(), without.spec.copy().compile()
    assert len(visible(drawn, "back")) == len(visible(plain, "back")) > 1  # its mesh is absent
    assert len(visible(plain, "yaw")) > 1
    np.testing.assert_array_equal(drawn.body_mass, plain.body_mass)
    solid = [[m.geom_size[i] for i in np.flatnonzero(m.geom_group == 3)] for m in (drawn, plain)]
    np.testing.assert_array_equal(*solid)
    for sim in (with_meshes, without):
        sim.reset(sim.arm.home)
        for _ in range(20):
            sim.step(np.full(7, 0.01))
    np.testing.assert_array_equal(with_meshes.q, without.q)


def test_a_folder_that_is_not_a_checkout_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setenv("TROCAR_DVRK_MODEL", str(tmp_path))
    with pytest.raises(tr.TrocarError, match=r"has no urdf/Classic/ECM_base.*unset"):
        kinematic_arm(tr.load_arm("ECM"))


def test_a_checkout_without_readable_meshes_is_rejected(checkout):
    (checkout / "meshes/arms/Classic/PSM/PSM_yaw.stl").rename(checkout / "meshes/arms/Classic/PSM/PSM_yaw.dae")
    with pytest.raises(tr.TrocarError, match=r"no readable mesh of PSM .*PSM_yaw.dae"):
        tr.Simulator("PSM").spec  # noqa: B018, draws the shapes


def test_a_broken_description_is_named(checkout):
    (checkout / "urdf/Classic/PSM_base.urdf.xacro").write_text("<robot>")
    with pytest.raises(tr.TrocarError, match="is not XML"):
        tr.Simulator("PSM").spec  # noqa: B018, draws the shapes


def test_a_description_whose_entities_multiply_is_one_error(checkout):
    entities = "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(9))
    bomb = f'<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY e0 "{"x" * 1000}">{entities}]><robot>&e9;</robot>'
    (checkout / "urdf/Classic/PSM_base.urdf.xacro").write_text(bomb)
    with pytest.raises(tr.TrocarError, match="is not XML"):
        tr.Simulator("PSM").spec  # noqa: B018, draws the shapes
