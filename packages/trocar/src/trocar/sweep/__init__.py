"""Sweeps: run a function over a table of parameters, on one machine or many; resumable.

    results = tr.sweep(function, {"kp": [10.0, 20.0], "kd": [1.0, 2.0]}, "results", executor="processes")
    results["tip_error"]

`sweep` also runs studies by name or file (`load_study`); `grid` makes tables; `Results` reads a folder.
The module itself can be called: `tr.sweep(...)` is `trocar.sweep.sweep(...)`.
"""

import sys
from types import ModuleType
from typing import Any

from trocar.sweep.results import Results
from trocar.sweep.run import Progress, sweep
from trocar.sweep.study import Study, load_study
from trocar.sweep.table import as_table, grid, read_table

__all__ = ["Progress", "Results", "Study", "as_table", "grid", "load_study", "read_table", "sweep"]


class _CallableModule(ModuleType):
    """Makes the module callable: `tr.sweep` is both the package and its main function."""

    def __call__(self, *arguments: Any, **options: Any) -> Results:
        return sweep(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
