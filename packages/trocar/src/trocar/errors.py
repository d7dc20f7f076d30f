"""Errors and warnings of trocar. Each message states what was given, what is allowed and what to do."""

from __future__ import annotations

import difflib
import reprlib
import sys
from collections.abc import Collection, Iterable
from typing import Any

MAX_LISTED = 25  # names in a message
MAX_MESSAGE = 480  # characters of a message


class TrocarError(ValueError):
    """Base of every error raised on purpose; a ValueError, so plain scripts can catch that.

    Its message is always one line of at most MAX_MESSAGE characters. Messages shorten the values that they quote
    (see `shown`); only a longer one, such as with an endless file name, loses its middle: its end is the remedy.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message)))


class UnknownName(TrocarError):
    """A name (arm, instrument, frame, parameter set, ...) that does not exist."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        super().__init__(f"{kind} {suggestion(name, self.known)}")


class Unreachable(TrocarError):
    """A pose that the arm cannot take.

    Attributes:
        index: index of the first offending pose in the batch (`()` for a single pose).
        reason: reason why that pose cannot be reached.
    """

    def __init__(self, index: tuple[int, ...], reason: str, others: int = 0) -> None:
        self.index, self.reason = index, reason
        where = f"pose at index {_plain(index)}" if index else "pose"
        more = f" ({others} more poses of the batch fail too)" if others else ""
        super().__init__(f"{where} is unreachable: {reason}{more}")


class NearSingular(UserWarning):
    """The solution is at or near a singularity: it matches the pose, but joint rates are unbounded there."""


class Unsolved(UserWarning):
    """The constraint solver reached its iteration limit before it converged."""


class Inaccurate(UserWarning):
    """The time step is too long: loop closures or joint stops are violated by more than their tolerance."""


class TornApart(UserWarning):
    """Parts of objects that are tied, such as a needle and the tissue that it pierces, are apart."""


class NearLimit(UserWarning):
    """The solution lies outside a joint limit, but within the tolerance of the limit check."""


def check_type(what: str, value: object, types: Any, allowed: str) -> None:
    """Raise an error unless isinstance(value, types); `allowed` describes the accepted values in the message."""
    if not isinstance(value, types):
        raise TrocarError(f"{what} must be {allowed}, got {shown(value)}")


# A list may hold millions of values, or itself many times in a few bytes.
_BOUNDED = reprlib.Repr()
_BOUNDED.maxlevel = 3
_BOUNDED.maxtuple = _BOUNDED.maxlist = _BOUNDED.maxarray = _BOUNDED.maxdict = 40
_BOUNDED.maxset = _BOUNDED.maxfrozenset = _BOUNDED.maxdeque = 40
_BOUNDED.maxstring = _BOUNDED.maxlong = _BOUNDED.maxother = sys.maxsize  # cut at the end instead of in the middle


def shown(value: object, length: int = 80) -> str:
    """The repr of a value, shortened to `length` characters on one line, for messages."""
    try:
        text = " ".join(_BOUNDED.repr(value).split())
    except (ValueError, RecursionError):  # an integer of thousands of digits, or deeply nested lists
        text = f"<{type(value).__name__}>"
    return text if len(text) <= length else f"{text[: length - 3]}..."


def one_line(text: str) -> str:
    """The text with line breaks and control characters escaped, and the middle cut out if it is too long."""
    plain = text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return plain if len(plain) <= MAX_MESSAGE else f"{plain[: MAX_MESSAGE - 205]} ... {plain[-200:]}"


def check_known(kind: str, known: Collection[str], *names: object) -> None:
    """Raise `UnknownName` for the first name that is not in the known ones."""
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise UnknownName(kind, name, known)


def suggestion(name: object, known: Iterable[str]) -> str:
    """`'PSMM' is unknown. Did you mean 'PSM'? Known: ECM, PSM.`, with the first `MAX_LISTED` names of a long list."""
    names = list(known)
    by_lower = {n.lower(): n for n in names}
    close = difflib.get_close_matches(str(name)[:80].lower(), list(by_lower), n=1, cutoff=0.5)
    hint = f" Did you mean '{by_lower[close[0]]}'?" if close else ""
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"{shown(name)} is unknown.{hint} Known: {', '.join(names[:MAX_LISTED])}{more}."


def _plain(index: tuple[int, ...]) -> str:
    return str(index[0]) if len(index) == 1 else str(index)
