"""A dvrk_model checkout replaces the visible shapes of the bodies that it has meshes for, and nothing else."""

import mujoco
import numpy as np
import pytest

import trocar as tr
from tests.support.dvrk_model import XACRO, write_checkout
from trocar.appearance.kinematic_model import kinematic_arm


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one tetrahedron, 1 cm a side, corner at its origin."""
    monkeypatch.setenv("TROCAR_DVRK_MODEL", str(write_checkout(tmp_path)))
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


def test_an_angle_divided_by_zero_is_refused(checkout):
    for file in checkout.rglob("*.xacro"):
        file.write_text(file.read_text().replace("PI/2", "PI/0").replace("PI_2", "PI/0"))
    with pytest.raises(tr.TrocarError, match=r"cannot use the number .*PI/0"):
        kinematic_arm(tr.load_arm("PSM"), np.zeros(7))


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


BOMB = """<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a0 "ha">{entities}]><robot>&a60;</robot>"""


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (BOMB.format(entities="".join(f'<!ENTITY a{k} "&a{k - 1};&a{k - 1};">' for k in range(1, 61))), "is not XML"),
        (XACRO.replace('scale="2 2 2"', 'scale="1e300 nan 2"'), "cannot use the number '1e300'"),
        (
            XACRO.replace(
                "</xacro:macro>", "<joint><parent link='a'/><child link='b'/></joint>" * 2000 + "</xacro:macro>"
            ),
            "has 2002 joints",
        ),
        ('<?xml version="1.0" encoding="no-such"?><robot/>', "is not XML"),
    ],
)
def test_a_description_that_is_a_bomb_is_one_line(checkout, description, message):
    (checkout / "urdf/Classic/PSM_base.urdf.xacro").write_text(description)
    with pytest.raises(tr.TrocarError, match=message) as caught:
        kinematic_arm(tr.load_arm("PSM"), np.zeros(7))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", bytes(84), bytes(80) + b"\xff\xff\xff\xff" + bytes(500), b"solid x"])
def test_a_mesh_that_mujoco_cannot_use_is_one_line(checkout, content):
    (checkout / "meshes/arms/Classic/PSM/PSM_yaw.stl").write_bytes(content)
    with pytest.raises(tr.TrocarError, match=r"the mesh PSM_yaw\.stl cannot be used") as caught:
        kinematic_arm(tr.load_arm("PSM"), np.zeros(7))
    assert "\n" not in str(caught.value)
