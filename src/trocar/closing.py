"""Objects that a `with` statement closes."""

from __future__ import annotations

from typing import Self


class Closing:
    """Base of classes with a method `close`, which the end of a `with` statement calls."""

    def close(self) -> object:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
