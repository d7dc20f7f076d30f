"""Objects of a scene: what all kinds have in common, a contact, and an object in the state of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.appearance.studio import Trace
from trocar.errors import TrocarError, shown
from trocar.spatial import Array, checked_pose, pose, quaternion

MAX_NAME = 60  # [characters] of an arm or an object in a scene
OBJECT = "object/"  # prefix of the names of objects in the engine's model
OBJECT_GROUP = 0  # geom group of objects: visible, and not used by arms
# Bits of the collision masks. Arms and solids have bit 0 in contype; arms use the bits above it among themselves, the
# highest one only in a scene of 30 arms. Solids collide with each other by pairs, which have no masks.
ANYTHING, TISSUES = 1, 1 << 30
FIXED_PRIORITY = 1  # priority of the geoms of fixed objects; lighter free objects have higher ones
# A soft object has the highest: settings for a solid's weight would be far too soft for its light nodes.
SOFT_PRIORITY = 1_000_000


class SceneObject:
    """An object that instruments can touch. Its body in the model is called OBJECT + name.

    Attributes:
        name: unique name. pose: T_base_object (4, 4) at reset.
        mass: of an object that moves freely [kg]; None for one that is fixed to the base.
        soft: it deforms; such objects need accuracy="discrete" and more iterations of the solver.
    """

    name: str
    pose: ArrayLike
    mass: float | None = None
    soft: ClassVar[bool] = False

    @property
    def partners(self) -> tuple[str, ...]:
        """Names of arms and objects that must be in its scene."""
        return ()

    def add_to(self, spec: mujoco.MjSpec) -> None:
        """Add its bodies and geoms to a MuJoCo model."""
        raise NotImplementedError

    def set_contact(self, model: mujoco.MjModel, tips: Sequence[int], priority: int) -> None:
        """Set its contacts in the compiled model; by default they stay as they are.

        Args:
            tips: ids of the bodies at the tips of arms. priority: of its geoms; between two objects, the settings of
                the one with the higher priority apply.
        """

    def placed(self, model: mujoco.MjModel, data: mujoco.MjData) -> PlacedObject:
        """This object in the state of a simulation."""
        return PlacedObject(self, model, data)


def node_count(size: ArrayLike, spacing: float) -> float:
    """Number of nodes of a grid over a box (3,), infinite if floats cannot hold it; size, spacing: [m]."""
    x, y, z = (1.0 + edge / spacing for edge in np.asarray(size, dtype=float).tolist())
    return float(np.ceil(x)) * float(np.ceil(y)) * float(np.ceil(z))


def check_name(name: str) -> None:
    """Raise an error unless the name of an object is short, printable text."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise TrocarError(f"an object needs a name of 1 to {MAX_NAME} printable characters, got {shown(name)}")


@dataclass(frozen=True, slots=True)
class Part:
    """A body that can touch another: an object by its name, or a link of an arm."""

    name: str
    arm: str | None = None

    def __str__(self) -> str:
        return self.name if self.arm is None else f"{self.name} of {self.arm}"


@dataclass(frozen=True)
class Contact:
    """The nearest pair of shapes, and their distance [m], negative if they overlap."""

    first: Part
    second: Part
    distance: float

    @property
    def of_arm(self) -> bool:
        """True if an arm touches another arm or an object."""
        return self.first.arm is not None or self.second.arm is not None

    @property
    def link_and_object(self) -> tuple[Part, str] | None:
        """The link and the name of the object, if a link of an arm touches an object."""
        if (self.first.arm is None) == (self.second.arm is None):
            return None
        return (self.second, self.first.name) if self.first.arm is None else (self.first, self.second.name)

    def __str__(self) -> str:
        if self.distance >= 0:
            return f"{self.first} is {1e3 * self.distance:.3g} mm from {self.second}"
        return f"{self.first} overlaps {self.second} by {-1e3 * self.distance:.3g} mm"


class PlacedObject:
    """An object of a scene in its current state.

    An object with a process of its own, such as tissue that a needle pierces, overrides `after_step`, which the engine
    calls after every step, and `memory`, its state outside MuJoCo's.

    Attributes:
        driven: its pose follows from the time alone, and pictures ask for it.
    """

    driven: ClassVar[bool] = False

    def __init__(self, thing: SceneObject, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.thing, self._model, self._data = thing, model, data
        body = model.body(OBJECT + thing.name)
        self.body = int(body.id)
        # views of its position and quaternion, and of its velocity; None if it is not free
        self._qpos = self._qvel = None
        if body.jntnum[0] and model.jnt_type[body.jntadr[0]] == mujoco.mjtJoint.mjJNT_FREE:
            q, v = int(model.jnt_qposadr[body.jntadr[0]]), int(model.jnt_dofadr[body.jntadr[0]])
            self._qpos, self._qvel = data.qpos[q : q + 7], data.qvel[v : v + 6]

    @property
    def line(self) -> Trace | None:
        """The line that pictures show of an object that is not in MuJoCo's model, in the world."""
        return None

    @property
    def acts(self) -> bool:
        """True if `after_step` does anything."""
        return type(self).after_step is not PlacedObject.after_step

    def meet(self, objects: Mapping[str, PlacedObject]) -> None:
        """Find the other objects that this one acts on; called once, when all objects are placed."""

    def reset(self) -> None:
        """Forget everything: MuJoCo's data were reset."""

    def after_step(self) -> None:
        """Update the process of this object after a step; poses are up to date."""

    def cut(self, path: ArrayLike) -> int:
        """Cut it along the path of a blade and return the number of parts that were severed; 0 if it cannot be cut.

        path: successive places (n, 2, 3) of the two ends of the blade's edge in the base [m].
        """
        return 0

    @property
    def memory(self) -> Any:
        """State outside MuJoCo's; together they determine the future. Assign it to restore a snapshot."""
        return None

    @memory.setter
    def memory(self, memory: Any) -> None:
        pass

    @property
    def pose(self) -> Array:
        """T_base_object (4, 4). Set it to move a free object, which is then at rest; others raise an error."""
        if self._qpos is None:
            return np.array(self.thing.pose, dtype=float)
        turn, R = self._qpos[3:], np.empty(9)
        mujoco.mju_quat2Mat(R, turn / np.linalg.norm(turn))
        return pose(R.reshape(3, 3), self._qpos[:3])

    @pose.setter
    def pose(self, T: ArrayLike) -> None:
        if self._qpos is None or self._qvel is None:
            raise TrocarError(f"{self.thing.name} is fixed or soft and cannot be moved")
        T = checked_pose(T)
        self._qpos[:], self._qvel[:] = [*T[:3, 3], *quaternion(T[:3, :3])], 0.0
        mujoco.mj_forward(self._model, self._data)

    @property
    def twist(self) -> Array:
        """Velocity (6,) of its origin [m/s] and angular velocity [rad/s], base axes; zero if it is not free."""
        if self._qvel is None:
            return np.zeros(6)
        # MuJoCo's angular velocity is in the body
        return np.concatenate([self._qvel[:3], self.pose[:3, :3] @ self._qvel[3:]])

    @property
    def faces(self) -> Array:
        """Triangles (k, 3) of the surface of a soft object, as indices of `vertices`; empty for a rigid one."""
        flex = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_FLEX, OBJECT + self.thing.name)
        if flex < 0:
            return np.empty((0, 3), dtype=int)
        first, count = int(self._model.flex_shelldataadr[flex]), int(self._model.flex_shellnum[flex])
        return np.array(self._model.flex_shell[first : first + 3 * count].reshape(-1, 3))

    @property
    def vertices(self) -> Array:
        """Nodes (k, 3) of a soft object in the base [m]; empty for a rigid one."""
        flex = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_FLEX, OBJECT + self.thing.name)
        if flex < 0:
            return np.empty((0, 3))
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_flex(self._model, self._data)
        first, count = int(self._model.flex_vertadr[flex]), int(self._model.flex_vertnum[flex])
        return np.array(self._data.flexvert_xpos[first : first + count])
