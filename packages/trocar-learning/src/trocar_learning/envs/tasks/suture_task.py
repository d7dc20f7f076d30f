"""The common part of the suturing steps in tissue: scene, drawn resistance, force of the tissue, held needle."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.simulation import Scene
from trocar.simulation.objects.piercing import Piercing
from trocar.simulation.objects.solid import Needle, needle
from trocar.simulation.objects.thread import Thread
from trocar.simulation.objects.tissue import PlacedTissue
from trocar.simulation.skills.suture_setting import suture_scene
from trocar.spatial import Array, Values
from trocar_learning.envs.arrays import pose_numbers
from trocar_learning.envs.task import POSE, Memory, Task, named
from trocar_learning.envs.world import PERIOD, World, Worlds

ARM = "PSM1"
SHAPE = needle("needle", np.eye(4), size="SH")
HEIGHT = (4.8e-3, 5.6e-3)  # of the needle's centre above the tissue [m]
YOUNG = (3e4, 6e4)  # [Pa]
PUNCTURE = (0.6, 0.9)  # [N]: Maloney et al. 2025
DRAG = (15.0, 35.0)  # friction of the needle in the tissue [N/m]
FRICTION = (0.6, 0.8)  # of the needle in the jaws
MAX_FORCE = 3.3  # of the tissue on needle and thread [N]: Potter 2025, a thread tears through artificial skin
GRIP, OPEN = 0.0, 0.6  # commanded openings [rad]; 0.7 mm of wire hold the jaws open by 0.11 rad


class SutureTask(Task):
    """A PSM, an SH needle with a thread of 60 mm, and a block of tissue with its surface at z = 0.

    Stiffness of the tissue, its resistance to the needle, friction of the needle and height of its centre are drawn.
    The tissue never exerts more than 3.3 N on needle and thread, the force at which threads tear through artificial
    skin (3.3 to 4.1 N, Potter 2025); beyond it the episode ends.
    """

    observed: ClassVar[tuple[str, ...]] = named(POSE, "needle")
    arms: ClassVar[Mapping[str, str]] = MappingProxyType({ARM: "PSM"})
    force_arms: ClassVar[tuple[str, ...]] = (ARM,)
    varies: ClassVar[bool] = True
    batched: ClassVar[bool] = False

    def suture_scene(self, rng: np.random.Generator, arm: Mapping[str, Any], **setting: Values) -> Scene:
        """The scene with its drawn material; `setting`: of `trocar.simulation.skills.suture_scene`."""
        puncture = rng.uniform(*PUNCTURE)
        # cutting and exit as in the default of `Piercing`, in proportion
        piercing = Piercing(puncture=puncture, cut=0.44 * puncture, exit=0.75 * puncture, drag=rng.uniform(*DRAG))
        return suture_scene(
            friction=rng.uniform(*FRICTION),
            piercing=piercing,
            thread=Thread("thread", "needle", length=0.06, segments=12),
            timestep=PERIOD,
            arm=arm,
            young=rng.uniform(*YOUNG),
            **setting,
        )

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        world.scene.reset()
        return {"held": False, "drops": 0, "force": 0.0, "strongest": 0.0}

    def tissue(self, world: World) -> PlacedTissue:
        """The tissue."""
        placed = world.scene.objects["tissue"]
        assert isinstance(placed, PlacedTissue)
        return placed

    def passed(self, worlds: Worlds) -> Values:
        """Length (n,) of the needle, and thread, that has left the tissue, from its point on [m]; 0 in it or before."""
        return worlds.each(lambda world: min((point.s for point in self.tissue(world).forces), default=0.0))

    def observation(self, worlds: Worlds) -> Values:
        """Pose of the needle (position, quaternion)."""
        return pose_numbers(worlds.xp, worlds.poses("needle"))

    def privileged(self, worlds: Worlds) -> Values:
        """Force of the tissue, its stiffness and resistance, friction of the needle."""
        return np.concatenate([worlds.memory["force"][:, None], worlds.each(self._material)], -1)

    def _material(self, world: World) -> tuple[float, ...]:
        thing, wire = self.tissue(world).thing, world.scene.objects["needle"].thing
        assert thing.piercing is not None
        assert isinstance(wire, Needle)
        return thing.young / 1e4, thing.piercing.puncture, thing.piercing.drag, wire.friction

    def after_period(self, worlds: Worlds) -> None:
        memory = worlds.memory
        self.note_held(worlds, worlds.held(ARM, "needle"))
        memory["force"] = worlds.each(lambda world: np.linalg.norm(self.tissue(world).force))
        memory["strongest"] = np.maximum(memory["strongest"], memory["force"])

    def failed(self, worlds: Worlds) -> Values:
        return worlds.memory["strongest"] > MAX_FORCE


def drawn_turn(rng: np.random.Generator, largest: float) -> Array:
    """A random rotation (3, 3) by at most an angle [rad]."""
    v = rng.standard_normal(3)
    return np.asarray(Rotation.from_rotvec(largest * rng.uniform() ** (1 / 3) * v / np.linalg.norm(v)).as_matrix())
