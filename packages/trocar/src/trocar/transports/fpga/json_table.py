"""JSON files of the dVRK: comments are allowed, and errors name the file and the entry."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from trocar import checks
from trocar.errors import TrocarError
from trocar.files import read_whole
from trocar.spatial import Array

XML = "is XML, the format before release 2.2; convert it with the dVRK's config generator"
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True)
class Linear:
    """y = offset + scale x."""

    offset: float
    scale: float


def read_commented_json(path: str | PathLike[str], what: str) -> Any:
    """Content of a JSON file with comments."""
    text = read_whole(path, what).decode("utf-8-sig", errors="replace")
    if text.lstrip().startswith("<"):
        raise TrocarError(f"the {what} {fspath(path)} {XML}")
    try:
        return json.loads(_COMMENT.sub(lambda match: match[1] or " ", text))
    except RecursionError:
        raise TrocarError(f"the {what} {fspath(path)} is nested too deeply") from None
    except ValueError as error:
        raise TrocarError(f"the {what} {fspath(path)} is not valid JSON: {error}") from None


class JsonTable:
    """A JSON object with checked access.

    Args:
        content: the object. where: file and entry, for errors.
    """

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, dict):
            raise TrocarError(f"the {where} must be a JSON object, got {type(content).__name__}")
        self.content, self.where = content, where

    def _value(self, key: str, default: Any) -> Any:
        if key not in self.content and default is None:
            raise TrocarError(f"the {self.where} has no '{key}'")
        return self.content.get(key, default)

    def table(self, key: str, default: Any = None) -> JsonTable:
        return JsonTable(self._value(key, default), f"{self.where}: {key}")

    def tables(self, key: str) -> list[JsonTable]:
        entries = self.content.get(key) or []
        if not isinstance(entries, list):
            raise TrocarError(f"'{key}' of the {self.where} must be a list")
        return [JsonTable(entry, f"{self.where}: {key} {k}") for k, entry in enumerate(entries)]

    def text(self, key: str, default: str | None = None) -> str:
        return checks.text(f"'{key}' of the {self.where}", self._value(key, default))

    def texts(self, key: str) -> list[str]:
        """A list of texts; empty if there is none."""
        entries = self.content.get(key) or []
        if not isinstance(entries, list):
            raise TrocarError(f"'{key}' of the {self.where} must be a list")
        return [checks.text(f"'{key}' of the {self.where}", entry) for entry in entries]

    def vector(self, key: str, n: int) -> Array:
        return checks.vector(f"'{key}' of the {self.where}", self._value(key, None), n)

    def flag(self, key: str) -> bool:
        return bool(self._value(key, None))

    def number(self, key: str, default: float | None = None) -> float:
        return checks.number(f"'{key}' of the {self.where}", self._value(key, default))

    def count(self, key: str, high: int) -> int:
        return checks.count(f"'{key}' of the {self.where}", self._value(key, None), 0, high)

    def linear(self, key: str, default: Any = None) -> Linear:
        table = self.table(key, default)
        scale = table.number("scale")
        if scale == 0.0:
            raise TrocarError(f"'scale' of the {table.where} must not be 0")
        return Linear(table.number("offset", 0.0), scale)
