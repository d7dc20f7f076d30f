"""The optional packages of sweeps; a missing one is named with its pip line."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trocar.errors import TrocarError


def optional(name: str) -> Any:
    """Import a package of the extra `sweep`."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == package:
            raise TrocarError(f'sweeps need {package}, which is not installed: pip install "trocar[sweep]"') from None
        raise TrocarError(f"{package} is installed but cannot be imported: {error}") from None
