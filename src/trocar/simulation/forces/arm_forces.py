"""State-dependent joint forces applied outside the MuJoCo model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trocar.arms.parameters import CableTorque
from trocar.mechanics import Mechanism
from trocar.mechanics.drives import check_dissipative
from trocar.simulation.arm_slice import ArmSlice
from trocar.simulation.forces.drive_forces import (
    CableForces,
    ElasticDrives,
    Hysteresis,
    MirroredCounterweight,
    VaryingFriction,
)
from trocar.simulation.forces.environment import PortForces
from trocar.simulation.scene_arm import Mirror, SceneArm
from trocar.spatial import Array


class ArmForces:
    """Generalised forces of constant forces, cables, mirrored counterweight, elastic drives, Dahl friction and port.

    Friction that varies with position or load is set in the model instead, where it sticks and slides.

    Args:
        arm_slice: the arm's rows of the MuJoCo model. options: of the arm. equations: of the arm.
        D: (n, nv), q = D qpos. elastic: its elastic drives, if any.

    Attributes:
        constant: (nv,) forces that act in every state [N m, N]. acts: True if any force depends on the state.
        hysteresis: Dahl friction, or None. port: body wall and seal, or None.
        smooth: forces of cables and elastic drives, which depend on the state alone.
    """

    def __init__(
        self, arm_slice: ArmSlice, options: SceneArm, equations: Mechanism, D: Array, elastic: ElasticDrives | None
    ) -> None:
        self._friction, self._slice, self._D = options.friction, arm_slice, D
        timestep = float(arm_slice.engine.model.opt.timestep)
        self._varying: VaryingFriction | None = None
        self.take(equations)
        drives = equations.drives
        self.constant = -drives.constant @ D
        memory = options.friction and drives.owner.size
        self.hysteresis = Hysteresis(equations, D, timestep) if memory else None
        if options.friction:
            check_dissipative(drives, equations.arm)
        motor = Mirror() if options.transmission == "mirrored" else options.transmission
        mirror = MirroredCounterweight(arm_slice, timestep, motor) if isinstance(motor, Mirror) else None
        self.port = None if options.port is None else PortForces(arm_slice, options.port)
        # springs are in the model; cable torques are applied here
        cables = [element for element in equations.elastics.elements if isinstance(element, CableTorque)]
        pull = CableForces(arm_slice, cables) if cables else None
        self.smooth: list[CableForces | ElasticDrives] = [source for source in (pull, elastic) if source is not None]
        sources = [s for s in (pull, mirror, elastic, self.hysteresis, self.port) if s is not None]
        self._forces: list[Callable[[Array, Array], Array]] = [source.force for source in sources]
        self._remembering = [s for s in sources if isinstance(s, MirroredCounterweight | Hysteresis)]
        self.acts = bool(self._forces) or self._varying is not None

    def take(self, equations: Mechanism) -> None:
        """The equations of the arm, replaced when gravity changes; load-dependent friction needs them."""
        drives = equations.drives
        if self._friction and (drives.mu.any() or drives.Fx.any()):
            self._varying = VaryingFriction(equations, self._slice, self._D)

    def act(self, qpos: Array, qvel: Array, applied: Array) -> None:
        """Write forces to `applied` (nv,) and friction to the model, for the next step."""
        if self._forces:
            applied[:] = self.constant
            for force in self._forces:
                applied += force(qpos, qvel)
        if self._varying is not None:
            self._varying.update(qpos)

    def act_ahead(self, qvel: Array, applied: Array) -> bool:
        """Move Dahl friction half a step ahead, for a Runge-Kutta step; return False if there is none."""
        if self.hysteresis is None:
            return False
        applied += self.hysteresis.force_ahead(qvel)
        return True

    def friction(self, qpos: Array, qvel: Array) -> Array:
        """Generalised force (nv,) of Dahl friction."""
        return np.zeros(len(self.constant)) if self.hysteresis is None else self.hysteresis.force(qpos, qvel)

    def place(self, qpos: Array) -> None:
        """Note that the joints were placed here without motion."""
        if self.hysteresis is not None:
            self.hysteresis.place(qpos)
        if self._varying is not None:
            self._varying.update(qpos)

    def reset(self) -> None:
        """Clear all memory."""
        if self.port is not None:
            self.port.wrench = np.zeros(6)
        for force in self._remembering:
            force.reset()

    @property
    def memory(self) -> tuple[Any, ...]:
        """State of the mirrored counterweight and of Dahl friction, for a snapshot."""
        return tuple(force.memory for force in self._remembering)

    def recall(self, memory: tuple[Any, ...], qpos: Array) -> None:
        """Restore a memory, with the joints at qpos."""
        for force, remembered in zip(self._remembering, memory, strict=True):
            force.memory = remembered
        if self._varying is not None:
            self._varying.update(qpos)
