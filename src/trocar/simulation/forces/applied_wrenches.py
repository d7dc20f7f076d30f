"""Wrenches from outside on the links of an arm, kept until they are changed."""

from __future__ import annotations

import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array


class AppliedWrenches:
    """Force [N] and moment [N m] (6,) on bodies, in axes of the base, at their origins; false while there is none."""

    def __init__(self, part: ArmSlice) -> None:
        self._part, self._engine, self._data = part, part.engine, part.engine.data
        self._by_body: dict[int, Array] = {}

    def __bool__(self) -> bool:
        return bool(self._by_body)

    def set(self, body: str, wrench: Array) -> None:
        """On a body from the next step on; zeros end it."""
        index = self._part.body(body)
        if wrench.any():
            self._by_body[index] = wrench.copy()
        else:
            self._by_body.pop(index, None)
            self._data.xfrc_applied[index] = 0.0

    def clear(self) -> None:
        """Forget them all, in data that were reset."""
        self._by_body.clear()

    def act(self) -> None:
        """As MuJoCo wants them, about the centre of mass, for the step about to be taken."""
        self._engine.update()
        data, to_world = self._data, self._part.to_world
        for index, wrench in self._by_body.items():
            arm = data.xpos[index] - data.xipos[index]
            force = to_world(wrench[:3])
            data.xfrc_applied[index, :3] = force
            data.xfrc_applied[index, 3:] = to_world(wrench[3:]) + np.cross(arm, force)

    @property
    def memory(self) -> dict[int, Array]:
        """All of them, for a snapshot."""
        return {index: wrench.copy() for index, wrench in self._by_body.items()}

    @memory.setter
    def memory(self, memory: dict[int, Array]) -> None:
        self._by_body = {index: wrench.copy() for index, wrench in memory.items()}
