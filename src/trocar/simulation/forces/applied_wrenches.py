"""External wrenches on the links of an arm, kept until they are changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array

TIP = "tip"


class _Applied(NamedTuple):
    body: int
    point: Array  # (3,) in the frame of the body [m]
    wrench: Array


class AppliedWrenches:
    """Force [N] and moment [N m] (6,) in base axes, at the origin of a link or at the tip; falsy if there is none."""

    def __init__(self, arm_slice: ArmSlice) -> None:
        self._slice, self._engine, self._data = arm_slice, arm_slice.engine, arm_slice.engine.data
        self.by_place: dict[str, _Applied] = {}

    def __bool__(self) -> bool:
        return bool(self.by_place)

    def set(self, place: str, wrench: Array) -> None:
        """Apply a wrench at "tip" or at the origin of a link from the next step on; zeros remove it."""
        arm = self._slice.arm
        body = self._slice.body(arm.tip_body if place == TIP else place)
        self._data.xfrc_applied[body] = 0.0
        if wrench.any():
            point = np.array(arm.T_body_tip[:3, 3]) if place == TIP else np.zeros(3)
            self.by_place[place] = _Applied(body, point, wrench.copy())
        else:
            self.by_place.pop(place, None)

    def clear(self) -> None:
        """Remove all wrenches; MuJoCo's data were reset."""
        self.by_place.clear()

    def act(self) -> None:
        """Write the wrenches into MuJoCo's data, about the centres of mass, for the next step."""
        self._engine.update()
        data, to_world = self._data, self._slice.to_world
        for applied in self.by_place.values():
            data.xfrc_applied[applied.body] = 0.0
        for body, point, wrench in self.by_place.values():  # the tip and the link that carries it add up
            lever = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point - data.xipos[body]
            force = to_world(wrench[:3])
            data.xfrc_applied[body, :3] += force
            (x, y, z), (f, g, h) = lever.tolist(), force.tolist()  # np.cross would take longer than all the rest
            data.xfrc_applied[body, 3:] += to_world(wrench[3:]) + np.array(
                [y * h - z * g, z * f - x * h, x * g - y * f]
            )

    @property
    def memory(self) -> dict[str, Array]:
        """Every wrench by its place, for a snapshot. Assign it to restore the snapshot."""
        return {place: applied.wrench.copy() for place, applied in self.by_place.items()}

    @memory.setter
    def memory(self, memory: dict[str, Array]) -> None:
        self.by_place.clear()
        for place, wrench in memory.items():
            self.set(place, wrench)
