"""Divergence of a simulation: the error, saving the last state, and the handling of MuJoCo's warnings."""

from __future__ import annotations

import io
import logging
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import mujoco
import numpy as np

from trocar.errors import TrocarError, shown
from trocar.files import write_whole
from trocar.spatial import Array

KEPT = "TROCAR_DIVERGED_STATES"  # environment variable: number of saved states to keep
PREFIX, STATE = "trocar-diverged-", "last_state.npz"  # folder in the temporary folder, and the file in it


class Diverged(TrocarError):
    """The simulation produced accelerations that are not finite or implausibly large."""


def save_states(data: mujoco.MjData, tau: Array) -> str:
    """Write time, positions, velocities, accelerations and efforts to an .npz file in the temporary folder.

    Returns a sentence with the path, or with the reason why the state is not saved. The last five files of a user are
    kept; the environment variable TROCAR_DIVERGED_STATES changes this number, 0 disables saving.
    """
    limit = os.environ.get(KEPT, "5")
    if not limit.isdecimal():
        return f"the last state is not saved: {KEPT} must be a whole number, got {shown(limit)}"
    if int(limit) == 0:
        return f"the last state is not saved ({KEPT} = 0)"
    buffer = io.BytesIO()
    np.savez(buffer, t=data.time, q_tree=data.qpos, dq_tree=data.qvel, ddq_tree=data.qacc, tau=tau)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        path = write_whole(folder / STATE, buffer.getvalue())
    except OSError as error:  # a full disk must not hide the divergence
        return f"the last state cannot be saved: {error.strerror}"
    _remove_older(folder, int(limit))
    return f"the last state is in {path}"


def _remove_older(newest: Path, limit: int) -> None:
    """Remove all but the last `kept` saved states of this user."""
    with suppress(OSError):  # another process may be removing them concurrently
        folders = [path for path in newest.parent.glob(f"{PREFIX}*") if path != newest]
        ours = [(path.stat().st_mtime_ns, path) for path in folders if path.stat().st_uid == os.getuid()]
        for _, folder in sorted(ours)[: max(0, len(ours) + 1 - limit)]:
            with suppress(OSError):
                (folder / STATE).unlink(missing_ok=True)
                folder.rmdir()


def log_mujoco_warnings() -> None:
    """Send MuJoCo's warnings to Python's log instead of MUJOCO_LOG.TXT in the working folder.

    MuJoCo has one handler per process; an existing handler is kept.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(lambda message: logging.getLogger("mujoco").warning(message))
