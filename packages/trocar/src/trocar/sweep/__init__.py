"""Sweeps: run a function over a table of parameters, on one machine or many; resumable.

    results = tr.sweep.run(function, {"kp": [10.0, 20.0], "kd": [1.0, 2.0]}, "results", executor="processes")
    results["tip_error"]

`run` also runs studies by name or file (`load_study`); `grid` makes tables; `Results` reads a folder.
"""

from trocar.sweep.results import Results
from trocar.sweep.running import Progress, run
from trocar.sweep.study import Study, load_study
from trocar.sweep.table import as_table, grid, read_table

__all__ = ["Progress", "Results", "Study", "as_table", "grid", "load_study", "read_table", "run"]
