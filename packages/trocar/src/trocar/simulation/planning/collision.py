"""Collision queries: distances of an arm's collision shapes to obstacles and to other arms, by MuJoCo.

Links of one arm pass each other by design and are not tested against each other. Only kinematics are needed, so arms
without dynamic parameters can be checked too.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.appearance.kinematic_model import attach_arm, collide_with_others, kinematic_arm
from trocar.arms import Arm
from trocar.errors import TrocarError, check_known, check_type
from trocar.simulation.objects.scene_object import Contact, Part
from trocar.simulation.objects.solid import Obstacle
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.spatial import Array, checked_pose

FAR = 10.0  # [m] beyond which distances are not computed
OBSTACLE = "obstacle/"


class ObstaclePart(Part):
    """An obstacle by its name or index."""

    def __str__(self) -> str:
        return f"obstacle '{self.name}'"


class CollisionScene:
    """One or more arms among obstacles. World and base coordinates are the same unless `bases` places an arm.

    Args:
        arms: an Arm or simulated arm, or several by name.
        obstacles: by name, in world coordinates; or a sequence, named by index.
        bases: poses T_world_base (4, 4) of the arms by name. Default: identity.

    Joint vectors of several arms are concatenated in the order of `arms`. Threads may share a
    scene: one query runs at a time.
    """

    def __init__(
        self,
        arms: Arm | SimulatedArm | Mapping[str, Arm | SimulatedArm],
        obstacles: Mapping[str, Obstacle] | Sequence[Obstacle] = (),
        bases: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        several = arms if isinstance(arms, Mapping) else {_arm(arms).name: arms}
        self.arms = {name: _arm(arm) for name, arm in several.items()}
        if not self.arms:
            raise TrocarError("a collision scene needs an arm")
        if not isinstance(obstacles, Mapping):
            obstacles = {str(i): obstacle for i, obstacle in enumerate(obstacles)}
        self.obstacles = dict(obstacles)
        check_known("arm of the scene", self.arms, *(bases or {}))
        spec = mujoco.MjSpec()
        for k, (name, arm) in enumerate(self.arms.items()):
            shapes = collision_shapes(arm)
            collide_with_others(shapes, k, len(self.arms))
            attach_arm(spec, shapes, name, checked_pose((bases or {}).get(name, np.eye(4))))
        for name, obstacle in self.obstacles.items():
            spec.worldbody.add_geom(name=OBSTACLE + name, contype=0, conaffinity=1, **obstacle.geom())
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self._lock = threading.Lock()  # queries place the arms in the model and read the result there
        self._E = np.zeros((self.model.nq, self.n))
        column = 0
        for name, arm in self.arms.items():
            for body, row in zip(arm.bodies, arm.E, strict=True):
                joint = self.model.joint(f"{name}/{body.name}")
                self._E[joint.qposadr[0], column : column + arm.n] = row
            column += arm.n
        self._parts = [_part(self.model, g) for g in range(self.model.ngeom)]
        self._pairs = _pairs(self.model)

    @property
    def n(self) -> int:
        """Number of joints, of all arms together."""
        return sum(arm.n for arm in self.arms.values())

    def contact(self, q: ArrayLike, margin: float = 0.0) -> Contact | None:
        """The deepest contact at q (n,) [rad, m], or None; pairs nearer than `margin` [m] count as touching."""
        with self._lock:
            self._place(q)
            # the margin of bodies too: otherwise their bounding boxes are tested without it, and near pairs are missed
            self.model.geom_margin[:] = self.model.body_margin[:] = margin
            mujoco.mj_collision(self.model, self.data)
            if self.data.ncon == 0:
                return None
            distances = self.data.contact.dist
            k = int(distances.argmin())
            if distances[k] > margin:
                return None
            a, b = self.data.contact.geom[k]
            return self._contact(a, b, float(distances[k]))

    def collides(self, q: ArrayLike, margin: float = 0.0) -> bool:
        """True if any pair is nearer than `margin` [m] at q (n,)."""
        return self.contact(q, margin) is not None

    def clearance(self, q: ArrayLike) -> Contact:
        """The nearest pair at q (n,) and its signed distance [m], negative by the depth of the overlap."""
        if not self._pairs:
            raise TrocarError("a scene of one arm without obstacles has no distances; add obstacles")
        points, best, nearest = np.zeros(6), FAR, self._pairs[0]
        with self._lock:
            self._place(q)
            for a, b in self._pairs:
                distance = mujoco.mj_geomDistance(self.model, self.data, a, b, best, points)
                if distance < best:
                    best, nearest = distance, (a, b)
        return self._contact(*nearest, float(best))

    def levers(self) -> Array:
        """(n,) largest displacement of the collision shapes per joint [m/rad, m/m], over 50 states within limits."""
        rng = np.random.default_rng(0)
        low, high = (np.concatenate([getattr(arm, end) for arm in self.arms.values()]) for end in ("lower", "upper"))
        model, most = self.model, np.zeros(self.n)
        linear, angular = np.zeros((2, 3, model.nv))
        solid = [g for g in range(model.ngeom) if model.geom_bodyid[g] != 0]
        for q in rng.uniform(low, high, (50, self.n)):
            with self._lock:
                self._place(q)
                mujoco.mj_comPos(model, self.data)
                for g in solid:
                    mujoco.mj_jacGeom(model, self.data, linear, angular, g)
                    reach = np.linalg.norm(linear @ self._E, axis=0)
                    most = np.maximum(most, reach + model.geom_rbound[g] * np.linalg.norm(angular @ self._E, axis=0))
        return most

    def _place(self, q: ArrayLike) -> None:
        q = np.asarray(q, dtype=float)
        if q.shape != (self.n,):
            raise TrocarError(f"the scene of {', '.join(self.arms)} has {self.n} joints, got q of shape {q.shape}")
        if not np.isfinite(q).all():
            raise TrocarError(f"q is not finite: {q}")
        self._E.dot(q, self.data.qpos)
        mujoco.mj_kinematics(self.model, self.data)

    def _contact(self, a: int, b: int, distance: float) -> Contact:
        first, second = sorted((a, b), key=lambda g: bool(self.model.geom_bodyid[g] == 0))
        return Contact(self._parts[first], self._parts[second], distance)


def collision_shapes(arm: Arm) -> mujoco.MjSpec:
    """The links of an arm with only their collision shapes, as freely placed bodies."""
    spec, _ = kinematic_arm(arm)
    seen = [geom for geom in spec.geoms if not geom.contype and not geom.conaffinity]
    for part in (*spec.pairs, *seen, *spec.meshes):
        spec.delete(part)
    return spec


def _pairs(model: mujoco.MjModel) -> list[tuple[int, int]]:
    """Pairs of geoms whose masks allow contact."""
    first = model.geom_contype[:, None] & model.geom_conaffinity
    return [(int(a), int(b)) for a, b in np.argwhere(np.triu(first | first.T, 1))]


def _part(model: mujoco.MjModel, geom: int) -> Part:
    """The obstacle or link of a geom."""
    body = model.geom_bodyid[geom]
    if body == 0:
        return ObstaclePart(model.geom(geom).name.removeprefix(OBSTACLE))
    arm, _, link = model.body(body).name.partition("/")
    return Part(link, arm)


def _arm(arm: Arm | SimulatedArm) -> Arm:
    arm = arm.arm if isinstance(arm, SimulatedArm) else arm
    check_type("arms", arm, Arm, "an Arm or a Simulator")
    return arm
