"""Packages of an extra of trocar, imported when they are needed; a missing one is named with its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from trocar.errors import TrocarError


@dataclass(frozen=True)
class Extra:
    """An extra of trocar.

    Attributes:
        name: as in pip install "trocar[name]". use: what requires its packages, in the plural.
    """

    name: str
    use: str

    def check_installed(self, *packages: str) -> None:
        """Raise an error if one of these packages is not installed; nothing is imported."""
        for package in packages:
            if find_spec(package) is None:
                remedy = f'pip install "trocar[{self.name}]"'
                raise TrocarError(f"{self.use} require {package}, which is not installed: {remedy}")

    @contextmanager
    def needed(self) -> Iterator[None]:
        """Name the remedy if an import in this block fails because one of its packages is not installed."""
        try:
            yield
        except ModuleNotFoundError as error:
            remedy = f"pip install 'trocar[{self.name}]'"
            raise TrocarError(f"{self.use} require {error.name}, which is not installed: {remedy}") from error

    def module(self, name: str) -> Any:
        """Import a module of one of its packages."""
        self.check_installed(name.partition(".")[0])
        try:
            return import_module(name)
        except ImportError as error:
            raise TrocarError(f"{name} is installed but cannot be imported: {error}") from None
