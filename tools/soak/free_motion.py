"""Free motion in exact mode: the energy of an arm that swings between springs, without friction."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

import trocar as tr
from tools.soak import resumable
from tools.soak.process_memory import process_memory
from tools.soak.resumable import Resumable, mechanical_energy

TIMESTEP = 1e-3  # [s]
FREQUENCY = 2.0  # approximate frequency of a joint on its spring [Hz]; high enough that springs outweigh gravity
SPEED = 0.5  # initial speed, as a fraction of each joint's range per second
LOOKS = 100  # samples per period


class FreeMotion(Resumable):
    """An arm without friction, stops and contact; every joint has a spring, its own or one about its middle.

    Without springs an arm falls, and the light wrist of a master spins at 150 rad/s. The springs are part of the MuJoCo
    model and are integrated with it.
    """

    columns = ("period", "drift", "swing", "loop", "rcm", "memory_mb", "seconds")
    shown: ClassVar[Mapping[str, str]] = {
        "drift": "energy - energy at the start [J]",
        "swing": "kinetic energy, largest [J]",
        "loop": "loop gap [m]",
    }
    about = "free motion in exact mode, without friction"

    def __init__(self, subject: str, folder: Path) -> None:
        super().__init__(subject, folder / f"{subject}.free")
        self.arm = sim = tr.Simulator(
            subject, accuracy="exact", friction=False, limits=False, contacts=False, timestep=TIMESTEP
        )
        self.scene = sim.scene
        arm, mechanism, model = sim.arm, sim.mechanism, sim.model
        centre, width = 0.5 * (arm.lower + arm.upper), arm.upper - arm.lower
        inertia, weight = np.diagonal(mechanism.mass_matrix(centre)), mechanism.gravity(centre)
        sim.reset(centre)
        self._stiffness, self._rest = np.zeros(model.njnt), np.array(sim.data.qpos)
        for j, name in enumerate(arm.joint_names):
            body = arm.body(arm.driven[name])
            k, ratio = model.joint(body.name).id, body.coupling[name]  # all joints have one degree of freedom
            if not model.jnt_stiffness[k]:  # the parameter set has no spring here
                self._stiffness[k] = inertia[j] / ratio**2 * (2.0 * np.pi * FREQUENCY) ** 2
                self._rest[k] += weight[j] / ratio / self._stiffness[k]  # in the middle under its weight
                model.jnt_stiffness[k], model.qpos_spring[k] = self._stiffness[k], self._rest[k]
        sim.reset(centre, SPEED * width)
        self._start = self._energy()
        self.resume()

    def period(self, k: int) -> tuple[float, ...]:
        sim, zero, began = self.arm, np.zeros(self.arm.n), time.perf_counter()
        loop = rcm = swing = drift = 0.0
        steps = round(resumable.PERIOD / TIMESTEP)
        for i in range(steps):
            sim.step(zero)
            if (i + 1) % (steps // LOOKS) == 0:
                swing = max(swing, float(sim.mechanism.kinetic_energy(sim.q, sim.dq)))
                loop = max(loop, sim.loop_error())
                rcm = max(rcm, sim.rcm_error() if sim.arm.has_rcm else 0.0)
                drift += (self._energy() - self._start) / LOOKS
        return (float(k), drift, swing, loop, rcm, process_memory(), time.perf_counter() - began)

    def _energy(self) -> float:
        """Energy of the arm and of the springs [J]."""
        springs = 0.5 * float(self._stiffness @ (self.scene.data.qpos - self._rest) ** 2)
        return mechanical_energy(self.arm) + springs
