"""Runs written as the program of Ferro et al. 2022 writes its logs: a folder of text files with rows `t, values;`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trocar.demo.torque_control import ARM
from trocar.files import check_writable, write_whole
from trocar.spatial import Array
from trocar_reproductions.ferro2022.tasks import TaskRun

JOINT_FILES = ("qmsr", "qdmsr", "qddmsr", "qdcmd", "tauMsr", "tauModel", "tauCmd", "g")
SCENE_FILES = ("pee", "pdes", "Ree", "Rdes")
INFO = "LogSessionInfo"
FILES = (*JOINT_FILES, *SCENE_FILES, INFO)


def log_columns(run: TaskRun) -> dict[str, Array]:
    """Columns of each file (N, k): joints have seven columns, the engine's effort has the opposite sign."""
    (at, turned), (wanted, wanted_turn) = run.tip(), run.desired()

    def joints(values: Array) -> Array:
        return np.pad(values[:, ARM], ((0, 0), (0, 4)))

    q = run.q.copy()
    q[:, 6] = 0.0  # the program logs the jaw as 0
    return {
        "qmsr": q,
        "qdmsr": joints(run.dq),
        "qddmsr": joints(run.ddq),
        "qdcmd": run.rates,
        "tauMsr": joints(-run.engine),
        "tauModel": joints(run.model),
        "tauCmd": joints(run.efforts),
        "g": joints(run.gravity),
        "pee": at,
        "pdes": wanted,
        "Ree": turned.reshape(-1, 9),
        "Rdes": wanted_turn.reshape(-1, 9),
    }


def check_log_folder(folder: Path) -> None:
    """Raise an OSError if one of the files cannot be written."""
    check_writable(*(folder / f"{name}.txt" for name in FILES))


def write_logs(run: TaskRun, folder: Path) -> list[Path]:
    """Write the files of a run."""
    about = run.about
    without = "" if about["counterweight"] else " - no counterweight"
    text = (
        f"{about['control']} {about['task']} - dt={1e3 * about['period']:g}ms{without} - trocar, {about['parameters']}"
    )
    return write_session(folder, run.t, log_columns(run), text)


def write_session(folder: Path, t: Array, columns: Mapping[str, Array], about: str) -> list[Path]:
    """Write the files of a session; numbers have six digits, as in the authors' logs.

    Args:
        t: time (N,) [s]. columns: (N, k) by name of the file. about: text of `LogSessionInfo.txt`.
    """
    written = []
    for name, values in columns.items():
        between, end = (",", ";\n") if name in JOINT_FILES else (", ", "; \n")
        rows = np.round(values, 9) + 0.0
        lines = (f"{time:g}, {between.join(f'{x:g}' for x in row)}{end}" for time, row in zip(t, rows, strict=True))
        written.append(write_whole(folder / f"{name}.txt", "".join(lines)))
    return [*written, write_whole(folder / f"{INFO}.txt", about)]
