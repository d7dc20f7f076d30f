"""Pairs of links of one arm that a planner need not test, found by adjacency and by sampling the collision shapes.

The reasons are those of MoveIt's setup assistant. A pair that collides at some states only has the reason User: within
its joint limits no link of a da Vinci arm hits another; where the simple shapes overlap, the real links are adjacent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations

import mujoco
import numpy as np

from trocar.appearance.kinematic_model import kinematic_arm
from trocar.arms import Arm
from trocar.simulation.export.urdf import placed
from trocar.spatial import Array, quaternion

SAMPLES = 2000  # states within the joint limits
Pair = frozenset[str]


def collision_matrix(arm: Arm, home: Array, joined: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Reason not to test each pair of bodies that have collision shapes: Adjacent, Always, Default, Never or User.

    Args:
        home: joints (n,) [rad, m] for Default. joined: pairs with a joint between them, in the exported tree;
            names that are not bodies are links without a shape.
    """
    model = _solids(arm)
    solid = [body.name for body in arm.bodies if model.body(body.name).geomnum[0]]
    loops = [(loop.body_a, loop.body_b) for loop in arm.loops if loop.body_a and loop.body_b]
    adjacent = _adjacent([*joined, *loops], solid)
    states = np.random.default_rng(0).uniform(arm.lower, arm.upper, (SAMPLES, arm.n))
    data, count = mujoco.MjData(model), dict.fromkeys(map(frozenset, combinations(solid, 2)), 0)
    at_home = _touching(model, data, arm.E @ home)
    for q in states:
        for pair in _touching(model, data, arm.E @ q):
            count[pair] += 1

    def reason(pair: Pair) -> str:
        if pair in adjacent:
            return "Adjacent"
        if count[pair] in (0, SAMPLES):
            return "Always" if count[pair] else "Never"
        return "Default" if pair in at_home else "User"

    return {(first, second): reason(frozenset((first, second))) for first, second in combinations(solid, 2)}


def _solids(arm: Arm) -> mujoco.MjModel:
    """The links with the shapes of the URDF, where a capsule is a cylinder of its full length; all can collide."""
    spec, _ = kinematic_arm(arm)
    for part in (*spec.pairs, *(geom for geom in spec.geoms if not geom.contype), *spec.meshes):
        spec.delete(part)
    for geom in spec.geoms:
        T, size, kind = placed(geom)
        geom.fromto = np.full(6, np.nan)
        geom.pos, geom.quat = T[:3, 3], quaternion(T[:3, :3])
        if kind == "capsule":
            geom.type, geom.size = mujoco.mjtGeom.mjGEOM_CYLINDER, [size[0], size[1] + size[0], 0.0]
        geom.contype = geom.conaffinity = 1
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
    return spec.compile()


def _touching(model: mujoco.MjModel, data: mujoco.MjData, qpos: Array) -> set[Pair]:
    """Pairs of bodies that overlap."""
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    contacts = data.contact
    return {
        frozenset(model.body(model.geom_bodyid[geom]).name for geom in geoms)
        for geoms, distance in zip(contacts.geom, contacts.dist, strict=True)
        if distance < 0
    }


def _adjacent(joined: Iterable[tuple[str, str]], solid: Collection[str]) -> set[Pair]:
    """Pairs with a joint between them, or only links without a shape."""
    edges = {frozenset(pair) for pair in joined}
    for empty in {name for pair in edges for name in pair} - set(solid):
        around = {name for pair in edges if empty in pair for name in pair} - {empty}
        edges = {pair for pair in edges if empty not in pair} | set(map(frozenset, combinations(around, 2)))
    return edges
