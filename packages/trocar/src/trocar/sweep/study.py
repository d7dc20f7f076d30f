"""Studies: a function of parameters, its table of parameters, and figures of the results.

A study is a module. trocar ships some (`STUDIES`); any Python file that defines these names is a study:

    run(**parameters)     results of one row, a dictionary of numbers, flags, text or 1-D arrays
    table(rows, seed)     the parameters, a dictionary of columns; the number of rows may differ from `rows`
    ROWS                  default number of rows
    BATCH                 optional: `run` takes columns of this many rows and returns columns
    findings(results)     optional: (text, value) pairs for the terminal and the page
    figures(results)      optional: (figure, caption) pairs
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from trocar.errors import TrocarError, UnknownName, check_type, shown
from trocar.files import read_whole
from trocar.sweep.packages import optional

STUDIES = {
    "monte_carlo": "Tracking error of a controller over the covariance of an identification",
    "bootstrap": "Spread of identified parameters: bootstrap against analytic covariance",
    "excitation": "Condition number of excitations over starts and frequencies",
    "gravity": "Drift under gravity compensation over mountings, tools and masses",
    "payload": "Payload and force estimates under day-to-day changes of friction",
    "force_estimation": "Sensorless force estimation: residual, momentum observer and a learned model",
    "sensitivity": "Sensitivity of the tip to every parameter",
}
MAX_BATCH = 1_000_000
Loader = Callable[[], Callable[..., Any]]  # returns the function of a study, in any process


@dataclass(frozen=True)
class Study:
    """A function with its table and figures.

    Attributes:
        run: the function. loader: loads it in other processes and on other machines; None: `run` is pickled.
        source: hash of the source, "" if unavailable; a sweep can only be resumed with the same code. Included studies
            change only with the version of trocar.
        batch: rows per call; None: `run` takes and returns single values.
        module: module that defines `table`, `findings` and `figures`.
    """

    name: str
    run: Callable[..., Any]
    source: str
    batch: int | None = None
    loader: Loader | None = None
    module: ModuleType | None = None

    def __post_init__(self) -> None:
        if self.batch is not None and (not isinstance(self.batch, int) or not 1 <= self.batch <= MAX_BATCH):
            allowed = f"an integer from 1 to {MAX_BATCH:,}"
            raise TrocarError(f"BATCH of {self.name} must be {allowed}, got {shown(self.batch)}")

    @property
    def title(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.module or self.run) or self.name).partition("\n")[0]

    def table(self, rows: int | None, seed: int) -> Mapping[str, Any]:
        """The parameters of the study. rows: approximate number of rows. Default: the study's own number."""
        make = getattr(self.module, "table", None)
        if make is None:
            raise TrocarError(f"the study {self.name} has no function table(rows, seed); add one, or pass a table")
        count = getattr(self.module, "ROWS", 100) if rows is None else rows
        try:
            return make(count, seed)
        except Exception as error:
            raise TrocarError(f"table(rows={count}, seed={seed}) of {self.name} raised {_named(error)}") from error

    def shippable(self) -> Loader:
        """The loader to send to other processes."""
        if self.loader is not None:
            return self.loader
        pickle, module = optional("cloudpickle"), inspect.getmodule(self.run)
        by_value = module is not None and module.__name__.partition(".")[0] not in ("__main__", "trocar")
        if by_value:
            pickle.register_pickle_by_value(module)
        try:
            return partial(pickle.loads, pickle.dumps(self.run))
        except Exception as error:
            reason = f"the function {self.name} cannot be sent to other processes ({_named(error)})"
            raise TrocarError(f"{reason}; put it into a study file, or use executor='serial'") from None
        finally:
            if by_value:
                pickle.unregister_pickle_by_value(module)


def load_study(name: str | Path) -> Study:
    """Load an included study by name, or a study from a Python file. The file is executed."""
    check_type("study", name, (str, Path), "a name or a file")
    if isinstance(name, str) and name in STUDIES:
        return _module_study(name, "", import_module, f"trocar.sweep.studies.{name}")
    path = Path(name)
    if path.suffix != ".py":
        raise UnknownName("study (or file NAME.py):", str(name), STUDIES)
    raw = read_whole(path, "study")
    try:
        return _module_study(path.stem, hashlib.sha256(raw).hexdigest(), _executed, raw.decode(), str(path))
    except UnicodeDecodeError as error:
        raise TrocarError(f"the study {path} is not UTF-8 text: {error}") from None


def function_study(function: Callable[..., Any], batch: int | None) -> Study:
    """A study made from a function."""
    if not callable(function):
        raise TrocarError(f"the function of a sweep must be callable, got {shown(function)}")
    try:
        text = inspect.getsource(inspect.unwrap(getattr(function, "func", function)))
        source = hashlib.sha256(text.encode()).hexdigest()
    except (OSError, TypeError):  # defined in a console
        source = ""
    return Study(getattr(function, "__qualname__", type(function).__name__), function, source, batch)


def _module_study(name: str, source: str, load: Callable[..., ModuleType], *arguments: str) -> Study:
    module = load(*arguments)
    if not callable(getattr(module, "run", None)):
        raise TrocarError(f"the study {arguments[-1]} has no function run(**parameters)")
    batch = getattr(module, "BATCH", None)
    return Study(name, module.run, source, batch, partial(_function, load, *arguments), module)


def _function(load: Callable[..., ModuleType], *arguments: str) -> Callable[..., Any]:
    run: Callable[..., Any] = load(*arguments).run
    return run


def _executed(text: str, where: str) -> ModuleType:
    """A module created from source text and registered, because dataclasses and pickle need it."""
    module = ModuleType(f"study_{hashlib.sha256(text.encode()).hexdigest()[:12]}")
    module.__file__ = where
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, where, "exec"), module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise TrocarError(f"the study {where} raised {_named(error)} while loading") from error
    return module


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
