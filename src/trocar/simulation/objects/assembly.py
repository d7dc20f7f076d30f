"""Objects in a model, and the settings of the solver that contact needs."""

from __future__ import annotations

from collections.abc import Container, Sequence

import mujoco

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.simulation.objects.scene_object import FIXED_PRIORITY, SceneObject

# Inertia of a finger about its pin [kg m^2]: a gram at 3 mm. A finger that only follows the other has almost none in
# the parameters, and its coupling would yield to the slightest contact.
FINGER_INERTIA = 1e-8
# Needed to hold a needle: an elliptic cone, and friction ten times stiffer than the normal contact. With MuJoCo's
# defaults, a pyramid and equal stiffness, a needle creeps out of the jaws.
IMPRATIO = 10.0
# With soft bodies the solver needs about 150 iterations at the arm's tolerance.
SOFT_ITERATIONS = 300


def add_objects(spec: mujoco.MjSpec, objects: Sequence[SceneObject], accuracy: str) -> None:
    """Add objects to the model of one arm or several, and the settings of the solver that contact needs."""
    names = [thing.name for thing in objects]
    for name in names:
        if names.count(name) > 1:
            raise TrocarError(f"two objects are called {name!r}")
    soft = [thing.name for thing in objects if thing.soft]
    if soft and accuracy != "discrete":
        raise TrocarError(f'{soft[0]} is soft: it needs accuracy="discrete", not {accuracy!r}')
    for thing in objects:
        thing.add_to(spec)
    if not objects:
        return
    friction_cone(spec)
    spec.option.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    if soft:
        spec.option.iterations = SOFT_ITERATIONS


def firm_fingers(spec: mujoco.MjSpec, arm: Arm, with_inertia: Container[str]) -> None:
    """Add inertia to followers that have none, in the model of an arm whose instrument touches things.

    Args:
        with_inertia: names of the bodies whose inertia is in the parameters.
    """
    for follower in arm.transmissions:
        if follower not in with_inertia:
            spec.joint(follower).armature += FINGER_INERTIA


def friction_cone(spec: mujoco.MjSpec) -> None:
    """Solver settings for contacts."""
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = IMPRATIO


def set_contacts(model: mujoco.MjModel, objects: Sequence[SceneObject], tips: Sequence[int]) -> None:
    """Set the contacts of all objects; tips: ids of the bodies at the tips of arms.

    Between two objects, the settings of the lighter one apply.
    """
    masses = sorted({thing.mass for thing in objects if thing.mass is not None}, reverse=True)
    for thing in objects:
        priority = FIXED_PRIORITY if thing.mass is None else FIXED_PRIORITY + 1 + masses.index(thing.mass)
        thing.set_contact(model, tips, priority)
