"""Search for a recipe for your own arm, by cross-validation on the given recording only.

First a descent: one setting of the recipe is changed at a time, and the change is kept if the held-out error falls.
Then the one-standard-error rule: of all recipes within one standard error of the best, the one with the fewest
parameters (among those, the one of least error) is chosen, and it is simplified as long as that holds.

The cut-off of the effort is not searched: it defines the fitted effort, and errors at two cut-offs are not comparable.
The order is fixed, and part of the budget is reserved for the second half, so that the search is reproducible.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from trocar.errors import TrocarError
from trocar.identification.cross_validation import Validation, bins, cross_validated, period
from trocar.identification.design import Design
from trocar.identification.pipeline import checked, problem_of
from trocar.identification.recipes.recipe import Recipe, recipe_of
from trocar.identification.signals import Signals, check_excitation
from trocar.recording import Recording

MIN_GAIN = 1e-3  # smallest relative reduction of the error that is worth a change
PASSES = 3
DESCENT = 0.7  # largest fraction of the budget

Table = Mapping[str, Any]
Change = tuple[str, dict[str, Any]]  # description of the change, and the changed recipe

STEP = 3.0  # factor between weights
CUTOFF_STEP = 1.4
DELAYS = (0.0, 0.005, 0.01)  # [s]
SLOWER_THAN = (0.0, 0.01, 0.03)
FEW = 3  # number of Dahl elements of a thinned row


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A tested recipe.

    Attributes:
        change: description of the difference from the previous best recipe. table: the recipe.
        validation: its held-out errors. parameters: number of parameters that are not common to all recipes
            (friction, springs, biases, rotors).
    """

    change: str
    table: Mapping[str, Any]
    validation: Validation
    parameters: int

    @property
    def error(self) -> float:
        """Mean over the columns of the relative error."""
        return self.validation.mean


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Result of a search. finished: True if it converged within its budget."""

    trials: tuple[Trial, ...]
    finished: bool

    @property
    def start(self) -> Trial:
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The trial of least error."""
        return min(self.trials, key=lambda trial: trial.error)

    @property
    def bound(self) -> float:
        """Error of the best and its standard error over the folds."""
        return self.best.error + self.best.validation.standard_error

    @property
    def chosen(self) -> Trial:
        """The trial with the fewest parameters within the bound; among those, the one of least error."""
        return min((t for t in self.trials if t.error <= self.bound), key=lambda t: (t.parameters, t.error))


@dataclass
class _RecipeSearch:
    recording: Recording
    arm: str
    budget: int
    tell: Callable[[int, Trial], None]
    trials: list[Trial] = field(default_factory=list)
    tried: dict[str, Trial] = field(default_factory=dict)
    problems: dict[str, tuple[Design, Signals]] = field(default_factory=dict)

    def trial(self, change: str, table: Mapping[str, Any]) -> Trial | None:
        """Test a recipe, or look it up; None if the budget is exhausted or the recording does not allow it."""
        key = json.dumps(table, sort_keys=True)
        if key in self.tried:
            return self.tried[key]
        if len(self.trials) >= self.budget:
            return None
        recipe = recipe_of(self.arm, table)
        problem, signals = self._problem(recipe, table)
        repeats = period(signals)
        bin_of_row = bins(signals, repeats)
        fitted = signals.faster_than(recipe.slower_than)
        validation = cross_validated(problem, bin_of_row, problem.grams(bin_of_row, fitted), repeats is not None)
        count = problem.X.shape[-1] - 10 * len(problem.links)
        trial = Trial(change=change, table=table, validation=validation, parameters=count)
        self.trials.append(trial)
        self.tried[key] = trial
        self.tell(len(self.trials), trial)
        return trial

    def _problem(self, recipe: Recipe, table: Mapping[str, Any]) -> tuple[Design, Signals]:
        """The problem of a recipe. The last regressor is cached: it is slow and does not depend on the weights."""
        key = json.dumps({name: part for name, part in table.items() if name != "weights"}, sort_keys=True)
        if key not in self.problems:
            mechanism, T, signals = checked(recipe, self.recording)
            if not self.trials:
                check_excitation(self.recording, signals)
            self.problems.clear()
            self.problems[key] = problem_of(recipe, mechanism, T, signals), signals
        problem, signals = self.problems[key]
        return problem.weighted(recipe.weights), signals


def search(
    recording: Recording,
    arm: str,
    table: Mapping[str, Any],
    *,
    budget: int = 100,
    progress: Callable[[int, Trial], None] | None = None,
) -> SearchResult:
    """Search from a recipe (`recipe_table`).

    Args:
        budget: largest number of recipes to test. progress: called with the number of tested recipes and the last one.
    """
    if budget < 1:
        raise TrocarError(f"the budget of a search must be a number of recipes >= 1, got {budget}")
    run = _RecipeSearch(recording, arm, budget, progress or (lambda number, trial: None))
    run.budget = max(1, round(DESCENT * budget))
    here = run.trial("as it was", deepcopy(dict(table)))
    assert here is not None
    descended = _descend(run, here)
    run.budget = budget
    simplified = _simplify(run)
    return SearchResult(trials=tuple(run.trials), finished=descended and simplified)


def _descend(run: _RecipeSearch, here: Trial) -> bool:
    """Keep changes that lower the error. Returns False if the budget ran out."""
    for _ in range(PASSES):
        before = here.error
        for options in alternatives(here.table):
            for change in options(here.table):
                trial = run.trial(*change)
                if trial is None:
                    return False
                if trial.error < here.error * (1 - MIN_GAIN):
                    here = trial
        if here.error > before * (1 - MIN_GAIN):
            break
    return True


def _simplify(run: _RecipeSearch) -> bool:
    """Remove terms while the error stays within one standard error of the best."""
    chosen = SearchResult(trials=tuple(run.trials), finished=False).chosen
    while True:
        options = [run.trial(*change) for change in simpler(chosen.table)]
        if any(option is None for option in options):
            return False
        now = SearchResult(trials=tuple(run.trials), finished=False).chosen
        if now is chosen:
            return True
        chosen = now


# -- changes, one setting at a time, from strong to weak effect --------------------------------------------------------


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
