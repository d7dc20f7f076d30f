"""Tissue whose shape is a closed surface: meshes, stiffness, piercing, cuts, files."""

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.simulation import Scene, SceneArm, Tissue, load_scene
from trocar.simulation.objects import ClosedSurface
from trocar.simulation.objects.cutting import outer_faces
from trocar.simulation.objects.tetrahedra import filled
from trocar.simulation.objects.tissue_shapes import TISSUE_SHAPES, cylinder, ellipsoid, lump, vessel
from trocar.simulation.skills import Hands, bite, suture_scene
from trocar.spatial import pose

AWAY = pose(p=[0.3, 0.0, 0.0])


def scene_of(*things):
    arm = SceneArm(arm="PSM", base=np.eye(4), friction=False, counterweight=False)
    return Scene({"PSM": arm}, objects=things, accuracy="discrete", gravity=[0.0, 0.0, 0.0])


def volume(vertices, tetrahedra):
    return np.linalg.det(vertices[tetrahedra[:, 1:]] - vertices[tetrahedra[:, :1]]) / 6


@pytest.mark.parametrize("name", TISSUE_SHAPES)
def test_a_surface_is_filled_by_tetrahedra_that_fit_together(name):
    surface = TISSUE_SHAPES[name]().fitted((0.04, 0.02, 0.02))
    errors = []
    for step in (2.4e-3, 1.2e-3):
        vertices, tetrahedra = filled(surface, step)
        assert volume(vertices, tetrahedra).min() > 0
        errors.append(1 - volume(vertices, tetrahedra).sum() / surface.volume)
        faces = outer_faces(tetrahedra)
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        assert (np.unique(edges, axis=0, return_counts=True)[1] % 2 == 0).all()  # no gap between neighbours
        assert np.abs(surface.signed_distance(vertices[np.unique(faces)])[0]).max() < 0.4 * step
    assert 0 < errors[1] < 0.5 * errors[0] < 0.1


def test_distances_from_a_surface_are_those_of_the_closed_form():
    surface = ellipsoid().fitted((2.0, 2.0, 2.0))
    points = np.random.default_rng(1).uniform(-1.4, 1.4, (400, 3))
    distance, nearest = surface.signed_distance(points)
    np.testing.assert_allclose(distance, np.linalg.norm(points, axis=1) - 1.0, atol=0.03)  # of its flat triangles
    np.testing.assert_allclose(np.linalg.norm(nearest - points, axis=1), np.abs(distance), atol=1e-12)
    hollow = vessel(0.5).fitted((2.0, 2.0, 2.0))
    assert hollow.contains([[0.0, 0.0, 0.0], [0.0, 0.7, 0.0], [0.0, 0.0, 1.2]]).tolist() == [False, True, False]


@pytest.mark.parametrize(("shape", "area"), [(cylinder(), np.pi / 4), (vessel(0.5), 0.75 * np.pi / 4)])
def test_a_pulled_cylinder_and_a_pulled_vessel_stretch_as_in_the_closed_form(shape, area):
    young, diameter, stress = 1e4, 0.01, 500.0
    bar = Tissue(
        "bar",
        (0.04, diameter, diameter),
        AWAY,
        cells=(4, 2, 2),
        mesh=1.25e-3,
        fixed=("-x",),
        young=young,
        damping=0.05,
        surface=shape,
    )
    scene = scene_of(bar)
    placed, data = scene.objects["bar"], scene.data
    grid = placed.grid
    # traction on the end face, spread over its nodes by their weights
    y, z = np.meshgrid(*2 * [np.linspace(-0.5, 0.5, 41) * diameter])
    ends = np.stack([np.full(y.size, grid.high[0]), y.ravel(), z.ravel()], axis=1)
    ends = ends[bar.fitted.contains(ends - [1e-6, 0.0, 0.0])]
    force = stress * area * diameter**2
    for X in ends:
        cell, weights, _, _ = grid.located(X)
        for joint, weight in zip(grid.cell_joints(cell).tolist(), weights.tolist(), strict=True):
            if joint >= 0 and weight > 0:
                data.xfrc_applied[scene.model.jnt_bodyid[joint], 0] += force * weight / len(ends)
    for _ in range(500):
        scene.step({"PSM": np.zeros(7)})
    a, b = (placed.position([x, 0.0, 0.0]) for x in (-0.005, 0.015))
    assert (b - a)[0] / 0.02 - 1 == pytest.approx(stress / young, rel=0.05)
    assert placed.inverted == []


def test_a_needle_enters_and_leaves_a_round_tissue_at_its_surface():
    scene = suture_scene(surface=ellipsoid(), mesh=4e-3, size=(0.044, 0.03, 0.018))
    hands, tissue = Hands(scene), scene.objects["tissue"]
    hands.close("PSM1", 0.12, 0.3)
    result = bite(hands, "PSM1", rate=np.radians(90.0))
    assert result.held
    law = tissue.thing.piercing
    for what, force in (("puncture", law.puncture), ("exit", law.exit)):
        event = next(event for event in result.events if event.what == what)
        assert abs(tissue.thing.fitted.signed_distance([event.X])[0][0]) < 3e-4
        assert event.force == pytest.approx(force, rel=0.05)


def test_a_blade_cuts_a_lump_and_cells_without_tissue_are_not_counted():
    block = Tissue("liver", (0.05, 0.03, 0.02), AWAY, cells=(6, 5, 3), mesh=4e-3, surface=lump())
    scene = scene_of(block)
    liver = scene.objects["liver"]
    there = liver.intact.sum()
    assert there < 90  # the box has more cells than the lump
    lost = liver.cut([[[0.3, -0.05, z], [0.3, 0.05, z]] for z in (-0.02, 0.02)])
    assert 0 < lost < there
    assert liver.intact.sum() == there - lost
    scene.reset()
    assert liver.intact.sum() == there


def joined(*surfaces):
    """Several surfaces as one; each is moved by its offset."""
    vertices, faces, count = [], [], 0
    for surface, offset in surfaces:
        vertices.append(surface.vertices + offset)
        faces.append(surface.faces + count)
        count += len(surface.vertices)
    return np.concatenate(vertices), np.concatenate(faces)


BOX = np.array([[x, y, z] for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)])
BOX_FACES = [[0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4]]
BOX_FACES += [[2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5]]


def test_a_surface_that_crosses_itself_is_refused():
    round_one = ellipsoid().fitted((1.0, 1.0, 1.0))
    for offset in ([0.7, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]):
        with pytest.raises(TrocarError, match=r"crosses itself: it encloses .* % of its volume twice or inside out"):
            ClosedSurface(*joined((round_one, 0.0), (round_one, offset)))
    twisted = np.where(BOX[:, 2:] > 0.5, BOX * [-1, 1, 1] + [1.0 + 1e-9, 0, 0], BOX)
    with pytest.raises(TrocarError, match=r"crosses itself|encloses no volume"):
        ClosedSurface(twisted, BOX_FACES)


def test_surfaces_that_touch_or_lie_apart_are_one_tissue():
    box = ClosedSurface(BOX, BOX_FACES)
    for offset in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [2.0, 0.0, 0.0]):
        assert ClosedSurface(*joined((box, 0.0), (box, offset))).volume == pytest.approx(2.0)


def stl(surface):
    """The surface in the binary format STL."""
    kind = np.dtype([("normal", "<3f4"), ("corners", "<9f4"), ("attribute", "<u2")])
    rows = np.zeros(len(surface.faces), dtype=kind)
    rows["corners"] = surface.vertices[surface.faces].reshape(-1, 9)
    return bytes(80) + np.uint32(len(rows)).tobytes() + rows.tobytes()


def test_a_scene_file_names_a_surface_or_its_file(tmp_path):
    surface = lump().fitted((0.03, 0.02, 0.01))
    (tmp_path / "organ.stl").write_bytes(stl(surface))
    objects = "\n".join(
        f'[[objects]]\nname = "{name}"\nshape = "tissue"\nsurface = "{what}"\nposition = [{x}, 0, 0]\n'
        f"cells = [2, 2, 1]\nmesh = 3e-3\n{size}"
        for name, what, x, size in (
            ("organ", "organ.stl", 0.3, ""),
            ("fat", "ellipsoid", 0.4, "size = [0.03, 0.02, 0.01]"),
        )
    )
    (tmp_path / "scene.toml").write_text(f'accuracy = "discrete"\n[arms.PSM]\narm = "PSM"\n{objects}')
    scene = load_scene(tmp_path / "scene.toml")
    organ = scene.objects["organ"].thing
    np.testing.assert_allclose(organ.size, surface.size, atol=1e-6)
    assert organ.surface.volume == pytest.approx(surface.volume, rel=1e-4)
    assert scene.objects["fat"].thing.surface.volume == pytest.approx(np.pi / 6, rel=0.05)


def test_impossible_surfaces_are_refused(tmp_path):
    whole = lump()
    with pytest.raises(TrocarError, match="not closed"):
        ClosedSurface(whole.vertices, whole.faces[1:])
    with pytest.raises(TrocarError, match="name vertices"):
        ClosedSurface(whole.vertices, whole.faces + 1)
    with pytest.raises(TrocarError, match="finite"):
        ClosedSurface(np.full((4, 3), np.nan), whole.faces)
    with pytest.raises(TrocarError, match="too thin"):
        scene_of(Tissue("sheet", (0.03, 0.02, 0.02), AWAY, mesh=9e-3, surface=vessel(0.1)))
    with pytest.raises(TrocarError, match="ClosedSurface"):
        Tissue("organ", (0.03, 0.02, 0.02), surface="lump")
    data = stl(whole)
    for damaged in (b"", data[:100], data[:-7], data[:80] + b"\xff" * 4 + data[84:], bytes(len(data))):
        (tmp_path / "damaged.stl").write_bytes(damaged)
        with pytest.raises(TrocarError, match="damaged"):
            ClosedSurface.load(tmp_path / "damaged.stl")
    with pytest.raises(TrocarError, match="a file"):
        ClosedSurface.load(tmp_path / "organ.step")
