"""Snapshots of a batch of scenes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trocar.batch.worlds.reference_waves import Waves
from trocar.batch.worlds.torque_law import TorqueLaw
from trocar.spatial import Array


@dataclass(frozen=True, eq=False)
class BatchSnapshot:
    """The state of a batch at one instant, for `SceneBatch.restore`.

    Attributes:
        size: backend, number of worlds, positions and motors of its batch. state: arrays of the backend.
        modes: (N,) of the motors. gains, scaled: of the controllers. laws, waves: of computed torque, by arm.
    """

    size: tuple[str, int, int, int]
    state: Any
    modes: Array
    gains: dict[str, Any]
    scaled: dict[int, dict[str, Array]]
    laws: dict[str, TorqueLaw]
    waves: dict[str, Waves]
