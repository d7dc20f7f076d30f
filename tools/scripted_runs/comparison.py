"""Comparison of two folders of recorded runs, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from trocar.spatial import Array

MAX_LINES = 12  # differences printed per run
MAX_TEXTS = 3  # differing texts reported per run
EXCERPT = 200  # characters of a differing row


def compare(a: Path, b: Path) -> bool:
    """Compare two folders and print the result of every run; True if all runs are in both and identical."""
    names = sorted({path.stem for folder in (a, b) for path in folder.glob("*.npz")})
    identical = 0
    for name in names:
        lines = differences(a, b, name)
        identical += not lines
        print(f"{name}: {f'DIFFERS ({len(lines)}): {lines[0]}' if lines else 'identical'}")
        for line in lines[1:MAX_LINES]:
            print("    ", line)
    print(f"{identical} of {len(names)} runs identical")
    return 0 < len(names) == identical


def differences(a: Path, b: Path, name: str) -> list[str]:
    """Descriptions of all differences between two recordings of one run."""
    missing = [str(folder) for folder in (a, b) if not (folder / f"{name}.npz").exists()]
    if missing:
        return [f"missing in {', '.join(missing)}"]
    return [*_text_differences(a, b, name), *_array_differences(a, b, name)]


def _text_differences(a: Path, b: Path, name: str) -> list[str]:
    A, B = (json.loads((folder / f"{name}.json").read_text()) for folder in (a, b))
    lines = [_row_difference(key, A[key], B[key]) for key in ("topics", "notes", "events") if A[key] != B[key]]
    texts = [(key, A["texts"].get(key), B["texts"].get(key)) for key in sorted({*A["texts"], *B["texts"]})]
    return lines + [f"texts {key}: {x} != {y}" for key, x, y in texts if x != y][:MAX_TEXTS]


def _row_difference(key: str, x: list[Any], y: list[Any]) -> str:
    first = next((k for k, (u, v) in enumerate(zip(x, y, strict=False)) if u != v), min(len(x), len(y)))
    row_x, row_y = (json.dumps(rows[first])[:EXCERPT] if first < len(rows) else "(end)" for rows in (x, y))
    reordered = key != "notes" and sorted(map(json.dumps, x)) == sorted(map(json.dumps, y))
    order = " (the same rows in another order)" if reordered else ""
    return f"{key}: {len(x)} and {len(y)} rows, first difference at {first}{order}: {row_x} != {row_y}"


def _array_differences(a: Path, b: Path, name: str) -> list[str]:
    lines = []
    with np.load(a / f"{name}.npz") as A, np.load(b / f"{name}.npz") as B:
        for key in sorted({*A.files, *B.files}):
            label = key.replace("|", "/")
            if key not in A.files or key not in B.files:
                lines.append(f"{label}: only in {b if key in B.files else a}")
            elif (difference := _array_difference(A[key], B[key])) is not None:
                lines.append(f"{label}: {difference}")
    return lines


def _array_difference(x: Array, y: Array) -> str | None:
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{x.dtype}{x.shape} != {y.dtype}{y.shape}"
    if x.tobytes() == y.tobytes():
        return None
    if x.dtype.kind != "f":
        return "differs"
    rows = np.flatnonzero((x.view(f"u{x.itemsize}") != y.view(f"u{y.itemsize}")).reshape(len(x), -1).any(1))
    with np.errstate(invalid="ignore"):
        largest = np.abs(x - y)
    text = f"{len(rows)} of {len(x)} rows differ, the first at {rows[0]}"
    return text if np.isnan(largest).all() else f"{text}, by up to {np.nanmax(largest):.3g}"
