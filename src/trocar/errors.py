"""Errors and warnings of trocar: each says what was given, what is allowed and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

MESSAGE = 480  # most characters of a message
VALUE = 80  # most characters of a value quoted in a message
LIST = 240  # most characters of a list of known names


class TrocarError(ValueError):
    """Base of every error raised on purpose; a ValueError, so plain scripts can catch that.

    Its message is one line of at most MESSAGE characters, whatever was given.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(_one_line(str(message)))


class UnknownName(TrocarError):
    """A name (arm, instrument, frame, parameter set, ...) that does not exist."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        super().__init__(f"{kind} {suggestion(name, self.known)}")


class Unreachable(TrocarError):
    """A pose that the arm cannot take.

    Attributes:
        index: index of the first offending pose in the batch (`()` for a single pose).
        reason: why that pose cannot be reached.
    """

    def __init__(self, index: tuple[int, ...], reason: str, others: int = 0) -> None:
        self.index, self.reason = index, reason
        where = f"pose at index {_plain(index)}" if index else "pose"
        more = f" ({others} more poses of the batch fail too)" if others else ""
        super().__init__(f"{where} is unreachable: {reason}{more}")


class NearSingular(UserWarning):
    """The solution is at or next to a singularity: it fits the pose, but joint rates are unbounded there."""


class Unsolved(UserWarning):
    """The engine stopped looking for the forces of constraints and contacts at its limit of iterations."""


class NearLimit(UserWarning):
    """The solution lies outside a joint limit, within the tolerance limits are checked with."""


def shown(value: object) -> str:
    """repr of a value for a message, at most VALUE characters of it."""
    # A list of millions is not formatted only to be cut.
    if isinstance(value, list | tuple) and len(value) > VALUE:
        value = value[:VALUE]
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists in lists without end
        text = f"<{type(value).__name__}>"
    return _cut(text, VALUE)


def _one_line(text: str) -> str:
    """The text on one line: line breaks and control characters as escapes, cut in the middle if too long."""
    plain = text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return plain if len(plain) <= MESSAGE else f"{plain[: MESSAGE - 165]} ... {plain[-160:]}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def check_known(kind: str, known: Collection[str], *names: object) -> None:
    """Raise `UnknownName` for the first of the names that is not among the known ones."""
    for name in names:
        if not (isinstance(name, str) and name in known):
            raise UnknownName(kind, name, known)


def suggestion(name: object, known: Iterable[str]) -> str:
    """`'PSMM' is unknown. Did you mean 'PSM'? Known: ECM, PSM.`"""
    names = list(known)
    by_lower = {n.lower(): n for n in names}
    close = difflib.get_close_matches(str(name)[:VALUE].lower(), list(by_lower), n=1, cutoff=0.5)
    hint = f" Did you mean '{by_lower[close[0]]}'?" if close else ""
    return f"{shown(name)} is unknown.{hint} Known: {_listed(names)}."


def _listed(names: list[str]) -> str:
    """As many of the names as fit, and the number of the others."""
    few = names
    while len(few) > 1 and len(", ".join(few)) > LIST:
        few = few[:-1]
    more = f" and {len(names) - len(few)} more" if len(few) < len(names) else ""
    return f"{', '.join(few)}{more}"


def _plain(index: tuple[int, ...]) -> str:
    return str(index[0]) if len(index) == 1 else str(index)
