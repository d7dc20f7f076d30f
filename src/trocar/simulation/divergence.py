"""What is left when a simulation blows up: a clear error, and the last state on disk."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import mujoco
import numpy as np

from trocar.errors import TrocarError
from trocar.files import write_whole
from trocar.spatial import Array


class Diverged(TrocarError):
    """The simulation produced accelerations that are not finite or absurdly large."""


def save_states(data: mujoco.MjData, tau: Array) -> Path:
    """Write time, positions, velocities, accelerations and efforts to an .npz file in the temporary folder."""
    buffer = io.BytesIO()
    np.savez(buffer, t=data.time, q_tree=data.qpos, dq_tree=data.qvel, ddq_tree=data.qacc, tau=tau)
    folder = Path(tempfile.mkdtemp(prefix="trocar-diverged-"))
    return write_whole(folder / "last_state.npz", buffer.getvalue())
