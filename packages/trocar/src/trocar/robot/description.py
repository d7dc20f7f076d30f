"""Description of a simulated scene, readable from any thread, and its contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np

from trocar.arms import ARMS, Arm
from trocar.arms.parameters import Parameters
from trocar.arms.suj import SetUpArm
from trocar.mechanics import Mechanism
from trocar.robot.settings import ArmSettings
from trocar.simulation import Scene
from trocar.simulation.objects.scene_object import OBJECT
from trocar.simulation.objects.tissue import PlacedTissue
from trocar.spatial import Array


@dataclass(frozen=True, kw_only=True)
class ArmDescription:
    """One simulated arm of a scene. Do not change its arrays.

    Attributes:
        name: name in the scene. prefix: prefix of its body names in the scene's `spec`.
        gravity_vector: (3,) [m/s^2] in base axes. T_world_base: (4, 4).
        set_up, q_setup: description and positions (k,) [m, rad] of the set-up joints; None without a cart.
        settings: settings of this arm alone, with its base at the world origin.
    """

    name: str
    prefix: str
    arm: Arm
    parameters: Parameters
    counterweight: bool
    friction: bool
    gravity_vector: Array
    T_world_base: Array
    settings: ArmSettings
    set_up: SetUpArm | None = None
    q_setup: Array | None = None

    @property
    def world_gravity(self) -> Array:
        """Gravity (3,) [m/s^2] in the world."""
        return np.asarray(self.T_world_base[:3, :3] @ self.gravity_vector)

    def mechanism(self) -> Mechanism:
        """A new mechanism: Pinocchio's scratch data must not be shared between threads."""
        return Mechanism(self.arm, self.parameters, counterweight=self.counterweight, gravity=self.gravity_vector)


@dataclass(frozen=True, kw_only=True)
class SceneDescription:
    """A simulated scene; a new object after every change.

    Attributes:
        spec: the model with all visual shapes; copy it before compiling. arms: by name.
        fixed: world poses (4, 4) of the bodies that only set-up joints move, by name in `spec`.
        arguments: arguments of `Scene` that build it.
    """

    spec: mujoco.MjSpec
    arms: Mapping[str, ArmDescription]
    fixed: Mapping[str, Array]
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, scene: Scene) -> SceneDescription:
        """Describe a scene; call it from the thread that owns the scene."""
        return cls(
            spec=scene.spec,
            arms=MappingProxyType({name: _described(scene, name) for name in scene.arms}),
            fixed=MappingProxyType({name: np.array(T) for name, T in scene.fixed_poses().items()}),
            arguments=MappingProxyType(scene.arguments),
        )

    def build(self, **changes: Any) -> Scene:
        """A new scene of this description at its start; `changes`: other arguments of `Scene`, as contacts=False."""
        return Scene(**{**self.arguments, **changes})


def _described(scene: Scene, name: str) -> ArmDescription:
    arm, mount, cart = scene.arms[name], scene.mount(name), scene.cart
    options = scene.arguments["arms"][name]
    on_cart: dict[str, Any] = {}
    if cart is not None and mount is not None:
        on_cart = {"set_up": cart.set_up(mount), "q_setup": np.array(cart.q_setup[mount])}
    gravity = np.array(arm.gravity_vector)
    facts = arm.arm.name if arm.arm.name in ARMS else arm.arm
    alone = {"arm": facts, "gravity": tuple(gravity.tolist()), "base": None, "mount": None, "q": None}
    return ArmDescription(
        name=name,
        arm=arm.arm,
        parameters=arm.parameters,
        prefix=scene.stepped[name].prefix,
        counterweight=arm.options.counterweight,
        friction=arm.options.friction,
        gravity_vector=gravity,
        T_world_base=np.array(scene.T_world_base(name)),
        settings=ArmSettings(**{**vars(options), **alone}),
        **on_cart,
    )


def contact_forces(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """(k, 2, 3): contact points [m] and forces [N] in world axes, of the last step.

    Between an arm and an object, the force is the one on the arm; otherwise the one on the second geom.
    """
    contacts = np.zeros((data.ncon, 2, 3))
    wrench = np.zeros(6)
    for i in range(data.ncon):
        contact = data.contact[i]
        mujoco.mj_contactForce(model, data, i, wrench)
        # the rows of the frame are its axes; the first geom exerts the force on the second
        sign = -1.0 if _of_object(model, contact.geom[1]) and not _of_object(model, contact.geom[0]) else 1.0
        contacts[i] = contact.pos, sign * wrench[:3] @ contact.frame.reshape(3, 3)
    return contacts[np.linalg.norm(contacts[:, 1], axis=1) > 1e-6]


def _of_object(model: mujoco.MjModel, geom: int) -> bool:
    return geom >= 0 and str(model.body(model.geom_bodyid[geom]).name).startswith(OBJECT)


def pierced_forces(scene: Scene) -> Array:
    """(k, 2, 3): points [m] and forces [N] in world axes, of tissues on the needles and threads in them."""
    rows = [
        (placed.position(point.X), point.force)
        for placed in scene.objects.values()
        if isinstance(placed, PlacedTissue)
        for point in placed.forces
    ]
    return np.array(rows).reshape(-1, 2, 3)
