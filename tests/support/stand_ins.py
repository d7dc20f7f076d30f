"""A pytest plugin for machines with a GPU but without Pinocchio, MuJoCo and other libraries that trocar imports.

Missing ones are replaced with stand-ins, so that `trocar.batch` can be imported: its generated code needs none of them.
A test that needs one of them fails. See `make gpu`.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from unittest.mock import MagicMock

LIBRARIES = ("pinocchio", "mujoco", "ruckig", "cvxpy", "clarabel", "matplotlib", "rich", "typer")
MISSING = {name for name in LIBRARIES if importlib.util.find_spec(name) is None}


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        missing = name.partition(".")[0] in MISSING
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if missing else None

    def create_module(self, spec):
        module = MagicMock()
        module.__path__, module.__spec__ = [], spec
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(StandIns())
