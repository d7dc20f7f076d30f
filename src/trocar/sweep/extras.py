"""The optional packages of sweeps; the error for a missing one gives the pip command."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from trocar.errors import TrocarError


def check_installed(*names: str) -> None:
    """Raise an error if a package of the extra is not installed; nothing is imported."""
    for name in names:
        if sys.modules.get(name, name) is None or find_spec(name) is None:
            raise _missing(name)


def optional(name: str) -> Any:
    """Import a package of the extra `sweep`."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == package:
            raise _missing(package) from None
        raise TrocarError(f"{package} is installed but cannot be imported: {error}") from None


def _missing(package: str) -> TrocarError:
    return TrocarError(f'sweeps require {package}, which is not installed: pip install "trocar[sweep]"')
