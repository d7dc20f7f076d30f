"""An identified set as a parameter file, with its provenance, residuals and covariance.

`load_mechanism` and `Simulator` read the file like any other set; the tables [provenance], [residuals] and [covariance]
describe the accuracy of the set; estimators read the covariance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms.file_fields import Fields
from trocar.arms.mirroring import parities, reflections
from trocar.arms.parameters import Parameters, load_parameters, to_toml
from trocar.arms.tables import DATA
from trocar.errors import TrocarError
from trocar.identification.pipeline import Identified, Recalibrated
from trocar.spatial import Array
from trocar.toml_file import read_toml, toml_text


def identified_text(identified: Identified, recording: str) -> str:
    """Text of the file of an identified arm; `recording` names its source."""
    head = [
        f"Dynamic parameters of a {identified.parameters.arm}, identified by trocar from {recording}. SI units.",
        "Physically consistent: pseudo-inertias positive definite, rotors not negative, friction passive.",
        "Fo is the bias of the measured effort, K0 a constant force.",
        "Only combinations of the link parameters can be seen in joint effort; the rest follows the prior.",
    ]
    if identified.unexplained:
        head.append(f"NOT EXPLAINED by the model, and not to be used: {', '.join(identified.unexplained)}.")
    tables = {
        "provenance": {
            "recording": recording,
            "trocar": version("trocar"),
            "recipe": identified.recipe.name,
            "solver": f"Clarabel, {identified.status}",
            "filter_effort_hz": identified.recipe.effort_cutoff,
            "filter_motion_hz": list(identified.recipe.motion_cutoffs),
            "delay_s": identified.recipe.delay,
            "weight_prior": identified.recipe.weights.prior,
            "weight_friction": identified.recipe.weights.friction,
            "weight_other": identified.recipe.weights.other,
        },
        "residuals": {
            "columns": list(identified.columns),
            "train_relative_error": _rounded(identified.train_relative_error),
            "cv_relative_error": _rounded(identified.cv_relative_error),
            "train_rms": _rounded(identified.train_rms),
        },
        "covariance": {
            "names": list(identified.names),
            "lower_triangle": [_rounded(row[: i + 1]) for i, row in enumerate(identified.covariance)],
        },
    }
    return _text(identified.parameters, f"identified from {recording}", head, tables)


def recalibrated_text(recalibrated: Recalibrated, base: str, recording: str) -> str:
    """Text of the file of a recalibrated arm."""
    head = [
        f"Dynamic parameters of a {recalibrated.parameters.arm}: {base} with friction and effort bias refitted by "
        "trocar to",
        f"{recording}. SI units.",
    ]
    tables = {
        "provenance": {"base": base, "recording": recording, "trocar": version("trocar")},
        "residuals": {
            "columns": list(recalibrated.columns),
            "relative_error_before": _rounded(recalibrated.before),
            "relative_error": _rounded(recalibrated.after),
            "rms": _rounded(recalibrated.rms_after),
        },
    }
    return _text(recalibrated.parameters, f"{base}, friction of {recording}", head, tables)


def covariance(path: str | Path, arm: str | None = None) -> tuple[tuple[str, ...], Array]:
    """Names (k,) and covariance (k, k) of the parameters in a file that `trocar identify` wrote.

    Args:
        path: the file, or the `path` of loaded `Parameters`, which is a plain file name for built-in sets.
        arm: "MTML" or "MTMR" for the parameters of that master. Default: the arm of the file.
    """
    file = _file(path)
    content = read_toml(file, "parameter file")
    if (table := content.get("covariance")) is None:
        raise TrocarError(f"{path} has no table [covariance]: it was not written by `trocar identify`")
    fields = Fields({"covariance": table}, str(path)).table("covariance")
    names = fields.words("names")
    rows = fields.rows("lower_triangle", range(1, len(names) + 1), "rows of a lower triangle", most=np.inf)
    if [len(row) for row in rows] != list(range(1, len(names) + 1)):
        raise fields.error(
            f"'lower_triangle' needs {len(names)} rows, one per name, each with one more number than the last"
        )
    C = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        C[i, : i + 1] = C[: i + 1, i] = row
    if arm is None or not reflections(arm, identified := Fields(content, str(path)).text("arm")):
        return names, C
    factors = parities(names, arm, load_parameters(identified, Path(file)).drives, identified)
    return names, C * np.outer(factors, factors)


def residual_rms(path: str | Path) -> dict[str, float]:
    """RMS of the unexplained effort by column [N m, N], in a file that `trocar identify` wrote.

    After a recalibration it is that of rows after the fitted ones, otherwise that of the fitted rows.

    Args:
        path: as for `covariance`.
    """
    content = read_toml(_file(path), "parameter file")
    if (table := content.get("residuals")) is None:
        raise TrocarError(f"{path} has no table [residuals]: it was not written by `trocar identify`")
    fields = Fields({"residuals": table}, str(path)).table("residuals")
    columns, values = fields.words("columns"), fields.numbers("rms" if "rms" in fields else "train_rms")
    if len(columns) != len(values) or not all(value > 0 for value in values):
        raise fields.error(f"the RMS of the residuals needs {len(columns)} positive numbers, one per column")
    return dict(zip(columns, values, strict=True))


def _file(path: str | Path) -> str | Path:
    """A parameter file, or the built-in one of that name."""
    shipped = DATA / "parameters" / path
    return path if Path(path).exists() or not shipped.exists() else shipped


def _text(parameters: Parameters, source: str, head: Sequence[str], tables: Mapping[str, Any]) -> str:
    return to_toml(replace(parameters, source=source), head) + "\n" + toml_text(tables)


def _rounded(values: Array) -> list[float]:
    """A number with six digits, enough for an estimate."""
    return [float(f"{v:.6g}") for v in values]
