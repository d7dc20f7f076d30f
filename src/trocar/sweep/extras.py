"""The optional packages of sweeps; the error for a missing one gives the pip command."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from trocar.errors import TrocarError


def check_installed(*names: str) -> None:
    """Raise an error if a package of the extra `sweep` is not installed; nothing is imported."""
    for name in names:
        if find_spec(name) is None:
            raise TrocarError(f'sweeps require {name}, which is not installed: pip install "trocar[sweep]"')


def optional(name: str) -> Any:
    """Import a module of the extra `sweep`."""
    check_installed(name.partition(".")[0])
    try:
        return import_module(name)
    except ImportError as error:
        raise TrocarError(f"{name} is installed but cannot be imported: {error}") from None
