"""Simulator: a scene of one arm, stepped by its joint efforts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm
from trocar.arms.parameters import Parameters
from trocar.mechanics.loading import takes
from trocar.simulation.engine import Snapshot
from trocar.simulation.objects import SceneObject
from trocar.simulation.scene import Scene
from trocar.simulation.scene_arm import PLACE, SceneArm
from trocar.simulation.simulated_arm import SimulatedArm


class Simulator(SimulatedArm):
    """Dynamics of one arm with its real mechanism, in MuJoCo. The world is the arm's base.

    `trocar.ReducedSimulator` has the same interface on the compiled equations of the independent joints: ten times
    faster, without loops, objects and contact.

    Args:
        name: PSM, PSM_Si, ECM, ECM_Si, MTML, MTMR, or a custom `Arm`.
        parameters: parameter set, its name or a file. Default: the arm's best set.
        timestep, accuracy, objects, contacts: as for `Scene`; poses of objects are in the base.
        gravity, mounting: as for `load_mechanism`.
        options: fields of `SceneArm`: counterweight, friction, transmission, compliance, elastic_mount, port, limits,
            motor_limits, instrument, rotor_inertia, endoscope, added_mass.

    Attributes:
        scene: the `Scene` that holds this one arm.
    """

    @takes(SceneArm, *PLACE)
    def __init__(
        self,
        name: str | Arm,
        parameters: str | Path | Parameters | None = None,
        *,
        timestep: float = 1e-3,
        accuracy: str = "fast",
        objects: Sequence[SceneObject] = (),
        contacts: bool = True,
        gravity: ArrayLike | None = None,
        mounting: float | None = None,
        **options: Any,
    ) -> None:
        arm = SceneArm.alone(name, np.eye(4), parameters=parameters, **options)
        self._open(Scene.of_one(arm, gravity, mounting, tuple(objects), timestep, accuracy, contacts))

    def _open(self, scene: Scene) -> None:
        self.scene = scene
        ((self._name, stepped),) = scene.stepped.items()
        super().__init__(stepped, self.scene.objects)
        self._command, self._advance = stepped.command, self._engine.advance  # bound once, called at every step

    def __repr__(self) -> str:
        things = f", {len(self.objects)} objects" if self.objects else ""
        state = f"{self.parameters.name}, timestep {self.timestep:.3g} s, t = {self.time:.4g} s"
        return f"<{type(self).__name__}: {self.arm.name}, {state}{things}>"

    @property
    def spec(self) -> mujoco.MjSpec:
        """The specification of `model` with all visual shapes (`model` has none)."""
        return self.scene.spec

    def reset(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Start at q (n,) with rates dq (n,) at time 0, with every link placed by the closed mechanism."""
        self.scene.reset({self._name: q}, None if dq is None else {self._name: dq})

    def step(self, tau: ArrayLike) -> None:
        """Advance one timestep under joint efforts tau (n,) [N m, N], held constant over the step."""
        self._command(tau)
        self._advance()

    def __getstate__(self) -> Scene:
        """The scene: copies and other processes continue from its snapshot."""
        return self.scene

    __setstate__ = _open

    def snapshot(self) -> Snapshot:
        """A copy of the complete state, for `restore`."""
        return self.scene.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this simulator; the continuation is bit-for-bit the same."""
        self.scene.restore(snapshot)
