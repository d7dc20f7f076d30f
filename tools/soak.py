"""Runs arms for hours of simulated time and looks for trends: `python -m tools.soak [SUBJECT ...] --hours H -o DIR`.

SUBJECT is an arm (PSM, MTML, ...) or a scene (cart_classic, ...). Every arm follows a periodic motion under the dVRK's
PID, with friction. Each period of 10 s gives a row: energy balance, loop gap, distance from the remote centre, clock,
memory. The state is kept after every few periods; the same command goes on from there, after a check that the last
period comes out again bit for bit. DIR/soak.html is the report.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import trocar as tr
from trocar.arms import ARMS
from trocar.control import JointPID, State, sinusoid
from trocar.files import write_whole
from trocar.report import Report
from trocar.simulation import Scene

TIMESTEP, PERIOD, KEPT, LOOKS = 1 / 1500, 10.0, 30, 100  # [s], [s], periods between snapshots, looks in a period
COLUMNS = ("period", "energy_error", "work", "loop", "rcm", "clock", "memory_mb", "seconds")


class Soak:
    """A scene in periodic motion, its rows so far and the snapshot to go on from."""

    def __init__(self, subject: str, folder: Path) -> None:
        self.subject, self.path = subject, folder / f"{subject}.soak"
        self.scene: Scene = (
            tr.Simulator(subject, timestep=TIMESTEP).scene
            if subject in ARMS
            else tr.load_scene(subject, timestep=TIMESTEP)
        )
        self.motion = {name: _motion(arm.arm) for name, arm in self.scene.arms.items()}
        self.pid = {name: JointPID(arm.arm) for name, arm in self.scene.arms.items()}
        start = {name: motion(0.0) for name, motion in self.motion.items()}
        self.scene.reset({n: s.q for n, s in start.items()}, {n: s.dq for n, s in start.items()})
        self.rows: list[tuple[float, ...]] = []
        if self.path.exists():
            self._resume()

    def _resume(self) -> None:
        kept: dict[str, Any] = pickle.loads(self.path.read_bytes())
        self.rows = kept["rows"][:-1]
        self.scene.restore(kept["before"])
        again, told = self.period(len(self.rows)), kept["rows"][-1]
        if again[1:6] != told[1:6]:
            raise SystemExit(f"{self.subject}: period {len(self.rows)} does not come out again: {again} is not {told}")
        self.rows.append(told)
        hours = len(self.rows) * PERIOD / 3600
        print(f"{self.subject}: goes on after {hours:.2f} h; the last period is the same to the bit")

    def run(self, hours: float, seconds: float) -> None:
        """Go on until so many hours of simulated time, or for so many seconds of real time."""
        end, began = round(hours * 3600 / PERIOD), time.perf_counter()
        while len(self.rows) < end and time.perf_counter() - began < seconds:
            before = self.scene.snapshot()
            self.rows.append(self.period(len(self.rows)))
            last = len(self.rows) >= end or time.perf_counter() - began >= seconds
            if len(self.rows) % KEPT == 0 or last:
                write_whole(self.path, pickle.dumps({"rows": self.rows, "before": before}))

    def period(self, k: int) -> tuple[float, ...]:
        """One period: its number, then the rest of `COLUMNS`."""
        scene, arms, began = self.scene, self.scene.arms, time.perf_counter()
        steps, work, lost = round(PERIOD / TIMESTEP), 0.0, 0.0
        energy, loop, rcm = self._energy(), 0.0, 0.0
        q = {name: arm.q for name, arm in arms.items()}
        for i in range(steps):
            t = i * TIMESTEP  # within the period, so that the motion is the same in each
            tau = {n: self.pid[n](State(t, q[n], arm.dq), self.motion[n](t)) for n, arm in arms.items()}
            scene.step(tau)
            for name, arm in arms.items():
                now = arm.q
                moved, q[name] = now - q[name], now
                work += float(tau[name] @ moved)
                lost += float(arm.friction_effort() @ moved)
            if i % (steps // LOOKS) == 0:
                loop = max(loop, *(arm.loop_error() for arm in arms.values()))
                rcm = max(rcm, *(arm.rcm_error() if arm.arm.has_rcm else 0.0 for arm in arms.values()))
        error = (work - lost - (self._energy() - energy)) / work
        clock = scene.data.time - (k + 1) * PERIOD
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return (float(k), error, work, loop, rcm, clock, pages * 4096 / 1e6, time.perf_counter() - began)

    def _energy(self) -> float:
        """Kinetic and potential energy of all arms [J]."""
        arms = self.scene.arms.values()
        return float(sum(a.mechanism.kinetic_energy(a.q, a.dq) + a.mechanism.potential_energy(a.q) for a in arms))

    def trends(self) -> dict[str, dict[str, float]]:
        """Mean, largest size and change over the run, by a straight line, of every column after the first period."""
        table = np.array(self.rows[1:])
        found = {}
        for name, column in zip(COLUMNS[1:], table.T[1:], strict=True):
            slope = np.polyfit(np.linspace(0.0, 1.0, len(column)), column, 1)[0] if len(column) > 2 else 0.0
            found[name] = {"mean": column.mean(), "largest": np.abs(column).max(), "change": float(slope)}
        return found


def _motion(arm: tr.Arm) -> Any:
    """Every joint about the middle between home and the centre of its range, at whole multiples of 1 / PERIOD."""
    centre = 0.5 * np.array(arm.home) + 0.25 * (arm.lower + arm.upper)
    if "insertion" in arm.joint_names:
        centre[arm.joint_names.index("insertion")] = 0.13
    return sinusoid(centre, 0.1 * (arm.upper - arm.lower), (1 + np.arange(arm.n) % 3) / PERIOD)


def figure(soak: Soak) -> Figure:
    """Columns over simulated hours."""
    table = np.array(soak.rows)
    shown = [
        ("energy_error", "energy error / work"),
        ("loop", "loop gap [m]"),
        ("rcm", "RCM [m]"),
        ("memory_mb", "memory [MB]"),
    ]
    made = Figure(figsize=(10, 6), layout="constrained")
    for axes, (name, label) in zip(made.subplots(2, 2, sharex=True).flat, shown, strict=True):
        axes.plot(table[:, 0] * PERIOD / 3600, table[:, COLUMNS.index(name)], lw=0.8)
        axes.set(ylabel=label, xlabel="simulated time [h]")
    return made


def main(arguments: Mapping[str, Any]) -> None:
    folder, report, summary = Path(arguments["output"]), Report("Soak"), {}
    folder.mkdir(parents=True, exist_ok=True)
    for subject in arguments["subject"]:
        soak = Soak(subject, folder)
        soak.run(arguments["hours"], arguments["seconds"])
        summary[subject] = {"hours": len(soak.rows) * PERIOD / 3600, **soak.trends()}
        text = f"{subject}: {summary[subject]['hours']:.2f} h. " + "; ".join(
            f"{name} mean {v['mean']:.3g}, largest {v['largest']:.3g}, change over the run {v['change']:.2g}"
            for name, v in soak.trends().items()
        )
        print(text)
        report.paragraphs.append(text)
        report.add_figure(figure(soak), f"{subject}: every period of {PERIOD:g} s.")
    report.write_html(folder / "soak.html")
    write_whole(folder / "soak.json", json.dumps(summary, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", nargs="*", default=["PSM", "MTML", "cart_classic"])
    parser.add_argument("--hours", type=float, default=24.0, help="simulated time in all [h] (default: 24)")
    parser.add_argument("--seconds", type=float, default=np.inf, help="real time for each subject in this run [s]")
    parser.add_argument("-o", "--output", default="build/soak", help="folder (default: build/soak)")
    main(vars(parser.parse_args()))
