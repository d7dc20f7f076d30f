"""The table of a publication's claims, `claims.toml`: published numbers, tolerances and sources.

The name of an entry is the claim's id within the publication:

    ["fig 5 spiral, {clock}/{row}"]
    rows = ["J1", "J2", "J3"]
    published = [0.57, 0.27, 0.3]
    relation = "at_most"
    tolerance = 0.01
    unit = ["N m", "N m", "N"]
    source = "Section IV-B"
    note = "engine minus model, over {seconds:g} s"

`rows` makes one claim per item; any other value may then be a list of the same length. The code that computes our
numbers fills in the fields in braces. `published` may name another entry to use its numbers; if it is computed from
several printed numbers, the code provides it. `kind` is the type of evidence, one of `trocar.report.KINDS`. `number` is
the name of the printed number, which several entries may share: it counts once. Defaults: tolerance 0, kind "printed",
the claim's id as number, no unit, no note. The table `[texts]` has paragraphs of the report and captions of its
figures, by name, likewise with fields in braces.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from trocar.errors import TrocarError, check_known
from trocar.report import KINDS, RELATIONS, Claim

REQUIRED = {"relation", "source"}
DEFAULTS: dict[str, Any] = {
    "published": None,
    "tolerance": 0.0,
    "unit": "",
    "note": "",
    "kind": "printed",
    "number": "",
}


class ClaimTable:
    """The entries of a publication's `claims.toml`, which it turns into claims."""

    def __init__(self, package: str, *, prefix: str | None = None, text: str | None = None) -> None:
        """Read the table of a publication.

        Args:
            package: Python package with the file; the last part of its name is the publication's.
            prefix: prefix of every claim's id. Default: the publication and a slash.
            text: content to use instead of the file.
        """
        if text is None:
            text = files(package).joinpath("claims.toml").read_text(encoding="utf-8")
        self.publication = package.rpartition(".")[2]
        self.prefix = f"{self.publication}/" if prefix is None else prefix
        self.entries: dict[str, dict[str, Any]] = tomllib.loads(text)
        self.texts: dict[str, str] = self.entries.pop("texts", {})
        for name, entry in self.entries.items():
            if isinstance(entry.get("published"), str):
                entry["published"] = self.entries[entry["published"]]["published"]
            self._check(name, entry)

    def text(self, name: str, **fields: Any) -> str:
        """A paragraph or caption, with values for its braces."""
        check_known(f"text of {self.publication}", self.texts, name)
        return self.texts[name].format(**fields)

    def claim(self, name: str, ours: float | str | None, **fields: Any) -> Claim:
        """The claim of an entry without rows. See `claims` for `fields`."""
        (claim,) = self.claims(name, [ours], **fields)
        return claim

    def claims(self, name: str, ours: Iterable[float | str | None] | str | None, **fields: Any) -> list[Claim]:
        """The claims of an entry, one per row.

        Args:
            ours: our number for each row, in the unit of the entry; None if not available. A text in place of one or of
                all numbers is the reason why they are missing ("not run: ...") and becomes the note.
            fields: values for the braces in ids and notes; also `published`, `tolerance` and `note` if the code
                computes them. A list or tuple has one item per row.
        """
        check_known(f"claim of {self.publication}", self.entries, name)
        entry = {"rows": [""], **DEFAULTS, **self.entries[name]}
        rows = entry.pop("rows")
        entry |= {key: fields.pop(key) for key in entry.keys() & fields.keys()}
        numbers = [ours] * len(rows) if ours is None or isinstance(ours, str) else list(ours)
        claims = []
        for i, (row, number) in enumerate(zip(rows, numbers, strict=True)):
            values, filled = _item(entry, i), {"row": row, **_item(fields, i)}
            reason = number if isinstance(number, str) else ""
            values |= {
                "ours": None if number is None or isinstance(number, str) else float(number),
                "source": values["source"].format(**filled),
                "number": (self.prefix + values["number"].format(**filled)) if values["number"] else "",
                "note": reason or values["note"].format(**filled),
            }
            claims.append(Claim(id=self.prefix + name.format(**filled), **values))
        return claims

    def _check(self, name: str, entry: dict[str, Any]) -> None:
        where = f"claims.toml of {self.publication}, claim {name!r}"
        rows = len(entry.get("rows", ()))
        if unknown := entry.keys() - REQUIRED - DEFAULTS.keys() - {"rows"}:
            raise TrocarError(f"{where}: unknown field '{min(unknown)}'")
        if lacking := REQUIRED - entry.keys():
            raise TrocarError(f"{where}: field '{min(lacking)}' is missing")
        if "rows" in entry and "{row}" not in name:
            raise TrocarError(f"{where}: it has rows, so its name needs {{row}}")
        for key, value in entry.items():
            if isinstance(value, list) and len(value) != rows:
                raise TrocarError(f"{where}: '{key}' has {len(value)} values for {rows} rows")
        for key, allowed in (("kind", KINDS), ("relation", RELATIONS)):
            value = (DEFAULTS | entry)[key]
            if not set(value if isinstance(value, list) else [value]) <= set(allowed):
                raise TrocarError(f"{where}: {key} is {value!r}; allowed: {', '.join(allowed)}")


def _item(columns: Mapping[str, Any], i: int) -> dict[str, Any]:
    """The values of one row."""
    return {key: value[i] if isinstance(value, list | tuple) else value for key, value in columns.items()}
