"""A claim: one published number compared with ours."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

from trocar.errors import TrocarError

Relation = Literal["equal", "at_most", "at_least"]
Kind = Literal["printed", "noise", "log", "fit", "one-sided", "signal", "statement", "own", "regression"]

RELATIONS: tuple[str, ...] = get_args(Relation)
# Kinds of evidence for a number that a source prints, strongest first.
NUMBER_KINDS: dict[str, str] = {
    "printed": "our engine or equations alone give the printed number, other than zero",
    "noise": "our engine gives the printed number once the noise of the authors' solver is added",
    "log": "the printed number recomputed from its authors' log or table",
    "fit": "our number was fitted to the data it is compared with",
    "one-sided": "our number stays below or above the printed one",
}
# Printed numbers that no claim reproduces.
NOT_REPRODUCED: dict[str, str] = {
    "missed": "a claim was judged, and none passed",
    "not reproducible": "the source itself rules it out",
    "not run": "a file or a graphics driver was missing",
}
# Kinds of claims that are not about a printed number.
CHECK_KINDS: dict[str, str] = {
    "signal": "our engine or equations follow a signal that the authors logged",
    "statement": "our engine or equations agree with a printed table, formula or sentence: a difference of zero",
    "own": "a check of ours with a derived bound: rounding, a printed number, our engine against our own model",
    "regression": "a bound or an aim that we chose: it notices changes and proves nothing else",
}
OWN_BOUNDS = ("own", "regression")  # kinds whose bound is ours, not a published number
KINDS: dict[str, str] = {**NUMBER_KINDS, **CHECK_KINDS}
JSON_KEYS = ("id", "published", "ours", "unit", "relation", "tolerance", "holds", "kind", "number", "source", "note")
REASONS = ("not run: ", "not reproducible: ")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One published number compared with ours.

    Attributes:
        id: unique name, such as `ferro2022/tip_error`.
        published: the number from the source, in `unit`; None if the source gives none.
        ours: the number computed here, in `unit`; None if it was not computed. NaN and infinity always fail.
        unit: unit of published, ours and tolerance; empty for a pure number.
        relation: required relation of ours to published: equal, at_most or at_least.
        tolerance: allowed excess over the relation, >= 0, in `unit`.
        kind: kind of evidence, one of `KINDS`. "printed" with another relation than equal becomes "one-sided", with a
            published 0 "statement".
        number: name of the printed number; claims about the same number share the name, and it counts once. Default:
            the id, for the kinds in `NUMBER_KINDS`.
        source: source of the published number (publication, table, page).
        note: remark; if a number is missing, the reason: "not run: ..." or "not reproducible: ...".
    """

    id: str
    published: float | None
    ours: float | None
    unit: str
    relation: Relation
    tolerance: float
    source: str
    note: str = ""
    kind: Kind = "printed"
    number: str = ""

    def __post_init__(self) -> None:
        for name in ("id", "unit", "source", "note", "number"):
            if not isinstance(getattr(self, name), str):
                raise self._error(name, "a string")
        for name in ("id", "source"):
            if not getattr(self, name).strip():
                raise self._error(name, "a string that is not empty")
        if self.relation not in RELATIONS:
            raise self._error("relation", f"one of {', '.join(RELATIONS)}")
        if self.kind not in KINDS:
            raise self._error("kind", f"one of {', '.join(KINDS)}")
        if self.kind == "printed" and self.relation != "equal":
            object.__setattr__(self, "kind", "one-sided")
        elif self.kind == "printed" and self.published == 0:
            object.__setattr__(self, "kind", "statement")
        if self.kind in CHECK_KINDS:
            object.__setattr__(self, "number", "")
        elif not self.number:
            object.__setattr__(self, "number", self.id)
        self._take_number("tolerance", "a finite number >= 0", low=0.0)
        if self.published is not None:
            self._take_number("published", "a finite number or None")
        if self.ours is not None:
            self._take_number("ours", "a number or None", finite=False)
        explained = any(self.note.startswith(reason) and self.note != reason for reason in REASONS)
        missing = self.published is None or self.ours is None
        if missing and not explained:
            raise self._error("note", "'not run: ...' or 'not reproducible: ...' if a number is missing")
        if explained and not missing:
            raise self._error("note", "a remark that is no reason for skipping, because both numbers are given")

    @property
    def holds(self) -> bool | None:
        """True if ours satisfies the relation to published; None if one of the two is missing."""
        if self.published is None or self.ours is None:
            return None
        if not math.isfinite(self.ours):
            return False
        if self.relation == "equal":
            return abs(self.ours - self.published) <= self.tolerance
        if self.relation == "at_most":
            return self.ours <= self.published + self.tolerance
        return self.ours >= self.published - self.tolerance

    @property
    def verdict(self) -> str:
        """`passed`, `failed`, or the reason for skipping: `not run` or `not reproducible`."""
        if self.holds is None:
            return self.note.partition(":")[0]
        return "passed" if self.holds else "failed"

    def to_json(self) -> dict[str, Any]:
        """The claim as a dictionary for JSON, which has no NaN or infinity: those become null with a note."""
        ours, note = self.ours, self.note
        if ours is not None and not math.isfinite(ours):
            note = f"ours is {ours}; {note}" if note else f"ours is {ours}"
            ours = None
        return {key: getattr(self, key) for key in JSON_KEYS} | {"ours": ours, "note": note}

    @property
    def has_own_bound(self) -> bool:
        """True if the bound is ours: it follows from no printed number other than zero."""
        return self.kind in OWN_BOUNDS or self.published == 0

    def expected(self) -> str:
        """The published number with relation and tolerance, such as `= 1.2 ± 0.1` or `≤ 3 + 0.5`.

        A bound of ours is one number: `≤ 0.001`.
        """
        if self.published is None:
            return "-"
        sign, margin = {"equal": ("=", "±"), "at_most": ("≤", "+"), "at_least": ("≥", "-")}[self.relation]
        if self.relation != "equal" and self.has_own_bound:
            slack = self.tolerance if self.relation == "at_most" else -self.tolerance
            return f"{sign} {number(self.published + slack)}"
        text = f"{sign} {number(self.published)}"
        return f"{text} {margin} {number(self.tolerance)}" if self.tolerance else text

    def comparison(self) -> str:
        """Our number and the required one, such as `ours 1.4, published = 1.2 ± 0.1 mm`."""
        name = "our bound" if self.has_own_bound else "published"
        return f"ours {number(self.ours)}, {name} {self.expected()} {self.unit}".rstrip()

    def _take_number(self, name: str, allowed: str, low: float = -math.inf, finite: bool = True) -> None:
        """Turn a number of any kind (numpy's included) into a float."""
        value = getattr(self, name)
        real = isinstance(value, Real) and not isinstance(value, bool)
        if not real or (finite and not (math.isfinite(value) and value >= low)):
            raise self._error(name, allowed)
        object.__setattr__(self, name, float(value))

    def _error(self, name: str, allowed: str) -> TrocarError:
        return TrocarError(f"claim {self.id!r}: {name} is {getattr(self, name)!r}; allowed: {allowed}")


def number(value: float | None) -> str:
    """A number with six digits, for tables and pages."""
    return "-" if value is None else f"{value:.6g}"


class Counted(NamedTuple):
    """A printed number: its name, and the kind of the strongest claim about it that passed.

    Without such a claim, kind is `missed`, or the reason for skipping if no claim was judged.
    """

    number: str
    kind: str


def counted(claims: Iterable[tuple[str, str, str]]) -> list[Counted]:
    """Every printed number once, from (number, kind, verdict) of the claims about it."""
    verdicts: dict[str, dict[str, list[str]]] = {}
    for name, kind, verdict in claims:
        if kind in NUMBER_KINDS:
            verdicts.setdefault(name, {}).setdefault(verdict, []).append(kind)
    numbers = []
    for name, kinds in verdicts.items():
        passed = [kind for kind in NUMBER_KINDS if kind in kinds.get("passed", ())]
        skipped = "not run" if "not run" in kinds else "not reproducible"
        numbers.append(Counted(name, passed[0] if passed else "missed" if "failed" in kinds else skipped))
    return numbers
