"""Choosing a recipe for one's own arm: by cross-validation on the recording that is given, and on nothing else.

First a descent: one setting of the recipe is changed at a time, and the change is kept where the error on rows left out
falls. Then the one-standard-error rule: of all recipes that are as good as the best but for its standard error, the one
with the fewest parameters (of those, the one of least error) is chosen, and it is made simpler as long as that holds.

The cut-off of the effort is not searched: it says which effort is to be met, and errors at two of them do not compare.
The order is fixed, and a part of the budget is kept for the second half: the same search finds the same recipe.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from trocar.errors import TrocarError
from trocar.identification.cross_validation import Validation, bins, cross_validated, period
from trocar.identification.design import Design
from trocar.identification.pipeline import checked, problem_of
from trocar.identification.recipes.changes import alternatives, simpler
from trocar.identification.recipes.recipe import Recipe, recipe_of
from trocar.identification.recording_checks import check_excitation
from trocar.identification.signals import Signals
from trocar.recording import Recording

LEAST_GAIN = 1e-3  # of the error: a smaller one is not worth a change
PASSES = 3
DESCENT = 0.7  # of the budget, at most


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A recipe that was tried.

    Attributes:
        change: difference from the best recipe before it, in words. table: the recipe.
        validation: its errors where it was not fitted. parameters: how many the model has that it does not share with
            every recipe (friction, springs, biases, rotors).
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
class Found:
    """Result of a search. finished: it converged before its budget was spent."""

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
        """The one of fewest parameters within the bound; of those, the one of least error."""
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
        """Try a recipe, or know it already; None where the budget is spent or the recording does not allow it."""
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
        found = Trial(change=change, table=table, validation=validation, parameters=count)
        self.trials.append(found)
        self.tried[key] = found
        self.tell(len(self.trials), found)
        return found

    def _problem(self, recipe: Recipe, table: Mapping[str, Any]) -> tuple[Design, Signals]:
        """The regressor does not change with the weights, and takes longest: the last one is kept."""
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
) -> Found:
    """Search from a recipe (`recipe_table`).

    Args:
        budget: most recipes to try. progress: called with the number of recipes tried and the last of them.
    """
    if budget < 1:
        raise TrocarError(f"the budget of a search is the number of recipes to try, at least 1, got {budget}")
    run = _RecipeSearch(recording, arm, budget, progress or (lambda number, trial: None))
    run.budget = max(1, round(DESCENT * budget))
    here = run.trial("as it was", deepcopy(dict(table)))
    assert here is not None
    descended = _descend(run, here)
    run.budget = budget
    simplified = _simplify(run)
    return Found(trials=tuple(run.trials), finished=descended and simplified)


def _descend(run: _RecipeSearch, here: Trial) -> bool:
    """Keep changes that lower the error. Returns False if the budget ran out."""
    for _ in range(PASSES):
        before = here.error
        for options in alternatives(here.table):
            for change in options(here.table):
                found = run.trial(*change)
                if found is None:
                    return False
                if found.error < here.error * (1 - LEAST_GAIN):
                    here = found
        if here.error > before * (1 - LEAST_GAIN):
            break
    return True


def _simplify(run: _RecipeSearch) -> bool:
    """Take away what is not needed to stay within one standard error of the best."""
    chosen = Found(trials=tuple(run.trials), finished=False).chosen
    while True:
        options = [run.trial(*change) for change in simpler(chosen.table)]
        if any(option is None for option in options):
            return False
        now = Found(trials=tuple(run.trials), finished=False).chosen
        if now is chosen:
            return True
        chosen = now
