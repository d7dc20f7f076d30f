"""External wrenches on the links of an arm, kept until they are changed."""

from __future__ import annotations

from typing import NamedTuple

from trocar.simulation.arm_slice import ArmSlice
from trocar.spatial import Array

TIP = "tip"


class _Applied(NamedTuple):
    wrench: Array
    force: Array  # (3,) in base axes [N]
    moment: Array
    point: tuple[float, float, float]  # in the frame of the body [m]
    # views of MuJoCo's data: position and orientation of the body, its centre of mass, the wrench on it
    position: Array
    orientation: Array
    centre: Array
    applied: Array


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
        data = self._data
        data.xfrc_applied[body] = 0.0
        if wrench.any():
            x, y, z = arm.T_body_tip[:3, 3].tolist() if place == TIP else (0.0, 0.0, 0.0)
            own = wrench.copy()
            views = data.xpos[body], data.xmat[body], data.xipos[body], data.xfrc_applied[body]
            self.by_place[place] = _Applied(own, own[:3], own[3:], (x, y, z), *views)
        else:
            self.by_place.pop(place, None)

    def clear(self) -> None:
        """Remove all wrenches; MuJoCo's data were reset."""
        self.by_place.clear()

    def act(self) -> None:
        """Write the wrenches into MuJoCo's data, about the centres of mass, for the next step."""
        self._engine.update()
        to_world = self._slice.to_world
        for each in self.by_place.values():
            each.applied[:] = 0.0
        for _, force, moment, (u, v, w), position, orientation, centre, applied in self.by_place.values():
            # plain numbers: arrays this small take longer
            (px, py, pz), (cx, cy, cz) = position.tolist(), centre.tolist()
            a, b, c, d, e, f, g, h, i = orientation.tolist()
            x, y, z = (
                px + (a * u + b * v + c * w) - cx,
                py + (d * u + e * v + f * w) - cy,
                pz + (g * u + h * v + i * w) - cz,
            )
            fx, fy, fz = to_world(force).tolist()
            mx, my, mz = to_world(moment).tolist()
            # the tip and the link that carries it add up
            applied += (fx, fy, fz, mx + (y * fz - z * fy), my + (z * fx - x * fz), mz + (x * fy - y * fx))

    @property
    def memory(self) -> dict[str, Array]:
        """Every wrench by its place, for a snapshot. Assign it to restore the snapshot."""
        return {place: applied.wrench.copy() for place, applied in self.by_place.items()}

    @memory.setter
    def memory(self, memory: dict[str, Array]) -> None:
        self.by_place.clear()
        for place, wrench in memory.items():
            self.set(place, wrench)
