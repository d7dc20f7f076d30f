"""Logs of a served session as the program of Ferro et al. 2022 writes them, from what it sends and reads.

The published program writes none. Its signals carry all of its log but the gravity vector, which the model provides,
and the desired orientation, a constant of the program. Beside these files there is a `Recording` of every arm with the
true state of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from trocar.files import check_writable
from trocar.mechanics import load_mechanism
from trocar.recording import Recording
from trocar.simulation import Simulator
from trocar.simulation.run import provenance
from trocar.spatial import Array
from trocar_reproductions.ferro2022.log_files import write_session
from trocar_reproductions.ferro2022.remote_scene import FerroScene

MODEL = "wang2019"  # of the program
ROWS = 200_000  # rows that are kept, 33 minutes at 10 ms
FIRST = "x_ee"  # signal that the program sets in every row; the steps before it are its preparation
LAW = "motors of the scene"  # in the provenance of recordings
Q_DOT, Q_DDOT, EFFORTS = "qLdot_", "qLdd_", "tauL_"


class SessionLog:
    """Collects a row per step and writes a folder `LogSession_<n>` when the simulation stops.

    The folder has the program's logs of PSM1, if it has sent them, and a recording of every arm, such as PSM1.npz. A
    thread writes it: a simulation that went on by itself for half an hour takes it a minute, for which the next program
    does not wait.

    Args:
        folder: gets the folders of the sessions, numbered from 0; none is overwritten.
        report: called with one line about each session.
    """

    def __init__(self, folder: Path, report: Callable[[str], None] = print) -> None:
        check_writable(folder / "LogSession_0" / "qmsr.txt")
        self._folder, self._report = folder, report
        self._rows: list[dict[str, Array]] = []
        self._scene: FerroScene | None = None
        self._truth: dict[str, list[tuple[Any, ...]]] = {}  # rows by arm: t, q, dq, ddq, tau
        self._before: dict[str, tuple[float, Array, Array]] = {}  # time, q and dq before the last step
        self._mechanism = load_mechanism("PSM", MODEL)
        self._writer = ThreadPoolExecutor(1, "trocar-session-log")
        self._written: list[Future[None]] = []

    def __call__(self, scene: FerroScene | None) -> None:
        """Observe the scene before a step; None: the simulation stops."""
        if scene is None:
            self.write()
            return
        self._scene = scene
        self._record(scene)
        if FIRST in scene.floats and len(self._rows) < ROWS:
            self._rows.append(self._row(scene))

    def _record(self, scene: FerroScene) -> None:
        """Complete the row of the last step, and begin that of the next."""
        for name, psm in scene.psms.items():
            if name in self._before:
                rows = self._truth.setdefault(name, [])
                if len(rows) < ROWS:
                    rows.append((*self._before[name], psm.sim.ddq.copy(), psm.efforts))
            self._before[name] = scene.time, psm.q, psm.sim.dq.copy()

    def _row(self, scene: FerroScene) -> dict[str, Array]:
        T, (q, efforts) = scene.frames["eeDummy"], self._read(scene)
        q[6] = q[5]  # both fingers

        def values(*names: str) -> Array:
            return np.array([scene.floats.get(name, 0.0) for name in names])

        def seven(name: str, end: str = "") -> Array:
            return values(*(f"{name}{k + 1}{end}" for k in range(7)))

        at = values("x_ee", "y_ee", "z_ee")
        return {
            "qmsr": q,
            "qdmsr": seven(Q_DOT, "_msr"),
            "qddmsr": seven(Q_DDOT),
            "qdcmd": seven(Q_DOT),
            "tauMsr": np.pad(-efforts[:3], (0, 4)),
            "tauModel": np.pad(-values("Torque_J1", "Torque_J2", "Force_J3"), (0, 4)),
            "tauCmd": seven(EFFORTS),
            "g": np.pad(self._mechanism.gravity(np.append(q[:3], np.zeros(4)))[:3], (0, 4)),
            "pee": at,
            "pdes": at + values("error_x", "error_y", "error_z"),
            "Ree": T[:3, :3].T.ravel(),  # the program turns its dummy by the transposed matrix
            "Rdes": np.eye(3).ravel(),
        }

    def _read(self, scene: FerroScene) -> tuple[Array, Array]:
        """Joints (7,) and efforts (7,) that the program has read for its next row.

        Its first row is a step older than the scene: the reply to its second trigger, without a ping after it.
        """
        steps = self._truth.get("PSM1", [])
        if self._rows or len(steps) < 2:
            return scene.psms["PSM1"].q, scene.psms["PSM1"].efforts
        return steps[-1][1].copy(), steps[-2][4]

    def close(self) -> None:
        """Write the rows so far, and wait until all sessions are written. Raises the first error of writing."""
        self.write()
        self._writer.shutdown()
        for session in self._written:
            session.result()

    def write(self) -> None:
        """Let the rows so far be written, and begin a new session."""
        rows, scene, self._rows = self._rows, self._scene, []
        if scene is not None:
            self._record(scene)
        truth, self._truth, self._before, self._scene = self._truth, {}, {}, None
        if scene is None or not truth:
            return
        control = "dynamic" if scene.torque else "kinematic"
        weight = "with" if scene.counterweight else "no"
        about = f"{control} - dt={1e3 * scene.period:g}ms - {weight} counterweight - trocar serve coppelia"
        arms = {name: (scene.psms[name].sim, steps) for name, steps in truth.items()}
        self._written.append(self._writer.submit(self._write, arms, rows, scene.period, about))

    def _write(
        self,
        arms: dict[str, tuple[Simulator, list[tuple[Any, ...]]]],
        rows: list[dict[str, Array]],
        period: float,
        about: str,
    ) -> None:
        """Write a session: arms with the rows of their engine, and the rows of the program."""
        try:
            number = 0
            while (folder := self._folder / f"LogSession_{number}").exists():
                number += 1
            folder.mkdir(parents=True)
            for name, (sim, steps) in arms.items():
                _recording(sim, steps).save(folder / f"{name}.npz")
            if rows:
                columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
                write_session(folder, np.arange(len(rows)) * period, columns, about)
            self._report(f"wrote {len(rows or steps)} rows to {folder}")
        except OSError as error:
            self._report(f"the logs of a session were not written: {error}")
            raise


def _recording(sim: Simulator, rows: list[tuple[Any, ...]]) -> Recording:
    """Row k: q, dq at t_k, with the mean efforts of the period from there and the acceleration at its end."""
    t, q, dq, ddq, tau = (np.array(column) for column in zip(*rows, strict=True))
    facts: dict[str, Any] = {
        "joints": sim.arm.joint_names,
        "joint_units": sim.arm.joint_units,
        "provenance": provenance(sim, LAW),
    }
    return Recording(t=t, q=q, dq=dq, ddq=ddq, tau=tau, **facts)
