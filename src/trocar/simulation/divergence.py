"""Divergence of a simulation: the error, the last state on disk, and where MuJoCo's warnings go."""

from __future__ import annotations

import io
import logging
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


def log_mujoco_warnings() -> None:
    """Send MuJoCo's warnings to Python's log instead of MUJOCO_LOG.TXT in the working folder.

    MuJoCo has one handler for the whole process: one that is already set stays.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(lambda message: logging.getLogger("mujoco").warning(message))
