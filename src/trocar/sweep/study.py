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
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from trocar.errors import TrocarError, UnknownName, check_type, shown
from trocar.files import read_whole
from trocar.sweep.extras import optional

STUDIES = {
    "monte_carlo": "Tracking error of a controller over the covariance of an identification",
    "bootstrap": "Spread of identified parameters: bootstrap against analytic covariance",
    "excitation": "Condition number of excitations over starts and frequencies",
    "gravity": "Drift under gravity compensation over mountings, tools and masses",
    "payload": "Payload and force estimates under day-to-day changes of friction",
    "sensitivity": "Sensitivity of the tip to every parameter",
}
MAX_BATCH = 1_000_000


@dataclass(frozen=True)
class Code:
    """The function of a study in a form that other processes and machines can load.

    Attributes:
        kind: "shipped" (text: name of the study), "source" (text: Python source) or "pickled".
        where: file name for messages.
    """

    kind: str
    text: str | bytes
    where: str = ""

    def load(self) -> Callable[..., Any]:
        """The function."""
        if self.kind == "pickled":
            assert isinstance(self.text, bytes)
            return optional("cloudpickle").loads(self.text)
        assert isinstance(self.text, str)
        module = _shipped(self.text) if self.kind == "shipped" else _executed(self.text, self.where)
        return module.run

    @property
    def fingerprint(self) -> str:
        """Hash of the code; shipped studies change only with the version of trocar."""
        text = self.text if isinstance(self.text, bytes) else self.text.encode()
        return hashlib.sha256(self.kind.encode() + text).hexdigest()


@dataclass(frozen=True)
class Study:
    """A function with its table and figures.

    Attributes:
        run: the function. code: the same for other processes; None until needed for a function of this process.
        source: hash of the source, "" if unavailable; a sweep can only be resumed with the same code.
        batch: rows per call; None: `run` takes and returns single values.
        module: module that defines `table`, `findings` and `figures`.
    """

    name: str
    run: Callable[..., Any]
    source: str
    batch: int | None = None
    code: Code | None = None
    module: ModuleType | None = None

    @property
    def title(self) -> str:
        """First line of the docstring."""
        text = inspect.getdoc(self.module) if self.module is not None else inspect.getdoc(self.run)
        return (text or self.name).partition("\n")[0]

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

    def shippable(self) -> Code:
        """The code to send to other processes."""
        if self.code is not None:
            return self.code
        pickle = optional("cloudpickle")
        module = inspect.getmodule(self.run)
        by_value = module is not None and module.__name__ not in ("__main__",) and not _of_trocar(module)
        if by_value:
            pickle.register_pickle_by_value(module)
        try:
            return Code("pickled", pickle.dumps(self.run))
        except Exception as error:
            raise TrocarError(
                f"the function {self.name} cannot be sent to other processes ({_named(error)}); "
                "put it into a study file, or use executor='serial'"
            ) from None
        finally:
            if by_value:
                pickle.unregister_pickle_by_value(module)


def load_study(name: str | Path) -> Study:
    """Load a shipped study by name, or a study from a Python file. The file is executed."""
    check_type("study", name, (str, Path), "a name or a file")
    if isinstance(name, str) and name in STUDIES:
        module = _shipped(name)
        return Study(name, module.run, "", _batch(module, name), Code("shipped", name), module)
    path = Path(name)
    if path.suffix != ".py":
        raise UnknownName("study (or file NAME.py):", str(name), STUDIES)
    raw = read_whole(path, "study")
    try:
        code = Code("source", raw.decode(), path.name)
    except UnicodeDecodeError as error:
        raise TrocarError(f"the study {path} is not UTF-8 text: {error}") from None
    module = _executed(raw.decode(), str(path))
    if not callable(getattr(module, "run", None)):
        raise TrocarError(f"the study {path} has no function run(**parameters)")
    return Study(path.stem, module.run, code.fingerprint, _batch(module, str(path)), code, module)


def function_study(function: Callable[..., Any], batch: int | None) -> Study:
    """A study made from a function."""
    if not callable(function):
        raise TrocarError(f"the function of a sweep must be callable, got {shown(function)}")
    name = getattr(function, "__qualname__", type(function).__name__)
    try:
        text = inspect.getsource(inspect.unwrap(getattr(function, "func", function)))
    except (OSError, TypeError):  # defined in a console
        text = ""
    source = hashlib.sha256(text.encode()).hexdigest() if text else ""
    return Study(name, function, source, _checked_batch(batch, name))


def _batch(module: ModuleType, name: str) -> int | None:
    return _checked_batch(getattr(module, "BATCH", None), name)


def _checked_batch(batch: Any, name: str) -> int | None:
    if batch is not None and (not isinstance(batch, int) or not 1 <= batch <= MAX_BATCH):
        raise TrocarError(f"BATCH of {name} must be an integer from 1 to {MAX_BATCH:,}, got {shown(batch)}")
    return batch


def _shipped(name: str) -> ModuleType:
    return import_module(f"trocar.sweep.studies.{name}")


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


def _of_trocar(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] == "trocar"


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
