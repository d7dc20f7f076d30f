"""Tissue on trilinear cells: elasticity, kinematics, inverted cells."""

import mujoco
import numpy as np
import pytest

from trocar.errors import Inaccurate, TrocarError
from trocar.simulation import Box, Capsule, Cylinder, Inclusion, Scene, SceneArm, Solid, Sphere, Tissue, needle
from trocar.simulation.objects.tissue_shapes import lump
from trocar.spatial import pose, rotation

TURNED = pose(rotation("z", 0.5) @ rotation("x", 0.4), [0.3, 0.0, 0.0])
SIZE = np.array([0.04, 0.01, 0.01])


def tissue_scene(T=TURNED, **options):
    """A bar of tissue, held at one end, away from the arm and weightless."""
    bar = Tissue("bar", SIZE, T, fixed=("-x",), mesh=5e-3, **options)
    arm = SceneArm(arm="PSM", base=np.eye(4), friction=False, counterweight=False)
    return Scene({"PSM": arm}, objects=[bar], accuracy="discrete", gravity=[0.0, 0.0, 0.0])


def pull_evenly(scene, force, steps=600):
    """Pull the end of the bar along its axis with a force [N] that is spread evenly over the end face."""
    bar, data = scene.objects["bar"], scene.data
    ends = bar.grid.joint[-1]
    edge = np.array([0.5 if i in (0, ends.shape[0] - 1) else 1.0 for i in range(ends.shape[0])])
    other = np.array([0.5 if i in (0, ends.shape[1] - 1) else 1.0 for i in range(ends.shape[1])])
    share = np.outer(edge, other) / np.outer(edge, other).sum()
    for joint, part in zip(ends.ravel(), share.ravel(), strict=True):
        data.xfrc_applied[scene.model.jnt_bodyid[joint], :3] = TURNED[:3, 0] * force * part
    for _ in range(steps):
        scene.step({"PSM": np.zeros(7)})


def stretch(scene, a, b):
    """Strain of the bar's axis between x = a and x = b [m]."""
    bar = scene.objects["bar"]
    return float(np.linalg.norm(bar.position([b, 0.0, 0.0]) - bar.position([a, 0.0, 0.0])) / (b - a) - 1)


@pytest.mark.parametrize("cells", [(4, 1, 1), (8, 2, 2)])
def test_a_pulled_bar_stretches_as_in_the_closed_form(cells):
    young, force = 1e4, 0.05
    scene = tissue_scene(cells=cells, young=young, damping=0.05)
    pull_evenly(scene, force)
    assert stretch(scene, 0.0, 0.015) == pytest.approx(force / 1e-4 / young, rel=0.02)  # away from the held end
    np.testing.assert_allclose(scene.objects["bar"].stress, force / 1e-4, rtol=0.06)


def test_layers_side_by_side_share_the_load_by_their_stiffness():
    scene = tissue_scene(cells=(4, 1, 2), young=1e4, damping=0.05, poisson=0.0, layers=[(0.005, 4e4)])
    np.testing.assert_allclose(scene.objects["bar"].young.reshape(4, 1, 2)[:, 0], [[1e4, 4e4]] * 4)
    # equal stretch: displace the end face, and compare the forces that hold it
    bar, data = scene.objects["bar"], scene.data
    address = np.array([scene.model.jnt_qposadr[joint] for joint in bar.grid.joint[1:].ravel()])
    data.qpos[address] = 0.04 * (bar.grid.rest[1:, ..., 0] - bar.grid.low[0]).ravel()
    np.testing.assert_allclose(bar.stress[:, 0], [[400.0, 1600.0]] * 4, rtol=0.01)
    scene.engine.forward()
    ends = scene.model.jnt_dofadr[bar.grid.joint[-1].ravel()]
    assert -data.qfrc_spring[ends].sum() == pytest.approx(0.04 * (1e4 + 4e4) / 2 * 1e-4, rel=0.01)


def test_a_stiff_inclusion_stretches_in_proportion_to_its_compliance():
    half = Inclusion(Box([0.01, 0.0, 0.0], [0.02, 0.01, 0.01]), young=4e4)
    scene = tissue_scene(cells=(8, 1, 1), young=1e4, damping=0.05, poisson=0.0, inclusions=[half])
    pull_evenly(scene, 0.05, 800)
    assert stretch(scene, -0.015, -0.005) == pytest.approx(0.05, rel=0.02)
    assert stretch(scene, 0.005, 0.015) == pytest.approx(0.0125, rel=0.02)


def test_shapes_of_inclusions_fill_the_volume_that_they_have():
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (200_000, 3))
    for shape, volume in (
        (Box([0.1, 0.0, 0.0], [0.5, 1.0, 0.2], rotation("z", 0.3)), 0.1),
        (Sphere([0.0, 0.1, 0.0], 0.5), np.pi / 6),
        (Cylinder([-0.5, 0.0, 0.0], [0.5, 0.0, 0.2], 0.3), np.pi * 0.09 * np.sqrt(1.04)),
        (Capsule([-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], 0.3), np.pi * (0.09 + 4 / 3 * 0.027)),
    ):
        assert 8 * shape.contains(points).mean() == pytest.approx(volume, rel=0.05)


def test_material_points_are_found_again_in_deformed_tissue():
    scene = tissue_scene(cells=(4, 2, 2))
    grid, rng = scene.objects["bar"].grid, np.random.default_rng(1)
    first = scene.model.jnt_qposadr[grid.nodes]
    scene.data.qpos[np.add.outer(first, np.arange(3))] += rng.uniform(-1e-3, 1e-3, (len(first), 3))
    for _ in range(20):
        X = rng.uniform(grid.low, grid.high)
        x, F = grid.gradient(X)
        np.testing.assert_allclose(grid.place(X), x)
        np.testing.assert_allclose(grid.inverse(x, np.zeros(3)), X, atol=1e-9)
        numeric = [(grid.place(X + 1e-8 * e) - grid.place(X - 1e-8 * e)) / 2e-8 for e in np.eye(3)]
        np.testing.assert_allclose(F, np.transpose(numeric), atol=0.05)  # the last cell face may lie between
    assert grid.inverted() == []


def test_inverted_cells_are_named():
    scene = tissue_scene(cells=(4, 1, 1))
    bar = scene.objects["bar"]
    corner = int(scene.model.jnt_qposadr[bar.grid.joint[-1, 0, 0]])
    scene.data.qpos[corner] = -0.02  # behind its neighbour
    assert bar.inverted == [(3, 0, 0)]

    def run():
        for _ in range(20):
            scene.data.qpos[corner], scene.data.qvel[:] = -0.02, 0.0
            scene.step({"PSM": np.zeros(7)})

    with pytest.warns(Inaccurate, match="cells of bar are inside out"):
        run()
    assert [event.what for event in bar.events] == ["inverted"]
    scene.reset()
    assert bar.events == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cells": (0, 1, 1)}, "cells of bar"),
        ({"cells": (100, 10, 10)}, "at most 500"),
        ({"poisson": 0.5}, "poisson"),
        ({"poisson": "a"}, "poisson of bar must be"),
        ({"cells": 5}, "cells of bar must be a sequence, got 5"),
        ({"fixed": 5}, "fixed of bar must be a sequence, got 5"),
        ({"inclusions": 5}, "inclusions of bar must be a sequence, got 5"),
        ({"size": (1e-5, 0.02, 0.02), "surface": lump()}, r"size of bar .* got \(1e-05, 0.02, 0.02\)"),
        ({"fixed": ()}, "needs a fixed face"),
        ({"fixed": ("top",)}, "face of bar"),
        ({"mesh": 1e-5}, "too fine"),
        ({"mesh": 1e-300}, "too fine"),
        ({"cells": (2**32, 2**32, 1)}, "has 18446744073709551616 cells"),
        ({"young": -1.0}, "young"),
        ({"layers": [(0.01, -1.0)]}, "young of a layer"),
        ({"layers": [(0.01,)]}, "a layer of bar"),
        ({"inclusions": [Box([0.0] * 3, [0.01] * 3)]}, "an inclusion of bar"),
        ({"strength": 0.0}, "strength"),
    ],
)
def test_impossible_tissue_is_refused(options, message):
    with pytest.raises(TrocarError, match=message):
        Tissue(**{"name": "bar", "size": SIZE, **options})


def test_a_sheet_that_is_thinner_than_its_skin_is_refused():
    sheet = Tissue("sheet", (0.05, 0.02, 3e-5), pose(p=[0.3, 0.0, 0.0]), fixed=("-z",))
    with pytest.raises(TrocarError, match="sheet is too thin for its mesh"):
        Scene({"PSM": SceneArm(arm="PSM", base=np.eye(4))}, objects=[sheet], accuracy="discrete")


def test_steps_that_the_sparse_solver_does_not_solve_are_repeated_with_dense_matrices():
    repeated, dense = (tissue_scene(cells=(8, 2, 2)) for _ in range(2))
    assert mujoco.mj_isSparse(repeated.model)
    repeated.engine._max_sparse = 0  # every step reaches this limit
    dense.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    for scene in (repeated, dense):
        pull_evenly(scene, 0.05, 20)
    np.testing.assert_array_equal(repeated.data.qpos, dense.data.qpos)
    assert repeated.unconverged == 0


def test_tissue_needs_the_discrete_integrator():
    with pytest.raises(TrocarError, match="discrete"):
        Scene({"PSM": SceneArm(arm="PSM", base=np.eye(4))}, objects=[Tissue("bar", SIZE)])


def test_the_edges_of_a_wound_push_each_other_apart_and_are_named():
    arm = SceneArm(arm="PSM", base=np.eye(4), friction=False, counterweight=False)
    sides = [
        Tissue(name, (0.01, 0.01, 0.01), pose(p=[0.3 + x, 0.0, 0.0]), cells=(1, 1, 1), fixed=(face,), mesh=5e-3)
        for name, x, face in (("left", -0.0049, "-x"), ("right", 0.0049, "+x"))
    ]
    scene = Scene({"PSM": arm}, objects=sides, accuracy="discrete", gravity=[0.0, 0.0, 0.0])
    for _ in range(200):
        scene.step({"PSM": np.zeros(7)})
    gap = scene.objects["right"].position([-0.005, 0.0, 0.0]) - scene.objects["left"].position([0.005, 0.0, 0.0])
    assert gap[0] > -1e-4  # they overlapped by 0.2 mm
    assert {part.name for contact in scene.touching() for part in (contact.first, contact.second)} == {"left", "right"}


@pytest.mark.parametrize(("speed", "warned"), [(50.0, True), (5.0, False)])
def test_a_solid_that_passes_through_a_tissue_in_one_step_is_reported(speed, warned):
    pad = Tissue("pad", (0.06, 0.06, 0.01), pose(p=[0.3, 0.0, 0.0]), cells=(3, 3, 1))
    ball = Solid("ball", Sphere([0.0, 0.0, 0.0], 4e-3), pose(p=[0.3, 0.0, 0.03]), mass=2e-3, stiffness=None)
    other = Solid("other", Sphere([0.0, 0.0, 0.0], 4e-3), pose(p=[0.5, 0.0, 0.03]), mass=2e-3, stiffness=None)
    arm = SceneArm(arm="PSM", base=np.eye(4), friction=False, counterweight=False)
    scene = Scene({"PSM": arm}, objects=[pad, ball, other], accuracy="discrete")

    def fly(name):
        scene.data.qvel[scene.model.body(f"object/{name}").dofadr[0] + 2] = -speed
        for _ in range(4):
            scene.step({"PSM": scene.arms["PSM"].mechanism.gravity(scene.arms["PSM"].q)})

    fly("other")  # past the tissue
    if warned:
        with pytest.warns(Inaccurate, match=r"ball moves 50 mm in a step at t = .*, further than pad is thick"):
            fly("ball")
    else:
        fly("ball")
        assert scene.objects["ball"].pose[2, 3] > 0.0


def test_a_needle_that_would_fall_through_a_tissue_is_refused():
    things = [needle("n", np.eye(4)), Tissue("block", (0.02, 0.02, 0.01), pose(p=[0.0, 0.0, -0.2]))]
    with pytest.raises(TrocarError, match=r'n would fall through block.*piercing=Piercing\("n"\)'):
        Scene({"PSM1": SceneArm(arm="PSM")}, objects=things, accuracy="discrete")
