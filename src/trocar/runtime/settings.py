"""Settings of a simulation: a scene or one arm, and changes made while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import gravity_vector, load_arm
from trocar.simulation import Scene, SceneArm, load_scene
from trocar.simulation.objects import SceneObject

# One time step for all controllers, which can be switched while running; the dVRK's servo runs at 1500 Hz.
TIMESTEP = 1.0 / 1500.0  # [s]
RECORDED = 3 * TIMESTEP  # interval between rows of a recording: 500 Hz [s]
OF_ARM = ("instrument", "counterweight", "friction")  # options that can be changed while an arm runs
CHANGES = (*OF_ARM, "gravity", "set_up")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A scene by name or file, or one arm with its base at the world origin.

    Attributes:
        arm, parameters, instrument, counterweight, friction: options of an arm without a scene, as in `SceneArm`.
        gravity: (3,) [m/s^2] in the world. Default: 9.81 downwards; for one arm, its usual mounting.
        scene: name or file of a scene. Default: only the arm.
        objects: function that returns objects to add at the start, such as `practice_objects`.
        arms: changed options of the arms of a scene, by arm.
        set_up: changed set-up joints (n,) [m, rad] of arms on a cart, by arm.
    """

    arm: str = "PSM"
    parameters: str | Path | None = None
    instrument: str | Path | None = None
    counterweight: bool = True
    friction: bool = True
    gravity: tuple[float, float, float] | None = None
    scene: str | None = None
    objects: Callable[[Scene], Sequence[SceneObject]] | None = None
    arms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    set_up: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def changed(self, arm: str, changes: Mapping[str, Any]) -> Settings:
        """The settings after `CHANGES` of one arm."""
        new: dict[str, Any] = {key: changes[key] for key in changes if key in OF_ARM}
        if self.scene is not None and new:
            new = {"arms": {**self.arms, arm: {**self.arms.get(arm, {}), **new}}}
        if "gravity" in changes:
            new["gravity"] = tuple(float(x) for x in changes["gravity"])
        if "set_up" in changes:
            new["set_up"] = {**self.set_up, arm: tuple(float(x) for x in changes["set_up"])}
        return replace(self, **new)

    def build(self, *, contacts: bool = True) -> Scene:
        """The scene in its initial state with `TIMESTEP`; without contacts, overlaps are allowed."""
        scene = self._scene((), contacts)
        if self.objects is not None:
            scene = self._scene(self.objects(scene), contacts)
        if self.scene is not None and (self.arms or self.gravity is not None):
            scene = scene.changed(self.arms, self.gravity)
        for name, q_setup in self.set_up.items():
            scene.set_up(name, q_setup)
        return scene

    def _scene(self, objects: Sequence[SceneObject], contacts: bool) -> Scene:
        # a scene file may also disable contacts
        options: dict[str, Any] = {"timestep": TIMESTEP, "objects": objects} | ({} if contacts else {"contacts": False})
        if self.scene is not None:
            return load_scene(self.scene, **options)
        only = SceneArm(
            arm=self.arm,
            base=np.eye(4),
            parameters=self.parameters,
            instrument=self.instrument,
            counterweight=self.counterweight,
            friction=self.friction,
        )
        return Scene({self.arm: only}, gravity=gravity_vector(load_arm(self.arm), self.gravity), **options)
