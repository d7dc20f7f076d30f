"""Simulator: a scene of one arm, stepped by its joint efforts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm, gravity_vector, load_arm
from trocar.arms.parameters import Parameters
from trocar.errors import check_known
from trocar.simulation.arm_options import ArmOptions
from trocar.simulation.engine import Snapshot
from trocar.simulation.objects import SceneObject
from trocar.simulation.scene import Scene, SceneArm
from trocar.simulation.simulated_arm import SimulatedArm

# Simulators of the other engines, in packages of a higher layer, imported on demand.
ENGINES = {"reduced": "trocar.batch.reduced_simulator:ReducedSimulator"}


class Simulator(SimulatedArm):
    """Dynamics of one arm with its real mechanism, in MuJoCo. The world is the arm's base.

    Args:
        name: PSM, PSM_Si, ECM, ECM_Si, MTML, MTMR, or a custom `Arm`.
        parameters: parameter set, its name or a file. Default: the arm's best set.
        engine: "mujoco", or "reduced": compiled equations of the independent joints, ten times faster, without loops,
            objects and contact; see `trocar.batch.reduced_simulator`.
        timestep, accuracy, objects, contacts: as for `Scene`; poses of objects are in the base.
        gravity, mounting: as for `load_mechanism`.
        options: other fields of `ArmOptions`: counterweight, friction, transmission, compliance, elastic_mount,
            port, limits, motor_limits, instrument, rotor_inertia, endoscope, added_mass.

    Attributes:
        scene: the `Scene` that holds this one arm.
    """

    def __new__(cls, *args: Any, engine: str = "mujoco", **options: Any) -> Simulator:
        """Create a simulator of the requested engine."""
        check_known("engine", ("mujoco", *ENGINES), engine)
        if engine in ENGINES and cls is Simulator:
            module, _, name = ENGINES[engine].partition(":")
            cls = getattr(import_module(module), name)
        return super().__new__(cls)

    def __init__(
        self,
        name: str | Arm,
        parameters: str | Path | Parameters | None = None,
        *,
        engine: str = "mujoco",
        timestep: float = 1e-3,
        accuracy: str = "fast",
        objects: Sequence[SceneObject] = (),
        contacts: bool = True,
        gravity: ArrayLike | None = None,
        mounting: float | None = None,
        **options: Any,
    ) -> None:
        chosen = ArmOptions.of(parameters=parameters, **options)
        arm = name if isinstance(name, Arm) else load_arm(name)
        self.scene = Scene(
            {arm.name: SceneArm(arm=name, base=np.eye(4), **vars(chosen))},
            objects=objects,
            timestep=timestep,
            accuracy=accuracy,
            contacts=contacts,
            overlaps=True,
            gravity=gravity_vector(arm, gravity, mounting),
        )
        super().__init__(self.scene.stepped[arm.name], self.scene.objects)
        self._name = arm.name
        self._command, self._advance = self._stepped.command, self._engine.advance  # bound once, called at every step

    @property
    def spec(self) -> mujoco.MjSpec:
        """The specification that `model` was compiled from, with all visual shapes (`model` has none)."""
        return self.scene.spec

    def reset(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Start at q (n,) with rates dq (n,) at time 0, with every link placed by the closed mechanism."""
        self.scene.reset({self._name: q}, None if dq is None else {self._name: dq})

    def step(self, tau: ArrayLike) -> None:
        """Advance one timestep under joint efforts tau (n,) [N m, N], held constant over the step."""
        self._command(tau)
        self._advance()

    def snapshot(self) -> Snapshot:
        """A copy of the complete state, for `restore`."""
        return self.scene.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this simulator; the continuation is bit-for-bit the same."""
        self.scene.restore(snapshot)
