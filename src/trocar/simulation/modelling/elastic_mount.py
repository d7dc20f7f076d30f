"""Elastic mount: an arm on a stand or on set-up joints that deflect under its weight and motion.

A rigid mechanism pivots about one point of its base. On a real cart the base itself moves: the weight of the links
shifts as they move, the mount bends, and the remote centre of motion wanders.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from trocar.appearance.kinematic_model import DUMMY_INERTIA, DUMMY_MASS
from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.simulation.engine import Engine
from trocar.spatial import Array

MOUNT = "mount"  # body between the fixed base and the arm
SETTLED = 1e-12  # change of the deflection at convergence [rad, m]
MAX_DEFLECTION = 0.2  # largest deflection [rad, m]
# To the static deflection: each iteration reduces the error by the ratio of weight to stiffness, about a tenth.
MAX_ITERATIONS = 100


@dataclass(frozen=True, kw_only=True)
class ElasticMount:
    """Springs and dampers between the fixed base of an arm and the arm, about a point and along base axes.

    The deflection is zero with the arm at home: the base frame is defined by the loaded mount in that state.

    Attributes:
        pivot: (3,) point about which the mount bends, in the base frame [m].
        rotation: stiffness (3,) about the base axes x, y, z [N m/rad]. inf: rigid.
        translation: stiffness (3,) along the base axes [N/m]. Default: rigid.
        loss: damping over stiffness, of every spring [s].
    """

    pivot: tuple[float, float, float]
    rotation: tuple[float, float, float]
    translation: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    loss: float = 0.01

    def __post_init__(self) -> None:
        if np.shape(self.pivot) != (3,) or not np.isfinite(self.pivot).all():
            raise TrocarError(f"the pivot of an ElasticMount must be three finite numbers [m], got {self.pivot!r}")
        for name, unit in (("rotation", "N m/rad"), ("translation", "N/m")):
            value = getattr(self, name)
            if np.shape(value) != (3,) or not (np.asarray(value, dtype=float) > 0).all():
                raise TrocarError(f"{name} of an ElasticMount must be three stiffnesses > 0 [{unit}], got {value!r}")
        if not (np.isfinite(self.loss) and self.loss >= 0):
            raise TrocarError(f"loss of an ElasticMount must be a time >= 0 [s], got {self.loss!r}")
        if not self.joints:
            raise TrocarError("an ElasticMount without a finite stiffness is rigid; omit elastic_mount")

    @property
    def joints(self) -> dict[str, tuple[mujoco.mjtJoint, Array, float]]:
        """Kind, axis and stiffness of every joint of the mount, by its name in the model."""
        kinds = (
            ("slide", mujoco.mjtJoint.mjJNT_SLIDE, self.translation),
            ("hinge", mujoco.mjtJoint.mjJNT_HINGE, self.rotation),
        )
        return {
            f"{MOUNT}_{name}_{'xyz'[i]}": (kind, np.eye(3)[i], float(stiffness[i]))
            for name, kind, stiffness in kinds
            for i in range(3)
            if np.isfinite(stiffness[i])
        }


def add_mount(spec: mujoco.MjSpec, mount: ElasticMount) -> mujoco.MjsBody:
    """The body that carries the first link of the arm instead of the base."""
    body = spec.worldbody.add_body(
        name=MOUNT, explicitinertial=True, mass=DUMMY_MASS, inertia=np.full(3, DUMMY_INERTIA)
    )
    for name, (kind, axis, stiffness) in mount.joints.items():
        joint = body.add_joint(name=name, type=kind, axis=axis, pos=mount.pivot)
        joint.stiffness, joint.damping = [stiffness, 0.0, 0.0], [mount.loss * stiffness, 0.0, 0.0]
    return body


class MountDeflection:
    """The state of an elastic mount: preloaded to carry the arm at home, placed at its rest position.

    Args:
        prefix: prefix of the arm's names in the model. arm: its home is the state without deflection.
    """

    def __init__(self, engine: Engine, mount: ElasticMount, arm: Arm, prefix: str) -> None:
        self._engine, self._arm = engine, arm
        model = engine.model
        joints = [model.joint(prefix + name) for name in mount.joints]
        self._q = np.array([joint.qposadr[0] for joint in joints])
        self._v = np.array([joint.dofadr[0] for joint in joints])
        self._links = np.array([model.joint(prefix + body.name).qposadr[0] for body in arm.bodies])
        self._stiffness = np.array([stiffness for *_, stiffness in mount.joints.values()])
        self.preload()

    def preload(self) -> None:
        """Set the springs so that the mount is not deflected while the arm rests at home."""
        data = mujoco.MjData(self._engine.model)
        data.qpos[self._links] = self._arm.E @ np.array(self._arm.home)
        self._engine.model.qpos_spring[self._q] = self._load(data) / self._stiffness

    def settle(self) -> None:
        """Place the mount at its static deflection, for the arm as it stands in the engine's data."""
        data, model = mujoco.MjData(self._engine.model), self._engine.model
        data.qpos[:] = self._engine.data.qpos
        deflection, change = np.zeros(len(self._q)), np.inf
        for _ in range(MAX_ITERATIONS):
            data.qpos[self._q] = deflection
            before, deflection = deflection, model.qpos_spring[self._q] - self._load(data) / self._stiffness
            change = np.abs(deflection - before).max()
            if change < SETTLED:
                break
        if change >= SETTLED or np.abs(deflection).max() > MAX_DEFLECTION:
            raise TrocarError(
                f"the elastic mount of {self._arm.name} is too soft: it deflects by more than {MAX_DEFLECTION} rad or m"
            )
        self._engine.data.qpos[self._q] = deflection
        self._engine.data.qvel[self._v] = 0.0

    def _load(self, data: mujoco.MjData) -> Array:
        """Effort of the mount against gravity, with the arm at rest [N, N m]."""
        mujoco.mj_forward(self._engine.model, data)
        return np.array(data.qfrc_bias[self._v])
