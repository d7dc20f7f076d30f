"""A thread that touches itself: against closed forms, and in a scene with arms."""

from __future__ import annotations

import numpy as np
import pytest

from tools.knot_campaign import KNOTS, KnotBench, held
from trocar.errors import TrocarError
from trocar.simulation import Filament, Scene, SceneArm, load_scene
from trocar.simulation.knots import knot
from trocar.simulation.objects.filament_steps import FilamentSteps, Material, TouchedSolid, resampled
from trocar.simulation.skills import Hands, knot_scene, loose_knot, tighten_knot
from trocar.spatial import Array

THREAD = Material(diameter=0.25e-3, density=1100.0, young=5e8, friction=0.3, mass_scale=100.0, drag=2.0)
UPRIGHT = np.array([[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]], dtype=float)


def line(points: Array, rod: float) -> tuple[Array, float]:
    return resampled(np.asarray(points, dtype=float), rod)


@pytest.mark.parametrize(("angle", "friction", "rod"), [(np.pi, 0.3, 1e-3), (np.pi / 2, 0.5, 0.5e-3)])
def test_tension_around_a_cylinder_grows_as_the_capstan_equation_says(angle: float, friction: float, rod: float):
    radius, pull = 3e-3, 0.3
    at = np.linspace(0.0, angle, 500)
    wrapped = (radius + 0.125e-3) * np.stack([np.cos(at), np.sin(at), 0.02 * at], axis=1)
    back, on = wrapped[0] - wrapped[1], wrapped[-1] - wrapped[-2]
    back, on = back / np.linalg.norm(back), on / np.linalg.norm(on)
    points, rod = line(np.concatenate([[wrapped[0] + 0.015 * back], wrapped, [wrapped[-1] + 0.015 * on]]), rod)
    material, cylinder = THREAD._replace(friction=friction), TouchedSolid("cylinder", (radius, 0.05, 0.0))
    thread = FilamentSteps(points, rod, material, held=[len(points) - 1], solids=[cylinder])
    thread.restart(points, UPRIGHT)
    ratios = []
    for k in range(50):
        up = min(1.0, (k + 1) / 10)
        thread.load[0] = up * pull * back
        thread.advance(0.01, {len(points) - 1: thread.x[-1] + 5e-3 * 0.01 * up * on})
        ratios.append(-thread.force[-1] @ on / pull)
    ratio = float(np.mean(ratios[40:]))
    assert ratio == pytest.approx(np.exp(friction * angle), rel=0.05)
    # and the cylinder takes the difference: forces and moments balance
    torque = (ratio - 1.0) * pull * (radius + 0.125e-3)
    assert thread.wrench[0, 5] == pytest.approx(torque, rel=0.05)


def test_a_hanging_thread_pulls_with_its_weight():
    points, rod = line([[0.0, 0.0, 0.0], [4e-3, 0.0, -0.02]], 1e-3)
    thread = FilamentSteps(points, rod, THREAD._replace(drag=20.0), held=[0], gravity=np.array([0.0, 0.0, -9.81]))
    weight = 1100.0 * np.pi * 0.125e-3**2 * thread.length * 9.81
    thread.advance(2.0)
    thread.advance(0.01)
    carried = weight * (1.0 - 0.5 / (len(points) - 1))  # the held mass hangs on its holder, not on the thread
    assert np.linalg.norm(thread.force[0]) == pytest.approx(carried, rel=0.01)


def test_energy_never_rises_in_a_knot_that_moves_freely():
    points, rod = line(loose_knot((1,)), 1e-3)
    thread = FilamentSteps(points, rod, THREAD._replace(drag=0.0))
    thread.v[:] = np.random.default_rng(1).normal(scale=0.05, size=points.shape)
    energies, touched = [thread.energy], 0.0
    for _ in range(60):
        thread.advance(0.5e-3)
        energies.append(thread.energy)
        touched = max(touched, thread.overlap)
    assert touched > 0.0
    assert np.diff(energies).max() <= 1e-9 * energies[0]
    assert energies[-1] < 0.9 * energies[0]


@pytest.mark.parametrize("name", ["overhand", "square", "granny"])
def test_a_knot_stays_what_it_is_when_it_is_pulled_tight(name: str):
    bench = KnotBench(KNOTS[name], friction=0.25)
    bench.pull(0.15, (0.0, 1.0))
    assert knot(bench.thread.x).name == name
    assert 0.0 < bench.thread.overlap < 0.2 * THREAD.diameter  # it does not sink into itself


def test_friction_decides_whether_a_surgeons_knot_carries_its_load():
    for friction, holds in ((0.5, True), (0.1, False)):
        bench = KnotBench(KNOTS["surgeon's"], friction)
        bench.tie()
        assert held(bench, 0.05).whole == holds


def test_two_arms_pull_a_square_knot_tight():
    scene = knot_scene(rod=1e-3)
    hands, thread = Hands(scene), scene.objects["thread"]
    result = tighten_knot(hands, tension=0.2)
    assert result.reached
    assert result.knot.throws == (1, -1)
    # each arm feels the force of its end, and nothing else of the thread
    applied = scene.data.xfrc_applied[scene.data.xfrc_applied.any(axis=1), :3]
    assert sorted(np.linalg.norm(applied, axis=1)) == pytest.approx(sorted(thread.tension), rel=1e-6)


def test_the_same_start_gives_the_same_bits_and_a_snapshot_continues_them():
    def run(scene: Scene) -> Array:
        for _ in range(20):
            scene.step({name: np.zeros(arm.n) for name, arm in scene.arms.items()})
        return np.concatenate([scene.objects["thread"].points.ravel(), scene.data.qpos])

    first = knot_scene((1,), rod=1e-3)
    run(first)
    middle = first.snapshot()
    after = run(first)
    second = knot_scene((1,), rod=1e-3)
    run(second)
    np.testing.assert_array_equal(run(second), after)
    first.restore(middle)
    np.testing.assert_array_equal(run(first), after)
    fresh = knot_scene((1,), rod=1e-3)
    fresh.restore(middle)
    np.testing.assert_array_equal(run(fresh), after)
    first.restore(middle)
    np.testing.assert_array_equal(run(first.changed()), after)
    start = np.array(first.objects["thread"].thing.points)
    first.reset()
    assert np.abs(first.objects["thread"].points[0] - start[0]).max() < 1e-12


def test_a_scene_file_has_a_filament(tmp_path):
    file = tmp_path / "thread.toml"
    file.write_text("""
[arms.PSM1]
arm = "PSM"
[[objects]]
name = "post"
shape = "cylinder"
position = [0.2, 0.0, -0.1]
radius = 0.002
length = 0.02
[[objects]]
name = "thread"
shape = "filament"
points = [[0.2, 0.0, -0.1], [0.23, 0.0, -0.1]]
first_end = "post"
rod = 0.001
""")
    scene = load_scene(file)
    thread = scene.objects["thread"]
    weight = 1100.0 * np.pi * 0.125e-3**2 * 0.03 * 9.81
    scene.step({"PSM1": np.zeros(scene.arms["PSM1"].n)})
    assert len(thread.points) == 31
    assert 0.0 < thread.tension[0] < weight


def test_bad_threads_are_refused():
    straight = [[0.2, 0.0, -0.1], [0.25, 0.0, -0.1]]
    with pytest.raises(TrocarError, match="it must be 1 to"):
        Filament("thread", [[0.0, 0.0, 0.0], [1e-4, 0.0, 0.0]])
    with pytest.raises(TrocarError, match="must be a line"):
        Filament("thread", [[0.0, 0.0]])
    with pytest.raises(TrocarError, match="rod of thread"):
        Filament("thread", straight, rod=1e-5)
    arms = {"PSM1": SceneArm(arm="PSM", base=np.eye(4))}
    with pytest.raises(TrocarError, match="mm from the hinge of the jaws"):
        Scene(arms, objects=[Filament("thread", straight, ("PSM1", None))])
    with pytest.raises(TrocarError, match="PSM2"):
        Scene(arms, objects=[Filament("thread", straight, ("PSM2", None))])
