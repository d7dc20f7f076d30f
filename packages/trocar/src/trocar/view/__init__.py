"""A web page over a running simulation: live arms, recordings, and the mechanism made visible.

    tr.view(sim, controller, reference)     # your own controller in the browser, also in a notebook

Only modules that draw on the page import viser; `film`, `native` and `webxr` work without it. The module itself can be
called: `tr.view(...)` is `trocar.view.view(...)`.
"""

import sys
from types import ModuleType
from typing import Any

from trocar.view.own_run import View, view

__all__ = ["View", "view"]


class _CallableModule(ModuleType):
    """Makes the module callable: `tr.view` is both the package and its main function."""

    def __call__(self, *arguments: Any, **options: Any) -> View:
        return view(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
