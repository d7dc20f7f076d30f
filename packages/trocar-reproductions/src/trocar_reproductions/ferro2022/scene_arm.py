"""One PSM in the CoppeliaSim scene of Ferro et al. 2022: motors, stops and counterweight, driven as its script does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trocar.demo.torque_control import START
from trocar.mechanics import load_mechanism
from trocar.simulation import Mirror, Simulator
from trocar.simulation.forces.arm_forces import Mirrored
from trocar.spatial import Array
from trocar_reproductions.ferro2022.logs import PHYSICS
from trocar_reproductions.ferro2022.motors import UNREACHABLE, VelocityMotors

WRIST = slice(3, 6)
JAW = 6
# Stops of J1 to J6 and of the jaw, which the scene does not have [rad, m]. J4 turns without a stop. J2 stops at pi/2 in
# the scene, where the parallelogram is flat and the closed chain singular.
LOWER = np.array([-1.2217305, -1.5, 0.0, -np.inf, -2.0943951, -0.7853982, -np.inf])
UPPER = np.array([0.8726646, 1.5, 1.0, np.inf, 2.0943951, 1.3089969, np.inf])
SLACK = 1e-3  # distance of the engine's stops behind these, at which the motors halt: the two must not fight [rad, m]
FORCE = np.array([900.0, 900.0, 900.0, 200.0, 200.0, 200.0, 200.0])  # largest efforts of the motors [N m, N]
# A position loop commands the velocity gain x error / physics step, up to a speed
GAINS, SPEEDS = np.array([0.5, 0.5, 1.0, 0, 0, 0, 0]), np.array([0.2617994, 0.2617994, 20.0, 0, 0, 0, 0])


class ScenePSM:
    """A PSM that moves as in their scene: motors J1 to J3 with a velocity and a force limit, a wrist that is placed.

    Args:
        parameters: parameter set of the simulated arm. counterweight: with its own motor, as in the scene.
        period: simulation step [s], a multiple of the physics step of 5 ms.

    Attributes:
        rates, limits: target velocities (7,) of the motors, or of the placed wrist, and largest efforts (7,).
        targets: target positions (7,) of J1 to J3 under a position loop; NaN: the velocity counts.
        wrist: commanded wrist angles (3,); the joints stop at the ends of their range.
        efforts: mean efforts (7,) of the last period, in the model's sign.
    """

    def __init__(self, parameters: str, counterweight: bool, period: float) -> None:
        felt = load_mechanism("PSM", parameters, counterweight=False)  # the counterweight has a motor of its own
        arm = felt.arm
        stops = zip(arm.joints, np.maximum(LOWER - SLACK, -1e3), np.minimum(UPPER + SLACK, 1e3), strict=True)
        arm = replace(arm, joints=tuple(replace(joint, lower=a, upper=b) for joint, a, b in stops))
        options: dict[str, Any] = {"friction": False, "contacts": False, "timestep": PHYSICS}
        options["transmission"] = Mirror(period=period, settled=False) if counterweight else "rigid"
        self.sim = Simulator(arm, parameters, counterweight=counterweight, **options)
        self._motors = VelocityMotors(self.sim, felt)
        self._steps, self._period = round(period / PHYSICS), period
        self.reset()

    def reset(self) -> None:
        """Return to the start of the scene, at rest."""
        self.sim.reset(START)
        self._motors.reset()
        self.rates, self.limits, self.targets = np.zeros(7), FORCE.copy(), np.full(7, np.nan)
        self.wrist, self.efforts = START[WRIST].copy(), np.zeros(7)

    @property
    def q(self) -> Array:
        """Joints (7,) as the scene reports them: the wrist is where it was placed [rad, m]."""
        q = self.sim.q.copy()
        q[WRIST] = np.clip(self.wrist, LOWER[WRIST], UPPER[WRIST])
        return q

    def place(self, joint: int, position: float) -> None:
        """Place a joint; its stops hold."""
        position = float(np.clip(position, LOWER[joint], UPPER[joint]))
        if WRIST.start <= joint < WRIST.stop:
            self.wrist[joint - WRIST.start] = position
            return
        q, dq = self.sim.q.copy(), self.sim.dq.copy()
        q[joint], dq[joint] = position, 0.0
        self.sim.reset(q, dq)

    def advance(self) -> None:
        """Simulate a period."""
        sim, total = self.sim, np.zeros(7)
        self.wrist += self._period * self.rates[WRIST]
        for k in range(self._steps):
            q = sim.q
            loop = np.clip(GAINS * (self.targets - q) / PHYSICS, -SPEEDS, SPEEDS)
            dq = np.where(np.isnan(loop), self.rates, loop)
            dq[WRIST] = (self.q[WRIST] - q[WRIST]) / (self._period - k * PHYSICS)
            dq[JAW] = 0.0
            held = np.clip(dq, (LOWER - q) / PHYSICS, (UPPER - q) / PHYSICS)  # a motor does not pass a stop
            total += self._motors.step(np.where(np.abs(dq) < UNREACHABLE, held, dq), self.limits)
        self.efforts = total / self._steps

    def counterweight(self) -> tuple[float, float]:
        """Mean force of the counterweight's motor in the last period, and the force passed on to the tool [N]."""
        (stepped,) = self.sim.scene.stepped.values()
        for memory in stepped.memory.forces:
            if isinstance(memory, Mirrored):
                return memory.total / self._steps, memory.passed
        return 0.0, 0.0
