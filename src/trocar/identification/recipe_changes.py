"""What a search may change in a recipe, one setting at a time, from strong to weak effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Table = Mapping[str, Any]

STEP = 3.0  # factor between weights
CUTOFF_STEP = 1.4
DELAYS = (0.0, 0.005, 0.01)  # [s]
SLOWER_THAN = (0.0, 0.01, 0.03)
FEW = 3  # Dahl elements of a thinned row


@dataclass(frozen=True)
class Change:
    """A change by name; `apply` makes it in a table, in place."""

    name: str
    apply: Callable[[dict[str, Any]], None]


def alternatives(table: Table) -> list[Callable[[Table], Iterator[Change]]]:
    """Groups of changes, in the order they are tried; each looks at the recipe as it is by then."""
    drives = [name for name, entry in table["drives"].items() if "hysteresis" in entry]
    return [
        *(lambda t, w=weight: _weights(t, w) for weight in ("friction", "prior", "other")),
        _all_cutoffs,
        _deltas,
        *(lambda t, d=drive: _term(t, d, "K") for drive in drives),
        *(lambda t, d=drive: _slope(t, d) for drive in drives),
        *(lambda t, d=drive: _term(t, d, "K2") for drive in drives if "K" in table["drives"][drive]["terms"]),
        *(lambda t, j=column: _cutoff(t, j) for column in range(len(table["filters"]["motion"]))),
        lambda t: _setting(t, "delay", DELAYS, "s"),
        lambda t: _setting(t, "slower_than", SLOWER_THAN, "of the top speed"),
    ]


def simpler(table: Table) -> list[Change]:
    """Changes that take parameters away."""
    found = [change for change in _deltas(table) if change.name.startswith("fewer")]
    for name, entry in table["drives"].items():
        if "slope" in entry:
            found.append(_without_slope(name))
        found += [_without(name, term) for term in ("K2", "K", "Fo") if term in entry["terms"]]
    return found


def _weights(table: Table, key: str) -> Iterator[Change]:
    for factor in (STEP, 1 / STEP):
        value = float(f"{table['weights'][key] * factor:.2g}")
        yield Change(f"weight of {key} {value:g}", _set("weights", key, value))


def _all_cutoffs(table: Table) -> Iterator[Change]:
    for factor in (CUTOFF_STEP, 1 / CUTOFF_STEP):
        values = [_cut(f * factor, table) for f in table["filters"]["motion"]]
        yield Change("motion cut-offs " + " ".join(f"{f:g}" for f in values) + " Hz", _set("filters", "motion", values))


def _cutoff(table: Table, column: int) -> Iterator[Change]:
    for factor in (CUTOFF_STEP, 1 / CUTOFF_STEP):
        values = list(table["filters"]["motion"])
        values[column] = _cut(values[column] * factor, table)
        name = f"motion cut-off of column {column + 1} {values[column]:g} Hz"
        yield Change(name, _set("filters", "motion", values))


def _cut(value: float, table: Table) -> float:
    """Not beyond the effort's: what is faster than that is not asked for."""
    return min(float(f"{value:.2g}"), max(table["filters"]["effort"], *table["filters"]["motion"]))


def _deltas(table: Table) -> Iterator[Change]:
    rows = table["deltas"]
    for count in (FEW, 1):
        if max(len(row) for row in rows.values()) <= count:
            continue
        thin = {unit: _thinned(row, count) for unit, row in rows.items()}
        what = "; ".join(f"{' '.join(f'{delta:g}' for delta in row)} {unit}" for unit, row in thin.items())
        yield Change(f"fewer elements: {what}", _set_deltas(thin))


def _thinned(row: list[float], count: int) -> list[float]:
    """`count` of the elements, spread evenly over them."""
    return [row[round((k + 0.5) * len(row) / count - 0.5)] for k in range(count)] if len(row) > count else list(row)


def _term(table: Table, drive: str, term: str) -> Iterator[Change]:
    if term in table["drives"][drive]["terms"]:
        yield _without(drive, term)
    else:
        yield Change(f"with {drive}.{term}", lambda t: t["drives"][drive]["terms"].append(term))


def _slope(table: Table, drive: str) -> Iterator[Change]:
    """Friction that changes with position: of no element, of the widest but one, of the wider half."""
    entry = table["drives"][drive]
    row = table["deltas"][entry["hysteresis"]]
    if entry.get("slope"):
        yield _without_slope(drive)
    for kept in ([row[max(0, len(row) - 2)]], row[len(row) // 2 :]):
        if list(kept) != list(entry.get("slope", [])):
            name = f"{drive}: friction by position, {' '.join(f'{delta:g}' for delta in kept)}"
            yield Change(name, _set_slope(drive, list(kept)))


def _without(drive: str, term: str) -> Change:
    def apply(table: dict[str, Any]) -> None:
        entry = table["drives"][drive]
        entry["terms"].remove(term)
        entry.get("held", {}).pop(term, None)

    return Change(f"without {drive}.{term}", apply)


def _without_slope(drive: str) -> Change:
    return Change(f"{drive}: friction the same everywhere", lambda t: _drop_slope(t, drive))


def _setting(table: Table, key: str, values: tuple[float, ...], unit: str) -> Iterator[Change]:
    for value in values:
        if value != table["filters"].get(key, 0.0):
            yield Change(f"{key} {value:g} {unit}", _set("filters", key, value))


def _set(part: str, key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(table: dict[str, Any]) -> None:
        table[part][key] = value

    return apply


def _set_slope(drive: str, deltas: list[float]) -> Callable[[dict[str, Any]], None]:
    def apply(table: dict[str, Any]) -> None:
        table["drives"][drive]["slope"] = deltas

    return apply


def _set_deltas(rows: Mapping[str, list[float]]) -> Callable[[dict[str, Any]], None]:
    def apply(table: dict[str, Any]) -> None:
        table["deltas"] = dict(rows)
        for drive, entry in table["drives"].items():
            if "slope" in entry:
                entry["slope"] = [delta for delta in entry["slope"] if delta in rows[entry["hysteresis"]]]
                if not entry["slope"]:
                    _drop_slope(table, drive)

    return apply


def _drop_slope(table: dict[str, Any], drive: str) -> None:
    del table["drives"][drive]["slope"]
