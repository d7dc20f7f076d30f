"""MuJoCo specification of loaded arms, a cart and objects, and the model compiled for simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco

from trocar.appearance.arm_shapes import JAW
from trocar.appearance.kinematic_model import SET_UP, add_patient_cart, attach_arm, collide_with_others
from trocar.appearance.sketch import COLLISION, VISUAL
from trocar.mechanics import Mechanism
from trocar.mechanics.cart import Cart
from trocar.simulation.modelling.arm_model import build
from trocar.simulation.objects import SceneObject
from trocar.simulation.objects.assembly import add_objects, firm_fingers, friction_cone
from trocar.simulation.scene_arm import SceneArm
from trocar.spatial import Array

OPTIONS = ("timestep", "integrator", "gravity", "solver", "tolerance", "iterations", "disableflags")


def scene_model(
    arms: Mapping[str, tuple[Mechanism, SceneArm]],
    bases: Mapping[str, Array],
    mounts: Mapping[str, str],
    *,
    cart: Cart | None,
    objects: Sequence[SceneObject],
    gravity: Array,
    timestep: float,
    accuracy: str,
    contacts: bool,
    prefixed: bool,
    visual: bool,
) -> mujoco.MjSpec:
    """The specification of a scene.

    Args:
        arms: equations and options of every arm. visual: add visual shapes.
        bases: T_world_base (4, 4) of every arm. mounts: mount of each arm on the cart. gravity: (3,) [m/s^2].
        prefixed: False for one arm whose base is the world: its names are then not prefixed by `name/`.
    """
    models = {name: build(*arm, gravity, timestep, accuracy, visual) for name, arm in arms.items()}
    if objects:
        for name, model in models.items():
            mechanism, _ = arms[name]
            firm_fingers(model, mechanism.arm, mechanism.dynamic_parameters.inertias)
    scene = _attached(models, bases) if prefixed else next(iter(models.values()))
    add_objects(scene, objects, accuracy)
    if len(arms) > 1:
        friction_cone(scene)
        # arms are not coupled by joints, so most entries of the matrices are zero
        scene.option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
    if not contacts:
        scene.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    if cart is not None and visual:
        add_patient_cart(scene, cart, mounts)
    return scene


def _attached(models: Mapping[str, mujoco.MjSpec], bases: Mapping[str, Array]) -> mujoco.MjSpec:
    """The models of several arms in one, each on its base."""
    scene = mujoco.MjSpec()
    scene.modelname = "scene"
    scene.compiler.degree = False
    scene.compiler.autolimits = True
    for k, (name, model) in enumerate(models.items()):
        for option in OPTIONS:  # all arms are built with the same options
            setattr(scene.option, option, getattr(model.option, option))
        collide_with_others(model, k, len(models))
        attach_arm(scene, model, name, bases[name])
    return scene


def simulated(spec: mujoco.MjSpec, alone: bool = True) -> mujoco.MjSpec:
    """A copy without shapes that are not simulated: visual ones, set-up joints, and those of an arm without contacts.

    MuJoCo discards shapes without contacts when it compiles, much faster than deleting them one by one.
    """
    copy = spec.copy()
    copy.compiler.discardvisual = True
    own = {VISUAL["group"], COLLISION["group"], JAW["group"]}
    if alone and all(geom.group in own for geom in copy.geoms) and not copy.flexes:
        for geom in copy.geoms:
            geom.contype = geom.conaffinity = 0
    for body in [b for b in copy.bodies if SET_UP in b.name]:
        copy.delete(body)
    return copy
