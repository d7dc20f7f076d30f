"""Cutting and tearing of tissue, slabs, seams and threads: energy, strength, copies, scissors and scalpels."""

import pickle

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar.simulation import Blade, Box, Capsule, Scene, SceneArm, Seam, SoftSlab, Solid, Thread, Tissue, needle
from trocar.simulation.skills import Hands, cut
from trocar.spatial import pose

AWAY = np.array([0.3, 0.0, 0.0])
SIZE = np.array([0.04, 0.01, 0.01])
REST = {"PSM": np.zeros(7)}


def weightless(*objects, accuracy="discrete", **options):
    arm = SceneArm(arm="PSM", base=np.eye(4), friction=False, counterweight=False, **options)
    return Scene({"PSM": arm}, objects=objects, accuracy=accuracy, gravity=[0.0, 0.0, 0.0], overlaps=True)


def bar(name="bar", x=0.0, length=SIZE[0], fixed="-x", **options):
    options = {"cells": (4, 1, 1), "young": 1e4, "damping": 0.05, "mesh": 5e-3} | options
    return Tissue(name, (length, SIZE[1], SIZE[2]), pose(p=AWAY + [x, 0.0, 0.0]), fixed=(fixed,), **options)


def across(x, y=(-0.02, 0.02)):
    """Path of a blade through the bar at x from its middle."""
    return AWAY + [[[x, side, -0.02], [x, side, 0.02]] for side in y]


def pull(scene, name, force, steps):
    """Pull the end of a bar along x, evenly over its face."""
    ends = scene.objects[name].grid.joint[-1].ravel()
    for _ in range(steps):
        scene.data.xfrc_applied[scene.model.jnt_bodyid[ends], 0] = force / len(ends)
        scene.step(REST)


def energy(scene):
    """Kinetic and elastic energy of everything that is soft [J]: the elastic forces, integrated from rest."""
    model, data = scene.model, scene.data
    arm = scene.stepped["PSM"].v.stop
    kinetic = np.zeros(model.nv)
    mujoco.mj_mulM(model, data, kinetic, data.qvel)
    probe, q, elastic = mujoco.MjData(model), data.qpos.copy(), 0.0
    u, weights = np.polynomial.legendre.leggauss(5)
    for share, weight in zip((u + 1) / 2, weights / 2, strict=True):
        probe.qpos[:] = data.qpos
        probe.qpos[arm:] *= share
        mujoco.mj_fwdPosition(model, probe)
        mujoco.mj_fwdVelocity(model, probe)
        elastic -= weight * float(probe.qfrc_spring[arm:] @ q[arm:])
    return float(data.qvel[arm:] @ kinetic[arm:]) / 2, elastic


@pytest.mark.parametrize("kind", ["tissue", "slab"])
def test_energy_never_rises_at_a_cut(kind):
    thing = bar(cells=(5, 2, 2)) if kind == "tissue" else SoftSlab("bar", (0.025, 0.025, 0.02), pose(p=AWAY))
    scene = weightless(thing)
    cut, data = scene.objects["bar"], scene.data
    first = scene.stepped["PSM"].v.stop
    if kind == "slab":
        assert len(cut.intact) == 600
    rng = np.random.default_rng(1)
    data.qpos[first:] = rng.uniform(-4e-4, 4e-4, scene.model.nq - first)
    for _ in range(10):
        scene.step(REST)
    before = sum(energy(scene))
    assert before > 1e-7
    assert cut.cut(across(0.001)) > 0
    after = sum(energy(scene))
    assert after < before
    for _ in range(10):
        for _ in range(5):
            scene.step(REST)
        now = sum(energy(scene))
        assert now <= after * (1 + 1e-6)
        after = now


def test_a_cut_through_half_a_bar_softens_it_and_one_through_all_of_it_frees_the_end():
    scene = weightless(bar(cells=(4, 2, 1)))
    tissue = scene.objects["bar"]
    surface = tissue.faces
    pull(scene, "bar", 0.01, 300)
    whole = tissue.position([0.02, 0.0, 0.0])[0]
    assert tissue.cut(across(0.005, y=(0.001, 0.02))) == 1
    assert tissue.cut(across(0.005, y=(0.001, 0.02))) == 0
    assert not np.array_equal(tissue.faces, surface)
    pull(scene, "bar", 0.01, 300)
    half = tissue.position([0.02, 0.0, 0.0])[0]
    assert half - 0.32 > 1.15 * (whole - 0.32)
    assert tissue.cut(across(0.005)) == 1
    pull(scene, "bar", 0.01, 50)
    assert tissue.position([0.02, 0.0, 0.0])[0] - half > 1e-3
    assert [event.what for event in tissue.events] == ["cut", "cut"]
    scene.reset()
    assert tissue.intact.all()
    np.testing.assert_array_equal(tissue.faces, surface)


def test_tissue_tears_at_its_strength():
    strength = 1e3
    scene = weightless(bar(strength=strength, damping=0.02))
    for force in np.arange(0.0, 0.15, 2e-4):
        pull(scene, "bar", force, 2)
        if scene.objects["bar"].events:
            break
    event = scene.objects["bar"].events[0]
    assert event.what == "torn"
    assert event.force == pytest.approx(strength, rel=0.01)
    assert force == pytest.approx(strength * 1e-4, rel=0.1)


def test_energy_never_rises_while_a_stretched_bar_tears():
    """A bar that is let go, stretched by a fifth at its held end and not at its free end: some cells tear."""
    scene = weightless(bar(cells=(5, 2, 2), strength=1.2e3, damping=0.02))
    tissue, data = scene.objects["bar"], scene.data
    scene.step(REST)
    free = tissue.grid.joint[1:]
    stretch = 0.1 * SIZE[0] * (1.0 - np.linspace(0.8, 0.0, 5) ** 2)
    data.qpos[scene.model.jnt_qposadr[free]] = stretch[:, None, None]
    mujoco.mj_forward(scene.model, data)
    before, torn = sum(energy(scene)), []
    for _ in range(60):
        scene.step(REST)
        now = sum(energy(scene))
        assert now <= before * (1 + 1e-6)
        if len(tissue.events) > len(torn):
            torn.append(1.0 - now / before)
        before = now
    assert torn
    assert max(torn) > 0.01
    assert 0 < tissue.intact.sum() < tissue.intact.size


def test_restored_pickled_and_changed_scenes_keep_cuts_with_the_same_bits():
    scene = weightless(bar(), SoftSlab("slab", (0.02, 0.02, 0.01), pose(p=[0.3, 0.1, 0.0])))
    names = ("bar", "slab")
    for name in names:
        shift = np.array([0.0, 0.1 if name == "slab" else 0.0, 0.0])
        assert scene.objects[name].cut(across(0.003) + shift) > 0
    pull(scene, "bar", 0.01, 20)
    copies = [scene.snapshot(), pickle.dumps(scene), scene.changed()]
    intact = [scene.objects[name].intact for name in names]
    pull(scene, "bar", 0.01, 50)
    expected = scene.data.qpos.copy()
    scene.reset()
    assert all(scene.objects[name].intact.all() for name in names)
    scene.restore(copies[0])
    for subject in (scene, pickle.loads(copies[1])):
        pull(subject, "bar", 0.01, 50)
        np.testing.assert_array_equal(subject.data.qpos, expected)
    for name, mask in zip(names, intact, strict=True):
        np.testing.assert_array_equal(copies[2].objects[name].intact, mask)
    pull(copies[2], "bar", 0.01, 50)
    np.testing.assert_array_equal(copies[2].data.qpos, expected)


def test_pictures_show_no_removed_cells():
    scene = weightless(bar(cells=(8, 2, 2)), SoftSlab("slab", SIZE, pose(p=AWAY + [0.0, 0.02, 0.0])))
    camera = mujoco.MjvCamera()
    camera.lookat, camera.distance, camera.azimuth, camera.elevation = AWAY + [0.0, 0.01, 0.0], 0.1, 90.0, -89.0

    def tissue():
        """Share of the picture that is red."""
        picture = tr.render(scene, camera=camera, size=(160, 120), shadows=False).astype(int)
        return float((picture[..., 0] > picture[..., 2] + 40).mean())

    whole = tissue()
    assert scene.objects["bar"].cut(across(0.003)) == 4
    removed = whole / 2 / 8  # one of the bar's eight sections
    assert tissue() == pytest.approx(whole - removed, abs=0.2 * removed)
    assert scene.objects["slab"].cut(across(0.003) + [0.0, 0.02, 0.0]) > 0
    assert tissue() < whole - 1.5 * removed
    scene.reset()
    assert tissue() == whole


def test_a_seam_is_cut_pair_by_pair_and_holds_before():
    gap, half = 1e-4, SIZE[0] / 2
    halves = [
        bar("left", -half / 2 - gap / 2, half, cells=(2, 2, 1)),
        Tissue("right", (half, 0.01, 0.01), pose(p=AWAY + [half / 2 + gap / 2, 0, 0]), cells=(2, 2, 1), fixed=("-z",)),
    ]
    scene = weightless(*halves, Seam("seam", "left", "right"))
    seam = scene.objects["seam"]
    assert len(seam.intact) == 3  # the lower face of the right half is fixed
    assert seam.areas.sum() == pytest.approx(0.5 * 1e-4, rel=0.01)
    assert seam.cut(across(0.0, y=(0.004, 0.02))) == 1
    assert seam.cut(across(0.0)) == 2
    assert seam.cut(across(0.01)) == 0
    assert [event.what for event in seam.events] == ["cut", "cut"]
    scene.reset()
    assert seam.intact.all()


def drawn(scene, name, until, rate=6e-6):
    """Move the held face +x of a tissue along x step by step until a condition holds; returns the distance."""
    model = scene.model
    ends = [b for b in scene.objects[name].grid.bodies if model.body_dofnum[b] == 0 and model.body_pos[b, 0] > 0]
    start = model.body_pos[ends, 0].copy()
    for k in range(2000):
        model.body_pos[ends, 0] = start + rate * k
        if until(rate * k):
            break
        scene.step(REST)
    return rate * k


def test_a_seam_is_as_stiff_as_whole_tissue_and_tears_at_its_strength():
    gap, half, strength = 1e-4, SIZE[0] / 2, 1e3
    left = bar("left", -half / 2 - gap / 2, half, cells=(2, 1, 1), damping=0.01)
    right = bar("right", half / 2 + gap / 2, half, fixed="+x", cells=(2, 1, 1), damping=0.01)
    scene = weightless(left, right, Seam("seam", "left", "right", strength))
    seam, loads = scene.objects["seam"], []
    assert seam.areas.sum() == pytest.approx(1e-4, rel=0.01)

    def torn(_):
        loads.append(seam.forces.sum())
        return bool(seam.events)

    distance = drawn(scene, "right", torn)
    assert not seam.intact.any()
    assert max(loads) == pytest.approx(strength * 1e-4, rel=0.1)
    block = Tissue("bar", SIZE, pose(p=AWAY), cells=(4, 1, 1), young=1e4, damping=0.01, fixed=("-x", "+x"), mesh=5e-3)
    whole = weightless(block)
    drawn(whole, "bar", lambda moved: moved >= distance)
    assert max(loads) == pytest.approx(whole.objects["bar"].stress[1:3].mean() * 1e-4, rel=0.1)


def test_a_thread_is_cut_at_the_nearest_joint_that_parts_and_stays_cut_in_copies():
    scene = weightless(needle("needle", pose(p=AWAY), size="SH"), Thread("thread", "needle", cuts=3), accuracy="fast")
    thread = scene.objects["thread"]
    assert thread.thing.parts == (0, 6, 12, 18)
    middle = (thread.points[12] + thread.points[13]) / 2
    blade = middle + np.array([[[0, -1, -1], [0, -1, 1]], [[0, 1, -1], [0, 1, 1]]]) * 2e-3
    assert thread.cut(blade + [0.0, 0.01, 0.0]) == 0
    assert thread.cut(blade) == 1
    assert thread.cut(blade) == 0
    assert thread.parted == (12,)
    assert thread.attached
    snapshot, copy = scene.snapshot(), scene.changed()
    assert copy.objects["thread"].parted == (12,)
    scene.data.xfrc_applied[thread.rods[-1], 0] = -1e-3
    for _ in range(100):
        scene.step(REST)
    assert np.linalg.norm(thread.points[12] - thread.points[11]) > thread.thing.rod + 1e-3
    scene.reset()
    assert thread.parted == ()
    scene.restore(snapshot)
    assert thread.parted == (12,)
    assert not scene.data.eq_active.all()


def test_parts_that_are_torn_apart_are_named():
    scene = weightless(needle("needle", pose(p=AWAY), size="SH"), Thread("thread", "needle"), accuracy="fast")
    slide = int(scene.model.joint("object/thread/part0/x").qposadr[0])

    def tear():
        for _ in range(40):
            scene.data.qpos[slide], scene.data.qvel[:] = 3e-3, 0.0
            scene.step(REST)

    with pytest.warns(tr.errors.TornApart, match="thread/part0/x is torn apart by 3 mm"):
        tear()
    assert scene.apart == 2
    scene.reset()
    assert scene.apart == 0


def test_closing_scissors_cut_a_thread_and_open_ones_do_not():
    q = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.8])
    psm = tr.load_mechanism("PSM", instrument="400178")
    T = psm.forward_kinematics(q)
    x, z = T[:3, 0], T[:3, 1]
    R = np.stack([x, np.cross(z, x), z], axis=1)
    curved = needle("needle", np.eye(4), size="SH")
    place = (T @ [0.03, 0.0, 5e-3, 1.0])[:3] - R @ curved.at(curved.length)[0]
    things = [needle("needle", pose(R, place), size="SH"), Thread("thread", "needle", cuts=3)]
    scene = weightless(*things, Blade("scissors", "PSM"), accuracy="fast", instrument="400178", q=q)
    thread, blade = scene.objects["thread"], scene.objects["scissors"]
    for _ in range(50):
        scene.step(REST)
    assert thread.parted == ()
    for _ in range(400):
        scene.step({"PSM": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.01 - 0.003 * scene.arms["PSM"].dq[6]])})
        if thread.parted:
            break
    assert thread.parted == (6,)
    assert blade.severed == 1
    assert scene.arms["PSM"].q[6] > 0.1


def test_the_skill_cuts_along_a_seam_with_scissors():
    q = np.array([0.0, 0.0, 0.12, np.pi / 2, 0.0, 0.0, 0.3])
    T = tr.load_mechanism("PSM", instrument="400178").forward_kinematics(q)  # points down, jaws in the yz plane
    sides = [
        Tissue(name, (0.02, 0.016, 0.004), pose(p=T[:3, 3] + [x, 0.0, -0.016]), (2, 4, 1), mesh=4e-3, fixed=(face,))
        for name, x, face in (("left", -0.01005, "-x"), ("right", 0.01005, "+x"))
    ]
    arm = SceneArm(arm="PSM", base=np.eye(4), instrument="400178", q=q)
    scene = Scene(
        {"PSM": arm}, objects=[*sides, Seam("seam", "left", "right"), Blade("scissors", "PSM")], accuracy="discrete"
    )
    T[2, 3] -= 9e-3
    result = cut(Hands(scene), "PSM", T)
    seam = scene.objects["seam"]
    whole = seam.intact.reshape(5, 2)  # along y, and z upwards
    assert result.severed > 0
    assert not whole[2, 1]
    assert whole[[0, 4]].all()
    with pytest.raises(TrocarError, match="has no blade"):
        cut(Hands(weightless(bar())), "PSM")


def test_a_scalpel_cuts_what_its_edge_sweeps():
    edge = ((0.0, 0.0, -0.0105), (0.0, 0.0, -0.0))
    knife = Solid(
        "knife", Capsule([0.0, 0.0, 0.0], [0.0, 0.0, 0.03], 1e-3), pose(p=AWAY + [0.005, -0.02, 0.006]), mass=0.01
    )
    scene = weightless(knife, bar(cells=(4, 2, 1)), Blade("scalpel", "knife", edge=edge, cuts=("bar",)))
    for y in np.arange(-0.02, 0.0, 2e-4):
        scene.objects["knife"].pose = pose(p=AWAY + [0.005, y, 0.006])
        scene.step(REST)
    np.testing.assert_array_equal(scene.objects["bar"].intact[:, :, 0].astype(int), [[1, 1], [1, 1], [0, 1], [1, 1]])
    assert scene.objects["scalpel"].severed == 1


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([Blade("knife", "ghost")], "ghost"),
        ([bar(), Blade("knife", "bar")], "needs an edge"),
        ([Solid("box", Box(AWAY, [0.01] * 3)), Blade("knife", "PSM", cuts=("box",))], "can be cut"),
        ([bar("a"), bar("b", x=0.1), Seam("seam", "a", "b")], "face each other"),
        ([bar("a"), Seam("seam", "a", "b")], "needs the tissue 'b' before it"),
    ],
)
def test_impossible_blades_and_seams_are_refused(objects, message):
    with pytest.raises(TrocarError, match=message):
        weightless(*objects)


def test_the_path_of_a_blade_is_checked():
    scene = weightless(bar())
    for path in ([[0.0, 0.0, 0.0]], [[[0.0] * 3] * 2], np.full((2, 2, 3), np.nan), "here"):
        with pytest.raises(TrocarError, match="the path of a blade must be"):
            scene.objects["bar"].cut(path)


FILE = """
accuracy = "discrete"
[arms.PSM1]
arm = "PSM"
instrument = "400178"
[[objects]]
name = "left"
shape = "tissue"
size = [0.02, 0.02, 0.01]
position = [0.28995, 0.0, 0.0]
cells = [2, 2, 2]
layers = [[0.005, 1e5]]
boxes = [[0.0, 0.0, -0.0025, 0.02, 0.02, 0.005, 5e3]]
strength = 3e4
[[objects]]
name = "right"
shape = "tissue"
size = [0.02, 0.02, 0.01]
position = [0.31005, 0.0, 0.0]
cells = [2, 2, 2]
vessels = [[0.0, -0.02, 0.0, 0.0, 0.02, 0.0, 0.004, 2e5]]
[[objects]]
name = "seam"
shape = "seam"
first = "left"
second = "right"
strength = 2e4
[[objects]]
name = "scissors"
shape = "blade"
carrier = "PSM1"
cuts = ["left", "seam"]
"""


def test_a_scene_file_has_layers_vessels_seams_and_blades(tmp_path):
    path = tmp_path / "cut.toml"
    path.write_text(FILE)
    scene = tr.load_scene(path)
    young = scene.objects["left"].young.reshape(2, 2, 2)
    np.testing.assert_allclose(young[:, :, 1], 1e5)
    np.testing.assert_allclose(young[:, :, 0], 5e3)
    assert 4e4 < scene.objects["right"].young.max() < 2e5
    assert len(scene.objects["seam"].intact) == 6
    for wrong, message in (
        (FILE.replace("layers = [[0.005, 1e5]]", "layers = [[0.005]]"), "layers"),
        (FILE.replace("strength = 2e4", "strength = -1.0"), "strength"),
        (FILE.replace('first = "left"', 'first = "nothing"'), "nothing"),
    ):
        path.write_text(wrong)
        with pytest.raises(TrocarError, match=message):
            tr.load_scene(path)
