"""Objects in a model: solver settings for contact, and contacts with a given stiffness."""

from __future__ import annotations

from collections.abc import Container, Sequence

import mujoco
import numpy as np

from trocar.arms import Arm
from trocar.errors import TrocarError
from trocar.simulation.objects.soft_slab import SoftSlab
from trocar.simulation.objects.solid import FIXED_PRIORITY, OBJECT, Solid

Object = Solid | SoftSlab

# Impedance of a contact with given stiffness: at this value MuJoCo's force is that of a spring and a damper.
SPRING_IMPEDANCE = 0.1
# Largest k h^2 and b h of such a contact, h the timestep: a time constant of two steps, MuJoCo's minimum.
RESOLVED_K, RESOLVED_B = 0.25, 1.0
HARDEST = 0.9999  # MuJoCo's largest impedance
# Inertia of a finger about its pin [kg m^2]: a gram at 3 mm. A finger that only follows the other has almost none in
# the parameters, and its coupling would yield to the slightest contact.
FINGER_INERTIA = 1e-8
# Needed to hold a needle: an elliptic cone, and friction ten times stiffer than the normal contact. With MuJoCo's
# defaults, a pyramid and equal stiffness, a needle creeps out of the jaws.
IMPRATIO = 10.0
# With soft bodies the solver needs about 150 iterations at the arm's tolerance.
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
    """Solver settings for contacts."""
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = IMPRATIO


def set_stiffness(model: mujoco.MjModel, objects: Sequence[Object], tips: Sequence[int]) -> None:
    """Give contacts with the bodies `tips` (ids, at the tips of arms) approximately the stated stiffness and damping.

    With several arms the values hold for their mean weight; contacts with other bodies are of that order. Between two
    objects, the values of the lighter one apply.

    MuJoCo's contact force at rest is f = -(k r + b v) / R, R = W (1 - d) / d with the impedance d and the weight W of
    the two bodies: k = K R, b = B R, for any R. A large R, d = 0.1, makes f that of a spring and a damper, which is
    right for the arm against a fixed object. Such a contact would eject a body so light that its velocity is reversed
    within a step. With a small R the acceleration is at most k r + b v, for any mass and any number of points, so
    for a free body R is so small that the timestep h resolves both: k h^2 <= 1/4, b h <= 1. Its stiffness at
    rest is the same; its damping is at least critical, b^2 >= 4 k, or it would bounce.

    Damping must not be too large either: convex friction lifts a sliding tip by friction * b v / k. If that exceeds
    its penetration, the contact is lost every other step.
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
