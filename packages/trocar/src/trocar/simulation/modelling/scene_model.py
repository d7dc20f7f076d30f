"""MuJoCo specification of loaded arms, a cart and objects, and the model compiled for simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import mujoco
import numpy as np

from trocar.appearance.arm_shapes import JAW
from trocar.appearance.kinematic_model import SET_UP, add_patient_cart, attach_arm, collide_with_others
from trocar.appearance.sketch import COLLISION, VISUAL
from trocar.errors import TrocarError
from trocar.laws.slip import MARK, SLIP_RATE
from trocar.mechanics import Mechanism
from trocar.mechanics.cart import Cart
from trocar.simulation.modelling.arm_model import build
from trocar.simulation.objects.scene_object import FIXED_PRIORITY, OBJECT, SceneObject
from trocar.simulation.objects.soft_slab import SoftSlab
from trocar.simulation.objects.solid import HARD_SOLREF, Solid
from trocar.simulation.scene_arm import SceneArm
from trocar.spatial import Array

OPTIONS = ("timestep", "integrator", "gravity", "solver", "tolerance", "iterations", "disableflags")
# Inertia of a finger about its pin [kg m^2]: a gram at 3 mm. A finger that only follows the other has almost none in
# the parameters, and its coupling would yield to the slightest contact.
FINGER_INERTIA = 1e-8
# Needed to hold a needle: an elliptic cone, and friction ten times stiffer than the normal contact. With MuJoCo's
# defaults, a pyramid and equal stiffness, a needle creeps out of the jaws.
IMPRATIO = 10.0
# With soft bodies the solver needs about 150 iterations at the arm's tolerance. With rigid ones it needs one or two,
# but now and then more than 50 when two hands hold a needle; a step that is cut short then throws it at 20 m/s.
ITERATIONS = 300
PAIR_SOLIMP = (0.99, 0.99, 1e-3, 0.5, 2.0)  # of two solids: if harder, stacked bodies do not converge


@dataclass(frozen=True)
class SceneModel:
    """Arms, a cart and objects, from which the specification of a scene is built.

    Attributes:
        arms: equations and options of every arm. bases: T_world_base (4, 4) of every arm.
        mounts: mount of each arm on the cart. gravity: (3,) in the world [m/s^2].
        objects, timestep, accuracy, contacts: as for `Scene`.
    """

    arms: Mapping[str, tuple[Mechanism, SceneArm]]
    bases: Mapping[str, Array]
    mounts: Mapping[str, str]
    cart: Cart | None
    gravity: Array
    objects: Sequence[SceneObject]
    timestep: float
    accuracy: str
    contacts: bool

    @property
    def prefixed(self) -> bool:
        """False for one arm whose base is the world: its names are then not prefixed by `name/`."""
        return len(self.arms) > 1 or not np.array_equal(next(iter(self.bases.values())), np.eye(4))

    def spec(self, visual: bool) -> mujoco.MjSpec:
        """The specification, with or without visual shapes."""
        models = {
            name: build(*arm, self.gravity, self.timestep, self.accuracy, visual) for name, arm in self.arms.items()
        }
        for name, (mechanism, _) in self.arms.items():
            for follower in mechanism.arm.transmissions if self.objects else ():
                if follower not in mechanism.dynamic_parameters.inertias:
                    models[name].joint(follower).armature += FINGER_INERTIA
        scene = _attached(models, self.bases) if self.prefixed else next(iter(models.values()))
        if self.objects or len(self.arms) > 1:
            scene.option.cone, scene.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, IMPRATIO
        _add_objects(scene, self.objects, self.accuracy)
        if len(self.arms) > 1:
            # arms are not coupled by joints, so most entries of the matrices are zero
            scene.option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
        if not self.contacts:
            scene.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        if self.cart is not None and visual:
            add_patient_cart(scene, self.cart, self.mounts)
        return scene


def _attached(models: Mapping[str, mujoco.MjSpec], bases: Mapping[str, Array]) -> mujoco.MjSpec:
    """The models of several arms in one, each on its base."""
    scene = mujoco.MjSpec()
    scene.modelname, scene.compiler.degree, scene.compiler.autolimits = "scene", False, True
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


def _add_objects(spec: mujoco.MjSpec, objects: Sequence[SceneObject], accuracy: str) -> None:
    names = [thing.name for thing in objects]
    for name in names:
        if names.count(name) > 1:
            raise TrocarError(f"two objects are called {name!r}")
    soft = [thing.name for thing in objects if thing.soft]
    if soft and accuracy != "discrete":
        raise TrocarError(f'{soft[0]} is soft: it needs accuracy="discrete", not {accuracy!r}')
    for thing in objects:
        thing.add_to(spec)
    for one, other in combinations([thing for thing in objects if isinstance(thing, Solid)], 2):
        if one.mass is not None or other.mass is not None:
            _add_pairs(spec, one, other)
    if objects:
        spec.option.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
        spec.option.iterations = ITERATIONS
    if any(isinstance(thing, SoftSlab) for thing in objects):
        # hundreds of nodes: a slab that nothing touches stays out of the solver, which halves the time of a step
        spec.option.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_ISLAND)


def _add_pairs(spec: mujoco.MjSpec, one: SceneObject, other: SceneObject) -> None:
    """Contact pairs of two solids: only a pair can have its own rate of slip."""
    shapes = [[*spec.body(OBJECT + thing.name).geoms] for thing in (one, other)]
    for thing, geoms in zip((one, other), shapes, strict=True):
        for k, geom in enumerate(geoms):
            geom.name = geom.name or f"{OBJECT}{thing.name}/{k}"
    for first, second in product(*shapes):
        spec.add_pair(geomname1=first.name, geomname2=second.name)


def set_contacts(model: mujoco.MjModel, objects: Sequence[SceneObject], tips: Sequence[int]) -> None:
    """Set the contacts of all objects; tips: ids of the bodies at the tips of arms.

    Between two objects, the friction of the lighter one applies, and the contact is hard.
    """
    masses = sorted({thing.mass for thing in objects if thing.mass is not None}, reverse=True)
    for thing in objects:
        priority = FIXED_PRIORITY if thing.mass is None else FIXED_PRIORITY + 1 + masses.index(thing.mass)
        thing.set_contact(model, tips, priority)
    solids = {int(model.body(OBJECT + thing.name).id) for thing in objects}
    for k, pair in enumerate(zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), strict=True)):
        lighter = max(pair, key=lambda geom: model.geom_priority[geom])
        if int(model.geom_bodyid[lighter]) in solids:
            slide, spin, roll = model.geom_friction[lighter]
            model.pair_dim[k], model.pair_friction[k] = model.geom_condim[lighter], (slide, slide, spin, roll, roll)
            model.pair_solref[k], model.pair_solimp[k] = HARD_SOLREF, PAIR_SOLIMP
            model.pair_solreffriction[k] = MARK, -SLIP_RATE
