"""The backends of a batch of scenes, as `SceneBatch` uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from trocar.batch.worlds.motor_table import MotorTable
from trocar.batch.worlds.reference_waves import Waves
from trocar.batch.worlds.torque_law import TorqueLaw
from trocar.spatial import Array, Values


class SceneWorlds(Protocol):
    """State, motors and contacts of n worlds: arrays with a row per world, which stay where the backend has them.

    Attributes:
        n, dt: worlds, timestep [s]. table: constants of the motors. mode: (N,) of the motors. laws, waves: of computed
            torque, by arm. device: of the arrays, "cpu" for NumPy's.
    """

    n: int
    dt: float
    device: str
    table: MotorTable
    mode: Values
    status: Values
    laws: dict[str, TorqueLaw]
    waves: dict[str, Waves]

    def put(self, values: Values) -> Values:
        """An array of this backend."""

    def array(self, name: str) -> Values:
        """An array that changes in place: qpos, qvel, their starts, or one of the controllers."""

    def field(self, name: str) -> Values:
        """Values (n, ...) of a field of MuJoCo's model that every world has for itself."""

    def conditioned_field(self, name: str, values: Array) -> Array:
        """Values (k, ...) of a field of a `Scene`'s model as these worlds have them."""

    def assign(self, name: str, values: Array) -> None:
        """Write all numbers of an array."""

    def write(self, name: str, part: slice, rows: Values, matrix: Array | None = None) -> None:
        """Write rows (n, k), or their products with a matrix (k, k), into columns of an array."""

    def changed(self) -> None:
        """Prepare the steps anew: an array, a mode or a law that they use was replaced."""

    def place(self, body: int, poses: Values, mask: Values | None = None) -> None:
        """Put a fixed body of the masked worlds at poses (1 or n, 7), position and quaternion."""

    def reset(self, mask: Values | None = None) -> None:
        """Start the masked worlds (n,) at `qpos_start` and `qvel_start`, with controllers at rest there."""

    def step(self, steps: int = 1) -> None:
        """Advance all worlds."""

    def read(self) -> tuple[Values, Values]:
        """Joints and joint velocities (n, N) of all arms."""

    def joints(self) -> tuple[Values, Values]:
        """Measured joints and joint velocities (n, N) of all arms."""

    def touch(self) -> Values:
        """Parts of arms that touched objects (n, arms, objects) in the last step: bits 1, 2 fingers, 4 others."""

    def contact_force(self) -> Values:
        """Forces (n, arms) of objects on every instrument in the last step, world axes [N]."""

    def move_tips(self, arm: str, increments: Values, duration: float) -> None:
        """Tip increments (n, 7) of an arm as references of its servo over a duration [s]."""

    def sense(self, resolution: Array) -> None:
        """Give all motors encoders of these resolutions (N,)."""

    def own_friction(self) -> None:
        """Give every world a row of its own of Dahl friction and constant forces."""

    def snapshot(self) -> dict[str, Values]:
        """Copies of the state of all worlds and their controllers."""

    def restore(self, saved: Mapping[str, Values]) -> None:
        """Continue from a snapshot of this batch."""

    def synchronize(self) -> None:
        """Wait until the device has done all that it was asked to."""


def is_elsewhere(values: object) -> bool:
    """True for arrays of other libraries, which a device takes without a copy to the host."""
    return hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray)
