"""Snapshots of a batch of scenes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trocar.batch.worlds.reference_waves import Waves
from trocar.batch.worlds.torque_law import TorqueLaw
from trocar.spatial import Array, Values


@dataclass(frozen=True, eq=False)
class BatchSnapshot:
    """The state of a batch at one instant, for `SceneBatch.restore`.

    Attributes:
        size: backend, number of worlds, positions and motors of its batch. parameters: see `digest`.
        state: arrays of the backend.
        modes: (N,) of the motors. gains, scaled: of the controllers. laws, waves: of computed torque, by arm.
    """

    size: tuple[str, int, int, int]
    parameters: str
    state: Any
    modes: Array
    gains: dict[str, Values]
    scaled: dict[int, dict[str, Array]]
    laws: dict[str, TorqueLaw]
    waves: dict[str, Waves]


def digest(parts: Iterable[object]) -> str:
    """Digest of the arrays and numbers of models, tables and dictionaries; with equal ones, batches go on alike."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        entries = part if isinstance(part, Mapping) else {name: getattr(part, name) for name in dir(part)}
        for name in sorted(entries):
            if isinstance(entries[name], np.ndarray | float):
                value = np.asarray(entries[name])
                state.update(f"{name} {value.dtype} {value.shape}".encode())
                state.update(value.tobytes())
    return state.hexdigest()
