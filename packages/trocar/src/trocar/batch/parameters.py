"""Parameters of the arms in a batch: one value for all, or one per arm along a trailing axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from trocar import checks
from trocar.errors import TrocarError, check_known
from trocar.laws.graph import Graph, Node
from trocar.mechanics.tree_arrays import TreeArrays
from trocar.spatial import Array, Values

DRIVE_TERMS = ("Im", "Fv", "Fc", "K0", "K", "K2", "Fx", "mu", "dahl_delta", "dahl_F", "dahl_slope")
INERTIA_TERMS = ("mass", "com", "inertia")
FRICTION_TERMS = ("Fv", "Fc", "Fx", "mu", "dahl_F", "dahl_slope")
NOT_NEGATIVE = ("mass", "Im", "Fv", "Fc", "mu", "dahl_F", "payload", "radius", "damping", "friction")
POSITIVE = ("dahl_delta", "stiffness")

Shape = tuple[int, ...]


class BatchParameters(Mapping[str, Array]):
    """Parameters by the names of `mechanism.tree`, each of its shape there, or with a trailing batch axis (..., N).

    mass (B,) [kg], com (B, 3) [m], inertia (B, 3, 3) [kg m^2] of the B bodies, gravity (3,) [m/s^2], terms of the
    drives (m,) and of their Dahl elements (k,); payload () [kg], a point mass in the tip frame at payload_com (3,) [m].

    A value that is zero for all arms is omitted from the generated code. `pattern` marks the others: parameters
    with the same pattern share their code.
    """

    def __init__(self, values: Mapping[str, Array], shapes: Mapping[str, Shape]) -> None:
        self._values, self._shapes = dict(values), dict(shapes)
        sizes = {value.shape[-1] for name, value in values.items() if value.ndim > len(shapes[name])}
        if len(sizes) > 1:
            raise TrocarError(f"parameters belong to batches of different sizes: {', '.join(map(str, sorted(sizes)))}")
        self.batch: Shape = tuple(sizes)
        self.pattern: Mapping[str, Array] = MappingProxyType({name: self._present(name) for name in values})

    @classmethod
    def of(cls, tree: TreeArrays, friction: bool) -> BatchParameters:
        """The parameters of one mechanism; friction=False omits friction."""
        drives = tree.drives
        values: dict[str, Values] = {name: getattr(tree, name) for name in (*INERTIA_TERMS, "gravity")}
        values |= {name: getattr(drives, name) for name in DRIVE_TERMS}
        values |= {"payload": np.zeros(()), "payload_com": np.zeros(3)}
        if not friction:
            values |= {name: np.zeros_like(values[name]) for name in FRICTION_TERMS}
        arrays = {name: np.array(value, dtype=float) for name, value in values.items()}
        return cls(arrays, {name: value.shape for name, value in arrays.items()})

    def replaced(self, changes: Mapping[str, Values], traced: Callable[[Any], bool]) -> BatchParameters:
        """A copy with some parameters changed; values that are not traced are checked."""
        check_known("parameter of a batch", list(self._values), *changes)
        values = dict(self._values)
        for name, value in changes.items():
            values[name] = checked(name, value, self._shapes[name], traced=traced(value))
        return type(self)(values, self._shapes)

    def __getitem__(self, name: str) -> Array:
        return self._values[name]

    def __iter__(self) -> Values:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def node(self, graph: Graph, name: str, *index: int) -> Node:
        """The graph's input for one entry; zero if it is zero for all arms."""
        if not self.pattern[name][index]:
            return graph.zero
        return graph.input(f"{name}@{','.join(map(str, index))}", fixed=True)

    def entry(self, name: str) -> Array:
        """Value () or (N,) of the input with this name."""
        parameter, index = named_entry(name)
        return self._values[parameter][index]

    def _present(self, name: str) -> Array:
        if name in INERTIA_TERMS:  # by body: the same code serves all inertias of a body
            massive = self._nonzero("mass") | self._nonzero("inertia").any(axis=(1, 2))
            shape = self._shapes[name]
            return np.array(np.broadcast_to(massive.reshape(-1, *(1 for _ in shape[1:])), shape))
        return self._nonzero(name)

    def _nonzero(self, name: str) -> Array:
        """Entries that are not zero for all arms; a traced value is unknown."""
        value: Values = self._values[name]
        shape = self._shapes[name]
        if not isinstance(value, np.ndarray):
            return np.ones(shape, dtype=bool)
        return np.array((value != 0.0).any(axis=-1) if value.ndim > len(shape) else value != 0.0)


class ParameterNumbers(BatchParameters):
    """Parameters of one mechanism that become numbers in the generated code instead of inputs."""

    def node(self, graph: Graph, name: str, *index: int) -> Node:
        return graph.constant(float(self[name][index]))


def named_entry(name: str) -> tuple[str, Shape]:
    """Parameter and index of an input of the graph."""
    parameter, _, index = name.partition("@")
    return parameter, tuple(int(i) for i in index.split(",") if i)


def checked(name: str, number: Values, shape: Shape, of: str = "", traced: bool = False) -> Values:
    """A value of this shape, or with a trailing axis; unless it is traced, finite and of the right sign."""
    value = number if traced else np.array(checks.real_array(f"{name}{of}", number))
    if value.shape[: len(shape)] != shape or value.ndim > len(shape) + 1:
        trailing = f"({', '.join(map(str, (*shape, 'N')))})"
        raise TrocarError(
            f"{name}{of} must have shape {shape} or, with a value for each arm, {trailing}; got {value.shape}"
        )
    if traced:
        return value
    if not np.isfinite(value).all():
        raise TrocarError(f"{name}{of} must be finite")
    if name in NOT_NEGATIVE and (value < 0).any():
        raise TrocarError(f"{name}{of} must not be negative, got {value.min():.3g}")
    if name in POSITIVE and not (value > 0).all():
        raise TrocarError(f"{name}{of} must be positive, got {value.min():.3g}")
    value.setflags(write=False)
    return value
