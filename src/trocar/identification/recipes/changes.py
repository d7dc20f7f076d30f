"""Changes that a search tries in a recipe, one setting at a time, from strong to weak effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

Table = Mapping[str, Any]
Change = tuple[str, dict[str, Any]]  # description of the change, and the changed recipe

STEP = 3.0  # factor between weights
CUTOFF_STEP = 1.4
DELAYS = (0.0, 0.005, 0.01)  # [s]
SLOWER_THAN = (0.0, 0.01, 0.03)
FEW = 3  # number of Dahl elements of a thinned row


def alternatives(table: Table) -> list[Callable[[Table], Iterator[Change]]]:
    """Groups of changes in trial order; each starts from the best recipe so far."""
    drives = [name for name, entry in table["drives"].items() if "hysteresis" in entry]
    return [
        *(partial(_weight, key=key) for key in ("friction", "prior", "other")),
        partial(_cutoffs, columns=range(len(table["filters"]["motion"]))),
        _deltas,
        *(partial(_term, drive=drive, term="K") for drive in drives),
        *(partial(_slope, drive=drive) for drive in drives),
        *(partial(_term, drive=drive, term="K2") for drive in drives if "K" in table["drives"][drive]["terms"]),
        *(partial(_cutoffs, columns=[column]) for column in range(len(table["filters"]["motion"]))),
        partial(_setting, key="delay", values=DELAYS, unit="s"),
        partial(_setting, key="slower_than", values=SLOWER_THAN, unit="of the top speed"),
    ]


def simpler(table: Table) -> list[Change]:
    """Changes that remove parameters."""
    changes = list(_deltas(table))
    for name, entry in table["drives"].items():
        if "slope" in entry:
            changes.append(_without_slope(table, name))
        changes += [_without(table, name, term) for term in ("K2", "K", "K0", "Fo") if term in entry["terms"]]
    return changes


def _weight(table: Table, key: str) -> Iterator[Change]:
    for factor in (STEP, 1 / STEP):
        value = float(f"{table['weights'][key] * factor:.2g}")
        yield f"weight of {key} {value:g}", _with(table, value, "weights", key)


def _cutoffs(table: Table, columns: range | list[int]) -> Iterator[Change]:
    """Motion cut-offs of some columns, not beyond the effort's cut-off, above which nothing is fitted."""
    highest = max(table["filters"]["effort"], *table["filters"]["motion"])
    for factor in (CUTOFF_STEP, 1 / CUTOFF_STEP):
        values = list(table["filters"]["motion"])
        for column in columns:
            values[column] = min(float(f"{values[column] * factor:.2g}"), highest)
        which = f" of column {columns[0] + 1}" if len(columns) == 1 else "s"
        text = " ".join(f"{values[column]:g}" for column in columns)
        yield f"motion cut-off{which} {text} Hz", _with(table, values, "filters", "motion")


def _deltas(table: Table) -> Iterator[Change]:
    rows = table["deltas"]
    for count in (FEW, 1):
        if max(len(row) for row in rows.values()) <= count:
            continue
        thin = {unit: _thinned(row, count) for unit, row in rows.items()}
        what = "; ".join(f"{' '.join(f'{delta:g}' for delta in row)} {unit}" for unit, row in thin.items())
        changed = _with(table, thin, "deltas")
        for entry in changed["drives"].values():
            if "slope" in entry:
                entry["slope"] = [delta for delta in entry["slope"] if delta in thin[entry["hysteresis"]]]
                if not entry["slope"]:
                    del entry["slope"]
        yield f"fewer elements: {what}", changed


def _thinned(row: list[float], count: int) -> list[float]:
    """`count` of the elements, evenly spaced."""
    return [row[round((k + 0.5) * len(row) / count - 0.5)] for k in range(count)] if len(row) > count else list(row)


def _term(table: Table, drive: str, term: str) -> Iterator[Change]:
    terms = table["drives"][drive]["terms"]
    if term in terms:
        yield _without(table, drive, term)
    else:
        yield f"with {drive}.{term}", _with(table, [*terms, term], "drives", drive, "terms")


def _slope(table: Table, drive: str) -> Iterator[Change]:
    """Position-dependent friction: for no element, for the second widest, for the wider half."""
    entry = table["drives"][drive]
    row = table["deltas"][entry["hysteresis"]]
    if entry.get("slope"):
        yield _without_slope(table, drive)
    for deltas in ([row[max(0, len(row) - 2)]], list(row[len(row) // 2 :])):
        if deltas != list(entry.get("slope", [])):
            name = f"{drive}: friction by position, {' '.join(f'{delta:g}' for delta in deltas)}"
            yield name, _with(table, deltas, "drives", drive, "slope")


def _setting(table: Table, key: str, values: tuple[float, ...], unit: str) -> Iterator[Change]:
    for value in values:
        if value != table["filters"].get(key, 0.0):
            yield f"{key} {value:g} {unit}", _with(table, value, "filters", key)


def _without(table: Table, drive: str, term: str) -> Change:
    changed = deepcopy(dict(table))
    changed["drives"][drive]["terms"].remove(term)
    changed["drives"][drive].get("held", {}).pop(term, None)
    return f"without {drive}.{term}", changed


def _without_slope(table: Table, drive: str) -> Change:
    changed = deepcopy(dict(table))
    del changed["drives"][drive]["slope"]
    return f"{drive}: friction independent of position", changed


def _with(table: Table, value: Any, *path: str) -> dict[str, Any]:
    """A copy of the table with a new value at a path of keys."""
    changed = entry = deepcopy(dict(table))
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = value
    return changed
