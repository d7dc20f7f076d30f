"""Objects in a model: solver settings for contact, and contacts of a given stiffness."""

from __future__ import annotations

from collections.abc import Container, Sequence

import mujoco
import numpy as np

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.simulation.objects.soft_slab import SoftSlab
from trocar.simulation.objects.solid import FIXED_PRIORITY, OBJECT, Solid

Object = Solid | SoftSlab

# A contact of given stiffness: MuJoCo's force is that of a spring and a damper if it is this far from hard.
SPRING_IMPEDANCE = 0.1
# Largest k h^2 and b h of such a contact, h the timestep: as of a time constant of two steps, MuJoCo's least.
RESOLVED_K, RESOLVED_B = 0.25, 1.0
HARDEST = 0.9999  # MuJoCo's largest impedance
# Of a finger about its pin [kg m^2]: a gram at 3 mm. One that only follows the other has next to none in the
# parameters, and its coupling would give way to the least contact.
FINGER_INERTIA = 1e-8
# Needed to hold a needle: a cone that is round, and friction ten times harder than the normal contact. With the
# pyramid and equal hardness, MuJoCo's defaults, a needle creeps out of the jaws.
IMPRATIO = 10.0
# The solver of soft bodies reports too few iterations below about 150 at the arm's tolerance.
SOFT_ITERATIONS = 300


def add_objects(spec: mujoco.MjSpec, objects: Sequence[Object], accuracy: str) -> None:
    """Add objects to the model of one arm or several, and the settings of the solver that contact needs."""
    names = [thing.name for thing in objects]
    for name in names:
        if names.count(name) > 1:
            raise TrocarError(f"two objects are called {name!r}")
    soft = [thing.name for thing in objects if isinstance(thing, SoftSlab)]
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
    """The settings of the solver for things that touch."""
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = IMPRATIO


def set_stiffness(model: mujoco.MjModel, objects: Sequence[Object], tips: Sequence[int]) -> None:
    """Give contacts with the bodies `tips` (ids, at the tips of arms) the stiffness and damping stated, about.

    With several arms it is that for their mean weight; contacts with other bodies are of that order. Of two objects
    that touch, the numbers of the lighter hold.

    MuJoCo's contact force at rest is f = -(k r + b v) / R, R = W (1 - d) / d with the impedance d and the weight W of
    the two bodies: k = K R, b = B R, whatever R. A large one, d = 0.1, makes f that of a spring and a damper, right
    for the arm against something fixed. They would throw a body off that is so light that they turn it round within a
    step. But with a small R acceleration is k r + b v at most, whatever the mass and however many points touch, so
    for a free body R is so small that the timestep h resolves these two: k h^2 <= 1/4, b h <= 1. Its stiffness at
    rest is the same; its damping is at least critical, b^2 >= 4 k, or it would hop.

    Damping must not be too large either: convex friction lifts a sliding tip by friction * b v / k. More than it is
    pressed in, and the contact is lost every other step.
    """
    h, d = model.opt.timestep, SPRING_IMPEDANCE
    free = [thing for thing in objects if isinstance(thing, Solid) and thing.mass is not None]
    masses = sorted({thing.mass for thing in free if thing.mass is not None}, reverse=True)
    for thing in objects:
        if isinstance(thing, SoftSlab):
            continue
        body = model.body(OBJECT + thing.name)
        geoms = slice(int(body.geomadr[0]), int(body.geomadr[0] + body.geomnum[0]))
        if thing.mass is not None:
            model.geom_priority[geoms] = FIXED_PRIORITY + 1 + masses.index(thing.mass)
        if thing.stiffness is None:
            continue
        K, B = thing.stiffness, thing.damping
        W = model.body_invweight0[body.id, 0] + model.body_invweight0[list(tips), 0].mean()
        R = W * (1.0 - d) / d
        hard = min(RESOLVED_K / (K * h**2), RESOLVED_B / (B * h) if B else np.inf)
        if thing.mass is not None and hard < R:
            R, B = hard, max(B, 2.0 * np.sqrt(K / hard))
        D = min(W / (W + R), HARDEST)
        model.geom_solref[geoms] = [-K * R * D, -B * R * D]  # MuJoCo divides both by d
        model.geom_solimp[geoms] = [D, D, 1e-3, 0.5, 2.0]
