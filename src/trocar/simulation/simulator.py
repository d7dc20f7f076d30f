"""The engine: one arm as an explicit closed chain in MuJoCo, stepped by joint efforts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from trocar.arms import Arm, gravity_vector
from trocar.arms.parameters import Parameters
from trocar.simulation.arm_options import ArmSpec
from trocar.simulation.divergence import Diverged, save_states
from trocar.simulation.engine import STIFFENING, Engine, Snapshot
from trocar.simulation.forces.elastic_drives import Compliance
from trocar.simulation.forces.port import Port
from trocar.simulation.modelling.arm_model import Cable, lean
from trocar.simulation.objects.objects import Object, PlacedObject, add_objects, firm_fingers, set_stiffness
from trocar.simulation.simulated_arm import SimulatedArm

__all__ = ["STIFFENING", "Simulator", "Snapshot"]


class Simulator(SimulatedArm):
    """Dynamics of one arm with its real mechanism, in MuJoCo.

    Args:
        name: arm, or an `Arm` of your own. parameters: consistent set, its name or a parameter file. Default: the arm's
            best set.
        counterweight: False removes that body's mass and inertia and nothing else.
        friction: False leaves viscous and Coulomb friction, friction with memory and offsets out.
        timestep: [s].
        accuracy: "fast" (implicit, first order), "exact" (Runge-Kutta 4, loops 100 times stiffer, about 3.5 times
            the cost) or "discrete" (MuJoCo's integrator for models with soft bodies).
        transmission: how the counterweight follows the insertion: "rigid", a `Cable`, or "mirrored" (a PID makes it
            follow and its force acts on the tool, as in Ferro et al. 2022).
        compliance: elastic drives of yaw and pitch with motors of their own; `measured_q` is then the encoders'.
        objects: what the instrument can touch, such as a `Solid` or a `SoftSlab`; `objects` has them by name.
        port: body wall and seal around the instrument.
        contacts: False switches contact off. limits: joint limits as constraints.
        motor_limits: clamp efforts to what the motors can give.
        instrument, gravity, mounting, rotor_inertia, endoscope, added_mass: as for `load_mechanism`.

    Attributes:
        model, data: MuJoCo's. spec: what the model was compiled from, with all visual shapes (`model` has none).
    """

    def __init__(
        self,
        name: str | Arm,
        parameters: str | Path | Parameters | None = None,
        counterweight: bool = True,
        friction: bool = True,
        timestep: float = 1e-3,
        *,
        accuracy: str = "fast",
        transmission: str | Cable = "rigid",
        compliance: Compliance | None = None,
        objects: Sequence[Object] = (),
        port: Port | None = None,
        contacts: bool = True,
        limits: bool = True,
        motor_limits: bool = False,
        instrument: str | Path | None = None,
        gravity: ArrayLike | None = None,
        mounting: float | None = None,
        rotor_inertia: float | None = None,
        endoscope: str | float | None = None,
        added_mass: float = 0.0,
    ) -> None:
        chosen = ArmSpec.load(
            name,
            parameters,
            counterweight=counterweight,
            friction=friction,
            transmission=transmission,
            compliance=compliance,
            port=port,
            limits=limits,
            motor_limits=motor_limits,
            instrument=instrument,
            rotor_inertia=rotor_inertia,
            endoscope=endoscope,
            added_mass=added_mass,
        )
        g = gravity_vector(chosen.arm, gravity, mounting)
        self.spec = chosen.build(g, timestep, accuracy)
        if objects:
            firm_fingers(self.spec, chosen.arm)
        add_objects(self.spec, objects, accuracy)
        if not contacts:
            self.spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        engine = Engine(lean(self.spec).compile(), accuracy)
        set_stiffness(engine.model, objects, [engine.model.body(chosen.arm.tip_body).id])
        placed = {thing.name: PlacedObject(thing, engine.model, engine.data) for thing in objects}
        super().__init__(chosen, engine, "", g, placed)
        self._arms = (self,)
        self.reset(np.array(self.arm.home))

    def reset(self, q: ArrayLike, dq: ArrayLike | None = None) -> None:
        """Start at q (n,) with rates dq (n,), time 0; every link is put where the closed mechanism has it."""
        q, dq = self._within_limits(q), np.zeros(self.n) if dq is None else self._state(dq, "dq")
        mujoco.mj_resetData(self.model, self.data)
        self._start(q, dq)
        self._engine.forward()

    def snapshot(self) -> Snapshot:
        """A copy of the whole state, to come back to with `restore`."""
        return self._engine.snapshot({"": self._memory})

    def restore(self, snapshot: Snapshot) -> None:
        """Back to a snapshot of this simulator: what follows is the same to the last bit."""
        self._engine.set_state(snapshot)
        self._memory = snapshot.memories[""]
        self._engine.forward()

    def step(self, tau: ArrayLike) -> None:
        """Advance one timestep under joint efforts tau (n,) [N m, N], held constant over the step."""
        self._command(tau)
        if not self._engine.advance(self._arms):
            path = save_states(self.data, self.tau)
            raise Diverged(
                f"the simulation of {self.arm.name} diverged at t = {self.time:.4f} s; the last state is in {path}. "
                "Efforts too large for the step, or a controller that is unstable at it, are the usual causes"
            )
