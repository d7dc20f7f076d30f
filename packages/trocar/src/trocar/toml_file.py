"""TOML files: written by tomlkit, read by the standard library."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import tomlkit
from tomlkit.items import Array, InlineTable, Item, Table

from trocar.errors import TrocarError
from trocar.files import read_whole

# A key of a hundred parts, a.b.c...: the time to read one grows with the square of its parts.
_DEEP = re.compile(r"(?<![^\s.=,\[\]{}#])(?:[^\s.=,\[\]{}#]++[ \t]*+\.[ \t]*+){100}")


def toml_text(content: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """TOML text with comment lines on top. Floats are written in the shortest form that reads back exactly.

    Mappings become tables [name], mappings of mappings [name.part]; deeper nesting is written inline.
    """
    document = tomlkit.document()
    for comment in comments:
        document.add(tomlkit.comment(comment))
    if comments:
        document.add(tomlkit.nl())
    for key, value in content.items():
        if not isinstance(value, Mapping):
            document.add(key, _item(value))
    for key, value in content.items():
        if isinstance(value, Mapping):
            document.add(key, _table(value))
    return tomlkit.dumps(document).rstrip("\n") + "\n"


def read_toml(path: str | PathLike[str], what: str) -> dict[str, Any]:
    """Content of a TOML file; errors call the file `what`, such as "recipe"."""
    content = read_whole(path, what)
    try:
        text = content.decode("utf-8")
        if _DEEP.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except RecursionError:
        raise TrocarError(f"the {what} {fspath(path)} is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, an integer of thousands of digits
        raise TrocarError(f"the {what} {fspath(path)} is not valid TOML: {error}") from None


def _table(entries: Mapping[str, Any]) -> Table:
    nested = bool(entries) and all(isinstance(value, Mapping) for value in entries.values())
    table = tomlkit.table(is_super_table=nested)
    for key, value in entries.items():
        table.add(key, _table(value) if nested else _item(value))
    if not nested:
        table.add(tomlkit.nl())
    return table


def _item(value: Any) -> Item:
    if isinstance(value, Mapping):
        inline: InlineTable = tomlkit.inline_table()
        for key, part in value.items():
            inline.append(key, _item(part))
        return inline
    if isinstance(value, list | tuple):
        array: Array = tomlkit.array()
        for part in value:
            array.append(_item(part))
        rows = bool(value) and all(isinstance(part, list | tuple) for part in value)
        return array.multiline(rows)
    # numpy.float64 is a float, but not one that tomlkit takes
    return tomlkit.item(float(value) if isinstance(value, float) else value)
