"""Description of the simulated scene, readable from any thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np

from trocar.arms import Arm
from trocar.arms.parameters import Parameters
from trocar.arms.suj import SetUpArm
from trocar.mechanics import Mechanism
from trocar.runtime.settings import Settings
from trocar.simulation import Scene
from trocar.spatial import Array


class ReadOnlyArrays:
    """Base of dataclasses with read-only arrays."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


@dataclass(frozen=True, kw_only=True)
class ArmDescription(ReadOnlyArrays):
    """One simulated arm of a scene.

    Attributes:
        name: name in the scene. prefix: prefix of its body names in the scene's `spec`.
        gravity_vector: (3,) [m/s^2] in base axes. T_world_base: (4, 4).
        set_up, q_setup: description and positions (k,) [m, rad] of the set-up joints; None without a cart.
    """

    name: str
    prefix: str
    arm: Arm
    parameters: Parameters
    counterweight: bool
    friction: bool
    gravity_vector: Array
    T_world_base: Array
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
    """The simulated scene; a new object after every change.

    Attributes:
        settings: the settings it was built from. spec: the model with all visual shapes; copy it before compiling.
        arms: by name. fixed: world poses (4, 4) of the bodies that only set-up joints move, by name in `spec`.
    """

    settings: Settings
    spec: mujoco.MjSpec
    arms: Mapping[str, ArmDescription]
    fixed: Mapping[str, Array]

    @classmethod
    def of(cls, scene: Scene, settings: Settings) -> SceneDescription:
        """Describe a scene; call it from the thread that owns the scene."""
        arms = {name: _described(scene, name) for name in scene.arms}
        fixed = {name: np.array(T) for name, T in scene.fixed_poses().items()}
        for T in fixed.values():
            T.setflags(write=False)
        return cls(settings=settings, spec=scene.spec, arms=MappingProxyType(arms), fixed=MappingProxyType(fixed))


def _described(scene: Scene, name: str) -> ArmDescription:
    arm, mount, cart = scene.arms[name], scene.mount(name), scene.cart
    on_cart: dict[str, Any] = {}
    if cart is not None and mount is not None:
        on_cart = {"set_up": cart.set_up(mount), "q_setup": np.array(cart.q_setup[mount])}
    return ArmDescription(
        name=name,
        arm=arm.arm,
        parameters=arm.parameters,
        prefix=scene.stepped[name].prefix,
        counterweight=arm.options.counterweight,
        friction=arm.options.friction,
        gravity_vector=np.array(arm.gravity_vector),
        T_world_base=np.array(scene.T_world_base(name)),
        **on_cart,
    )
