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
    path: Path, arm: Arm, excitation: Excitation, limits: ExcitationLimits, rehearsed: Array | None = None
) -> Path:
    """The Fourier series with its figures, as JSON; `load_coefficients` reads it to continue a search.

    Args:
        rehearsed: (n,) largest effort of each motor in a rehearsal [N m, N].
    """
    motion = excitation.motion
    table = {
        "arm": arm.name,
        "joints": list(arm.joint_names),
        "form": "q = centre + sum_k a_k/(k w) sin(k w t) - b_k/(k w) cos(k w t), w = 2 pi frequency",
        "frequency": motion.frequency,
        "centre": motion.centre.tolist(),
        "a": motion.a.tolist(),
        "b": motion.b.tolist(),
        "condition_number": excitation.condition_number,
        "parameters": excitation.parameters,
        "violation": excitation.violation,
        "starts": [value if math.isfinite(value) else None for value in excitation.starts],
        "iterations": excitation.iterations,
        "seconds": excitation.seconds,
        "limits": {
            name: [float(limits.lower[i]), float(limits.upper[i]), float(limits.velocity[i])]
            for i, name in enumerate(limits.names)
        },
        "efforts": effort_table(arm, excitation, rehearsed),
        "trocar": version("trocar"),
    }
    return write_json(path, table)


def effort_table(arm: Arm, excitation: Excitation, rehearsed: Array | None = None) -> dict[str, dict[str, float]]:
    """Largest effort of each motor: its limit, by the model, and in a rehearsal [N m, N]."""
    columns = {"limit": arm.motors.effort, "model": excitation.effort}
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
    template = Path(__file__).with_name("play.py.txt").read_text(encoding="utf-8")
    return template.format(
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
