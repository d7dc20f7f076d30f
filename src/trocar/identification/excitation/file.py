"""Files of an excitation: its coefficients, the sampled motion, and a script that executes it on a dVRK."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np

from trocar.arms import Arm
from trocar.control.trajectories import Fourier, PeriodicRun, fourier
from trocar.errors import TrocarError, shown
from trocar.files import check_memory, read_json, write_json
from trocar.identification.excitation.limits import ExcitationLimits
from trocar.identification.excitation.search import Excitation
from trocar.recording import Recording
from trocar.spatial import Array


def save_coefficients(
    path: Path, arm: Arm, found: Excitation, limits: ExcitationLimits, rehearsed: Array | None = None
) -> Path:
    """The Fourier series with its figures, as JSON; `load_coefficients` reads it to continue a search.

    Args:
        rehearsed: (n,) largest effort of each motor in a rehearsal [N m, N].
    """
    motion = found.motion
    table = {
        "arm": arm.name,
        "joints": list(arm.joint_names),
        "form": "q = centre + sum_k a_k/(k w) sin(k w t) - b_k/(k w) cos(k w t), w = 2 pi frequency",
        "frequency": motion.frequency,
        "centre": motion.centre.tolist(),
        "a": motion.a.tolist(),
        "b": motion.b.tolist(),
        "condition_number": found.condition_number,
        "parameters": found.parameters,
        "violation": found.violation,
        "starts": [value if math.isfinite(value) else None for value in found.starts],
        "iterations": found.iterations,
        "seconds": found.seconds,
        "limits": {
            name: [float(limits.lower[i]), float(limits.upper[i]), float(limits.velocity[i])]
            for i, name in enumerate(limits.names)
        },
        "efforts": effort_table(arm, found, rehearsed),
        "trocar": version("trocar"),
    }
    return write_json(path, table)


def effort_table(arm: Arm, found: Excitation, rehearsed: Array | None = None) -> dict[str, dict[str, float]]:
    """Largest effort of each motor: its limit, by the model, and in a rehearsal [N m, N]."""
    columns = {"limit": arm.motors.effort, "model": found.effort}
    if rehearsed is not None:
        columns["rehearsal"] = rehearsed
    return {
        name: {key: float(f"{values[i]:.4g}") for key, values in columns.items()}
        for i, name in enumerate(arm.motors.names)
    }


def load_coefficients(path: Path, arm: Arm) -> Fourier:
    """The Fourier series of a file of coefficients."""
    what = f"{path} does not hold the coefficients of an excitation"
    table = read_json(path, "excitation")
    if not isinstance(table, dict):
        raise TrocarError(f"{what}: expected an object, got {shown(table)}")
    for key in ("centre", "a", "b", "frequency"):
        if key not in table:
            raise TrocarError(f"{what}: '{key}' is missing")
    try:
        motion = fourier(table["centre"], table["a"], table["b"], table["frequency"])
    except (ValueError, TypeError, OverflowError) as error:
        raise TrocarError(f"{what}: {error}") from None
    if table.get("arm") != arm.name or motion.centre.size != arm.n:
        raise TrocarError(f"{path} is an excitation for {table.get('arm')}, not for {arm.name}")
    return motion


def rows(
    arm: Arm, run: PeriodicRun, rate: float, efforts: Mapping[str, Mapping[str, float]] | None = None
) -> Recording:
    """The whole run, sampled at `rate` [Hz]: t, q, dq, ddq in the dVRK's joint order, with `efforts` in the header."""
    if not (math.isfinite(rate) and rate > 0):
        raise TrocarError(f"rate must be positive [Hz], got {rate!r}")
    count = run.duration * rate + 1
    check_memory(count * (1e3 + 8 * 8 * arm.n), f"a motion of {count:.3g} rows", "Choose a lower rate")
    t = np.arange(int(count)) / rate
    setpoints = [run(float(time)) for time in t]
    q, dq, ddq = (np.array([getattr(s, name) for s in setpoints]) for name in ("q", "dq", "ddq"))
    return Recording(
        t=t,
        q=q,
        dq=dq,
        ddq=ddq,
        joints=arm.joint_names,
        joint_units=arm.joint_units,
        provenance={
            "source": "excitation",
            "arm": arm.name,
            "instrument": arm.instrument,
            "rate": rate,
            "full_speed": list(run.full_speed),
            "trocar": version("trocar"),
        }
        | ({} if efforts is None else {"efforts": {name: dict(row) for name, row in efforts.items()}}),
    )


def player(arm: Arm, csv_name: str, rate: float) -> str:
    """Text of a Python script that executes the rows on a real dVRK and records the measurements."""
    jaw = "jaw" in arm.joint_names
    if not arm.dvrk_class:
        raise TrocarError(f"{arm.name} is not an arm of the dVRK, so there is no script for it")
    return _PLAYER.format(
        arm=arm.name,
        csv=csv_name,
        rate=rate,
        cls=arm.dvrk_class,
        default=arm.dvrk_name,
        joints=list(arm.joint_names),
        units=list(arm.joint_units),
        n=arm.n - 1 if jaw else arm.n,
        jaw=jaw,
    )


_PLAYER = '''"""Execute {csv} on a dVRK {arm} and record it. Needs ROS and the dVRK's Python package, not trocar.

    python3 play.py --arm {default} --scale 0.3 --output measured.csv

Check the motion in simulation first, keep a hand on the emergency stop, and begin with --scale 0.3, which keeps the
path and reduces the speed. Clear the workspace of the arm; mount an instrument as for teleoperation.
"""

import argparse
import csv
import os

JOINTS = {joints!r}
UNITS = {units!r}
N = {n}  # joints of the arm; the jaw, if any, has its own topic
JAW = {jaw!r}
RATE = {rate!r}  # [Hz] of the rows


def read(path):
    with open(path) as stream:
        lines = [line for line in stream if not line.startswith("#")]
    table = csv.DictReader(lines)
    q, dq = [], []
    for row in table:
        q.append([float(row["q_%s [%s]" % (j, u)]) for j, u in zip(JOINTS, UNITS)])
        dq.append([float(row["dq_%s [%s/s]" % (j, u)]) for j, u in zip(JOINTS, UNITS)])
    return q, dq


def at(table, index):
    """The row at a fractional index."""
    k = min(int(index), len(table) - 2)
    f = min(index - k, 1.0)
    return [(1.0 - f) * a + f * b for a, b in zip(table[k], table[k + 1])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arm", default="{default}")
    parser.add_argument("--file", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "{csv}"))
    parser.add_argument("--scale", type=float, default=1.0, help="speed, up to 1")
    parser.add_argument("--output", default="measured.csv")
    options = parser.parse_args()
    if not 0.0 < options.scale <= 1.0:
        parser.error("--scale must be above 0 and at most 1")
    q, dq = read(options.file)

    import crtk
    import dvrk
    import numpy

    ral = crtk.ral("excitation")
    arm = dvrk.{cls}(ral, options.arm)
    ral.check_connections()
    if not (arm.enable(10) and arm.home(10)):
        raise SystemExit("%s cannot be enabled and homed" % options.arm)
    arm.move_jp(numpy.array(q[0][:N])).wait()
    if JAW:
        arm.jaw.move_jp(numpy.array(q[0][N:])).wait()
    rate = ral.create_rate(RATE)
    rows = []
    start = ral.to_sec(ral.now())
    while True:
        elapsed = ral.to_sec(ral.now()) - start
        index = elapsed * RATE * options.scale
        if index > len(q) - 1:
            break
        p, v = at(q, index), [options.scale * x for x in at(dq, index)]
        arm.servo_jp(numpy.array(p[:N]), numpy.array(v[:N]))
        state = [list(x) for x in arm.measured_js()[:3]]
        if JAW:
            arm.jaw.servo_jp(numpy.array(p[N:]), numpy.array(v[N:]))
            state = [x + list(y) for x, y in zip(state, arm.jaw.measured_js()[:3])]
        rows.append([elapsed] + state[0] + state[1] + state[2])
        rate.sleep()
    efforts = ["N m" if u == "rad" else "N" for u in UNITS]
    header = ["t [s]"] + ["q_%s [%s]" % ju for ju in zip(JOINTS, UNITS)]
    header += ["dq_%s [%s/s]" % ju for ju in zip(JOINTS, UNITS)] + ["tau_%s [%s]" % je for je in zip(JOINTS, efforts)]
    with open(options.output, "w") as stream:
        stream.write(",".join(header) + "\\n")
        for row in rows:
            stream.write(",".join(repr(float(x)) for x in row) + "\\n")
    print("%d rows in %s" % (len(rows), options.output))


if __name__ == "__main__":
    main()
'''
