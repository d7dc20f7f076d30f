"""Phantoms of the force tasks: stiffness over an inclusion, forces on the jaws, a surface that breathes."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import spsolve

from trocar_learning.envs import make_task
from trocar_learning.envs.actions import jaw_action
from trocar_learning.envs.tasks.phantom import PlacedPhantom, StiffInclusion, overlap

CLOSED = jaw_action(0.0)
DOWN = np.array([0.0, 0.0, -0.3, 0.0, 0.0, 0.0, CLOSED, 0.0, 0.0, -1.0])


def ball(**changes: float) -> StiffInclusion:
    return StiffInclusion(
        **{"centre": (0.0, 0.0), "radius": 5e-3, "cover": 2e-3, "ratio": 10.0, "young": 3e4} | changes
    )


@pytest.mark.parametrize("thickness", [0.01, 0.02, 0.05])
def test_a_block_without_an_inclusion_tends_to_the_stiffness_of_boussinesq(thickness):
    a, E, nu = 3.5e-3, 3e4, 0.45
    half_space = 2 * a * E / (1 - nu**2)  # of a flat punch
    block = ball(ratio=1.0, thickness=thickness)
    depth = block.spread * thickness
    assert block.stiffness(np.array(0.0)) == pytest.approx(half_space * (1 + a / depth), rel=1e-3)


def test_the_shared_area_of_circles_agrees_with_a_count_of_points():
    axis = np.arange(-1.5, 2.5, 0.01) + 0.005
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for a, b, d in [(1.0, 0.7, 1.2), (1.0, 0.7, 0.2), (0.5, 0.5, 0.9), (0.4, 1.3, 1.0), (0.3, 0.4, 1.0)]:
        inside = (np.hypot(*points.T) < a) & (np.hypot(points[:, 0] - d, points[:, 1]) < b)
        assert overlap(np.array(a), np.array(b), np.array(d)) == pytest.approx(1e-4 * inside.sum(), abs=2e-3)


def punched(ball: StiffInclusion, edge: float = 5e-4) -> float:
    """Stiffness [N/m] above the middle of the ball by axisymmetric finite elements: a rigid disc without friction."""
    outer, a, nu = 0.03, ball.indenter, ball.poisson
    nr, nz = round(outer / edge), round(ball.thickness / edge)
    number = np.arange((nr + 1) * (nz + 1)).reshape(nr + 1, nz + 1)
    i, j = (index.ravel() for index in np.meshgrid(np.arange(nr), np.arange(nz), indexing="ij"))
    nodes = np.stack([number[i, j], number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]], axis=1)
    u = edge * (np.arange(4) + 0.5) / 4
    r, z = edge * i[:, None, None] + u[:, None], edge * j[:, None, None] + u
    filled = (r**2 + (z - ball.cover - ball.radius) ** 2 <= ball.radius**2).mean(axis=(1, 2))
    D = np.full((3, 3), nu) + (1 - 2 * nu) * np.eye(3)
    D = np.block([[D, np.zeros((3, 1))], [np.zeros((1, 3)), np.array([[(1 - 2 * nu) / 2]])]]) / (
        (1 + nu) * (1 - 2 * nu)
    )
    K = np.zeros((len(i), 8, 8))
    for x, y in product([-(3**-0.5), 3**-0.5], repeat=2):
        shape = np.array([(1 - x) * (1 - y), (1 + x) * (1 - y), (1 + x) * (1 + y), (1 - x) * (1 + y)]) / 4
        along_r = np.array([y - 1, 1 - y, 1 + y, -1 - y]) / (2 * edge)
        along_z = np.array([x - 1, -1 - x, 1 + x, 1 - x]) / (2 * edge)
        radius = edge * (i + (1 + x) / 2)
        B = np.zeros((len(i), 4, 8))
        B[:, 0, 0::2], B[:, 1, 1::2], B[:, 2, 0::2] = along_r, along_z, shape / radius[:, None]
        B[:, 3, 0::2], B[:, 3, 1::2] = along_z, along_r
        K += (np.pi * edge**2 / 2 * radius)[:, None, None] * (B.transpose(0, 2, 1) @ D @ B)
    K *= ball.young * (1 + (ball.ratio - 1) * filled)[:, None, None]
    rows = np.stack([2 * nodes, 2 * nodes + 1], axis=2).reshape(-1, 8)
    every = np.repeat(rows, 8, axis=1).ravel(), np.tile(rows, 8).ravel()
    whole = csr_matrix((K.ravel(), every))
    disc = 2 * number[: round(a / edge) + 1, 0] + 1
    held = np.unique(np.concatenate([disc, 2 * number[:, -1], 2 * number[:, -1] + 1, 2 * number[0]]))
    free, moved = np.setdiff1d(np.arange(whole.shape[0]), held), np.zeros(whole.shape[0])
    moved[disc] = 1.0
    moved[free] = spsolve(whole[free][:, free].tocsc(), -(whole[free] @ moved))
    return float((whole @ moved)[disc].sum())


def test_the_stiffness_agrees_with_finite_elements():
    plain = ball(ratio=1.0)
    assert plain.stiffness(np.array(0.0)) == pytest.approx(punched(plain), rel=0.05)
    for changes in ({}, {"radius": 3e-3, "ratio": 5.0}, {"radius": 3e-3, "ratio": 5.0, "cover": 3e-3}):
        stiff = ball(**changes)
        contrast = float(stiff.stiffness(np.array(0.0)) / plain.stiffness(np.array(0.0)))
        assert contrast == pytest.approx(punched(stiff) / punched(plain), rel=0.15)
        assert contrast > 1.05


def test_stiffness_falls_with_the_distance_and_with_the_cover():
    distance = np.linspace(0.0, 0.03, 31)
    k = ball().stiffness(distance)
    assert (np.diff(k) <= 1e-9).all()
    assert k[-1] == pytest.approx(float(ball(ratio=1.0).stiffness(np.array(0.0))), rel=1e-3)
    assert k[0] > ball(cover=4e-3).stiffness(distance)[0] > 1.05 * k[-1]


def test_pressed_jaws_feel_the_stiffness_of_the_place_as_a_weight_at_rest():
    env = make_task("Palpate")
    env.reset(seed=1)
    world = env.world
    block = world.scene.objects["tissue"]
    assert isinstance(block, PlacedPhantom)
    while world.value("measured") < 0.6:
        env.step(DOWN)
    rest = np.append(np.zeros(6), [CLOSED, 0.0, 0.0, -1.0])
    for _ in range(15):
        env.step(rest)
    end = (world.scene.T_world_tip("PSM") @ [0.0, 0.0, block.thing.reach, 1.0])[:3]
    T_face, ball, force = np.asarray(block.thing.pose), block.thing.inclusion, world.value("force")
    x, y, z = (end - T_face[:3, 3]) @ T_face[:3, :3]
    distance = np.hypot(x - ball.centre[0], y - ball.centre[1])
    assert force == pytest.approx(float(ball.stiffness(distance)) * -z, rel=0.02)
    # the motors carry it: effort of the insertion beyond friction and weight
    assert world.scene.data.xfrc_applied.any()
    assert env.task.details(world)["peak_force"][0] >= force


def test_too_much_force_and_a_wrong_declaration_end_an_episode():
    env = make_task("Palpate")
    env.reset(seed=1)
    over = False
    while not over:
        *_, terminated, truncated, info = env.step(DOWN + np.eye(10)[2] * -0.7)
        over = terminated or truncated
    assert terminated
    assert info["peak_force"] > 3.0
    env.reset(seed=1)
    wrong = -np.sign(env.world.value("place"))
    *_, terminated, _, info = env.step(np.concatenate([np.zeros(6), [CLOSED], wrong, [1.0]]))
    assert terminated
    assert not info["is_success"]
    env.reset(seed=1)
    *_, terminated, _, info = env.step(np.concatenate([np.zeros(6), [CLOSED], env.world.value("place") / 0.015, [1.0]]))
    assert terminated
    assert info["is_success"]


def test_a_breathing_surface_moves_also_in_a_copy_and_in_pictures():
    env = make_task("ForceHold")
    env.reset(seed=0)
    pad = env.world.scene.objects["pad"]
    before = pad.pose[2, 3]
    for _ in range(10):
        env.step(np.append(np.zeros(6), CLOSED))
    model, thing = env.world.scene.model, pad.thing
    expected = np.asarray(thing.pose)[2, 3] + thing.height(env.world.time)
    assert model.body_pos[pad.body, 2] == pytest.approx(expected, abs=1e-12)
    assert abs(pad.pose[2, 3] - before) > 1e-5
    assert env.world.scene.fixed_poses()["object/pad"][2, 3] == pytest.approx(expected, abs=1e-12)
    copy = pickle.loads(pickle.dumps(env)).world.scene
    assert copy.model.body_pos[pad.body, 2] == model.body_pos[pad.body, 2]
