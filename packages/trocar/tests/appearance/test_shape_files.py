"""The files of shapes: what tools/shapes generates, and how they adapt to other lengths."""

import io
import json
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import trocar as tr
from tools.shapes.carving import bar, block, hull, rounded_box, triangles
from tools.shapes.files import contents
from trocar.appearance.arm_shapes import drawing, joints_by_body
from trocar.appearance.sketch import FOLDER, shape_file, shape_files
from trocar.arms import load_arm
from trocar.arms.tables import Geometry


@pytest.fixture(scope="module")
def generated():
    return contents()


def test_every_file_is_small_and_none_is_left_over(generated):
    assert set(shape_files()) == set(generated)
    sizes = [path.stat().st_size for path in FOLDER.iterdir()]
    assert max(sizes) < 200e3
    assert sum(sizes) < 1e6


@pytest.mark.parametrize("name", shape_files())
def test_the_committed_files_are_those_that_the_tool_generates(generated, name):
    with np.load(io.BytesIO(generated[name])) as new, np.load(FOLDER / f"{name}.npz") as old:
        assert new.files == old.files
        assert json.loads(str(new["about"])) == json.loads(str(old["about"]))
        np.testing.assert_array_equal(new["faces"], old["faces"])
        np.testing.assert_allclose(new["vertices"], old["vertices"], rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(new["normals"], old["normals"], rtol=0.0, atol=1e-6)


def test_normals_follow_the_faces_at_sharp_edges_and_are_smooth_at_blunt_ones():
    cuboid = triangles(block((0, 1), (0, 2), (0, 3)))
    assert len(cuboid.vertices) == 24  # a corner for each of its three sides
    np.testing.assert_allclose(np.sort(np.abs(cuboid.normals), axis=1), np.tile([0.0, 0.0, 1.0], (24, 1)), atol=1e-12)
    rod = triangles(bar([0, 0, 0], [0, 0, 1], 0.1, 24))
    sides = np.abs(rod.normals[:, 2]) < 0.5
    np.testing.assert_allclose(rod.normals[sides, :2], rod.vertices[sides, :2] / 0.1, atol=1e-6)  # radial


def test_a_carved_solid_is_closed_and_has_the_right_volume():
    solid = hull(rounded_box((0, 1), (0, 1), (0, 1), 0.05)) - bar([0.5, 0.5, -1], [0.5, 0.5, 2], 0.2, 64)
    surface = triangles(solid)
    a, b, c = np.moveaxis(surface.vertices[surface.faces], 1, 0)
    np.testing.assert_allclose(np.cross(b - a, c - a).sum(0), 0.0, atol=1e-12)
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    assert volume == pytest.approx(1.0 - np.pi * 0.04, abs=0.01)


# Other lengths


def own_geometry(**lengths):
    """The PSM of Wang et al. with some lengths replaced."""
    numbers = tr.arms.published("PSM")["wang2019"]
    return load_arm(
        "PSM", Geometry(name="own", arm="PSM", frames="wang2019", lengths={**numbers, **lengths}, source="")
    )


def test_shapes_of_published_lengths_are_those_of_the_file():
    arm = load_arm("PSM")
    file = shape_file(arm.look).drawing.meshes
    meshes = drawing(arm).meshes
    assert all(meshes[name] is surface for name, surface in file.items())
    assert drawing(own_geometry()).meshes["base_0"] is file["base_0"]


def test_shapes_of_other_lengths_meet_at_the_joints():
    """A bar that is 10 % longer is drawn 10 % longer, with its pins and collision shapes; others are unchanged."""
    length = tr.arms.published("PSM")["wang2019"]["l_2L2"]
    arm, usual = own_geometry(l_2L2=1.1 * length), load_arm("PSM")
    joint, before = joints_by_body(arm)["top"][0], joints_by_body(usual)["top"][0]
    np.testing.assert_allclose(joint, 1.1 * before, atol=1e-12)
    along = before / np.linalg.norm(before)
    here, there = drawing(arm), drawing(usual)
    for (body, geom), (_, old) in zip(here.geoms, there.geoms, strict=True):
        if body == "back":
            assert {key: str(value) for key, value in geom.items()} == {key: str(value) for key, value in old.items()}
        if body != "top":
            continue
        if "meshname" in geom:
            vertices, flat = here.meshes[geom["meshname"]].vertices, there.meshes[old["meshname"]].vertices
            np.testing.assert_allclose(vertices @ along, 1.1 * flat @ along, atol=1e-7)
        elif "fromto" in geom:
            ends, flat = (np.reshape(shape["fromto"], (2, 3)) for shape in (geom, old))
            np.testing.assert_allclose(ends @ along, 1.1 * flat @ along, atol=1e-12)
        else:
            assert max(geom["size"]) == pytest.approx(1.1 * max(old["size"]), rel=1e-6)


def test_normals_of_stretched_shapes_are_perpendicular_to_their_faces():
    arm = own_geometry(l_2L2=0.6)
    meshes = drawing(arm).meshes
    for name in (name for name in meshes if name.startswith(("bottom", "top"))):
        mesh = meshes[name]
        a, b, c = np.moveaxis(np.asarray(mesh.vertices, dtype=float)[mesh.faces], 1, 0)
        faces = np.cross(b - a, c - a)
        large = np.linalg.norm(faces, axis=1) > 1e-6
        faces = faces[large] / np.linalg.norm(faces[large], axis=1, keepdims=True)
        assert np.einsum("ij,ij->i", faces, mesh.normals[mesh.faces[large, 0]]).min() > 0.7


@pytest.mark.parametrize(("scope", "sign"), [("up", 1.0), ("down", -1.0)])
def test_an_oblique_endoscope_is_cut_across_its_view(scope, sign):
    arm = load_arm("ECM", instrument=scope)
    mesh = drawing(arm).meshes["roll_12"]
    straight = drawing(load_arm("ECM")).meshes["roll_12"]
    end = straight.vertices[:, 2] > -1e-6
    moved = mesh.vertices[end] - straight.vertices[end]
    np.testing.assert_array_equal(mesh.vertices[~end], straight.vertices[~end])
    view = arm.T_body_tip[:3, 2]
    assert np.ptp(mesh.vertices[end] @ view) < 1e-6  # in one plane across the view
    assert moved[:, 2].max() < 1e-6  # no part is beyond the tip
    cap = end & (straight.normals[:, 2] > 0.9)
    np.testing.assert_allclose(mesh.normals[cap], np.tile(view, (cap.sum(), 1)), atol=1e-5)


def test_the_camera_of_a_longer_endoscope_stays_on_the_carriage(tmp_path):
    (tmp_path / "long.toml").write_text('source = "made up"\nlike = "straight"\nd_roll = 0.4829\n')
    usual, long = drawing(load_arm("ECM")), drawing(load_arm("ECM", instrument=tmp_path / "long.toml"))
    shaft, head = "roll_12", "roll_14"
    assert np.ptp(long.meshes[shaft].vertices[:, 2]) - np.ptp(usual.meshes[shaft].vertices[:, 2]) == pytest.approx(0.1)
    np.testing.assert_allclose(long.meshes[head].vertices, usual.meshes[head].vertices - [0, 0, 0.1], atol=1e-6)


def test_jaws_and_wrist_of_an_own_instrument_have_its_lengths(tmp_path):
    (tmp_path / "own.toml").write_text('source = "made up"\nlike = "400006"\njaw_length = 0.0250\na_wrist = 0.0200\n')
    arm = load_arm("PSM", instrument=tmp_path / "own.toml")
    meshes = drawing(arm).meshes
    finger = np.concatenate([mesh.vertices for name, mesh in meshes.items() if name.startswith("finger_left")])
    assert np.abs(finger).max() == pytest.approx(0.0250, abs=1e-6)
    (wrist,) = (mesh.vertices for name, mesh in meshes.items() if name.startswith("wrist_pitch"))
    needle = drawing(load_arm("PSM")).meshes
    (usual,) = (mesh.vertices for name, mesh in needle.items() if name.startswith("wrist_pitch"))
    assert np.ptp(wrist, axis=0).max() == pytest.approx(np.ptp(usual, axis=0).max() + 0.0109, rel=0.1)


def test_shapes_of_another_arm_are_rejected():
    with pytest.raises(tr.TrocarError, match="the shapes 'mtml' have a link 'outer_yaw', which PSM does not have"):
        drawing(replace(load_arm("PSM"), look="mtml"))


def test_a_deformed_model_compiles(tmp_path):
    spec, _ = tr.appearance.kinematic_arm(own_geometry(l_2L2=0.55, l_2H1=0.16))
    assert isinstance(spec.compile(), mujoco.MjModel)


def test_the_package_does_not_import_manifold3d():
    package = FOLDER.parents[2]
    assert not [
        path
        for path in package.rglob("*.py")
        if "import manifold3d" in (text := path.read_text()) or "from manifold3d" in text
    ]
