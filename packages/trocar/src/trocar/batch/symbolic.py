"""Equations of an arm as SymPy expressions, from the graph that every backend is generated from.

    from trocar.batch.symbolic import symbolic_terms

    gravity = symbolic_terms("ECM", "gravity")
    gravity.inputs                  # q_yaw, q_pitch, ...
    gravity.expression()            # Matrix (n, 1) of these symbols
    gravity.function()([0.1, 0.2, 0.1, 0.0])

Expressions with all common subexpressions written out are long; `steps` and `results` keep them apart, as
`sympy.cse` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm
from trocar.batch.equations.programs import TERMS, query_program
from trocar.batch.parameters import BatchParameters, ParameterNumbers, named_entry
from trocar.errors import TrocarError, check_known
from trocar.laws.graph import Node, schedule
from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array

Expression: TypeAlias = Any  # of SymPy


@dataclass(frozen=True, eq=False)
class SymbolicTerms:
    """One quantity of an arm as expressions.

    Attributes:
        inputs: symbols of the joints in order, such as q_yaw, dq_yaw, tau_yaw [rad, m; /s; N m, N].
        parameters: symbols of the dynamic parameters and their values; empty if they are numbers.
        steps: common subexpressions in order, each with its symbol; later ones use earlier ones.
        results: entries of the quantity, row by row, in these symbols. shape: of the quantity.
    """

    inputs: tuple[Expression, ...]
    parameters: dict[Expression, float]
    steps: tuple[tuple[Expression, Expression], ...]
    results: tuple[Expression, ...]
    shape: tuple[int, int]

    def expression(self) -> Expression:
        """The quantity as a SymPy Matrix of `inputs` and `parameters` alone."""
        known: dict[Expression, Expression] = {}
        for symbol, value in self.steps:
            known[symbol] = value.xreplace(known)
        return _sympy().Matrix(*self.shape, [result.xreplace(known) for result in self.results])

    def function(self) -> Callable[[ArrayLike], Array]:
        """A function of the inputs (k,) in order that returns the quantity as an array, with the parameters' values."""
        sympy = _sympy()
        symbols = [*self.inputs, *self.parameters]
        values = list(self.parameters.values())
        run = sympy.lambdify([symbols], list(self.results), "numpy", cse=lambda e: (list(self.steps), e))
        return lambda x: np.array(run([*checks.real_array("inputs", x).tolist(), *values])).reshape(self.shape)


def symbolic_terms(arm: str | Arm | Mechanism, term: str, *, parameters: bool = False, **options: Any) -> SymbolicTerms:
    """A quantity of an arm as SymPy expressions; friction is not included.

    Args:
        arm: name, custom `Arm`, or a `Mechanism`, which replaces the options.
        term: mass_matrix (n, n), bias (n, 1) = Coriolis and gravity, gravity (n, 1), forward_dynamics (n, 1),
            tip_pose (4, 3 rows of rotation and position: 3, 4) or jacobian (6, m).
        parameters: keep masses, centres of mass, inertias, gravity and terms of drives as symbols, such as mass_yaw.
        options: those of `load_mechanism`.
    """
    check_known("term", TERMS, term)
    sympy = _sympy()
    mechanism = arm if isinstance(arm, Mechanism) else load_mechanism(arm, **options)
    tree = mechanism.tree
    numbers = BatchParameters.of(tree, friction=False)
    kind = numbers if parameters else ParameterNumbers.of(tree, friction=False)
    program = query_program(term, tree, kind)
    nodes = schedule(program.outputs)
    names = _symbol_names(mechanism, nodes, program.inputs)
    leaves = {
        node.index: sympy.Symbol(names[node.index], real=True) for node in (*program.inputs, *nodes) if _leaf(node)
    }
    uses = Counter(arg.index for node in nodes for arg in node.args) + Counter(node.index for node in program.outputs)
    values: dict[int, Expression] = dict(leaves)
    steps: list[tuple[Expression, Expression]] = []
    for node in nodes:
        if node.index in values:
            continue
        value = _operation(sympy, node, [values[arg.index] for arg in node.args])
        if uses[node.index] > 1 and node.args and not value.is_Atom:
            symbol = sympy.Symbol(f"x{len(steps)}", real=True)
            steps.append((symbol, value))
            value = symbol
        values[node.index] = value
    fixed = {leaves[n.index]: float(numbers.entry(n.name)) for n in nodes if _leaf(n) and n.fixed}
    count = len(program.outputs)
    columns = {"mass_matrix": mechanism.n, "jacobian": mechanism.arm.tip_joints, "tip_pose": 4}.get(term, 1)
    return SymbolicTerms(
        inputs=tuple(leaves[node.index] for node in program.inputs),
        parameters=fixed,
        steps=tuple(steps),
        results=tuple(values[node.index] for node in program.outputs),
        shape=(count // columns, columns),
    )


def _leaf(node: Node) -> bool:
    return node.op == "input"


def _symbol_names(mechanism: Mechanism, nodes: Sequence[Node], inputs: Sequence[Node]) -> dict[int, str]:
    """Names of the symbols: q_yaw for the input q@0, mass_yaw for mass@0, com_yaw_x and so on."""
    joints, bodies, drives = mechanism.arm.joint_names, mechanism.tree.names, mechanism.dynamic_parameters.drives
    names = {}
    for node in (*inputs, *nodes):
        if not _leaf(node):
            continue
        name, index = named_entry(node.name)
        if name in ("q", "dq", "tau"):
            words = [joints[index[0]]]
        elif name in ("mass", "com", "inertia"):
            words = [bodies[index[0]], "".join("xyz"[i] for i in index[1:])]
        elif name == "gravity":
            words = ["xyz"[index[0]]]
        elif index and index[0] < len(drives):
            words = [drives[index[0]].name]
        else:
            words = [str(i) for i in index]
        names[node.index] = "_".join([name, *(word for word in words if word)])
    return names


def _operation(sympy: Any, node: Node, args: list[Expression]) -> Expression:
    """The expression of a node."""
    match node.op:
        case "constant":
            return sympy.Float(node.value) if node.value % 1.0 else sympy.Integer(int(node.value))
        case "add":
            return args[0] + args[1]
        case "subtract":
            return args[0] - args[1]
        case "multiply":
            return args[0] * args[1]
        case "divide":
            return args[0] / args[1]
        case "negate":
            return -args[0]
        case "shortcut":  # the full value; the short one is for speed
            return args[0]
        case "exp2":
            return 2 ** args[0]
        case "above":
            return sympy.Piecewise((1, args[0] > args[1]), (0, True))
        case "min" | "max":
            return getattr(sympy, node.op.capitalize())(*args)
        case "abs":
            return sympy.Abs(args[0])
        case "sin" | "cos" | "sqrt" | "sign":
            return getattr(sympy, node.op)(args[0])
    raise TrocarError(f"the operation {node.op} has no symbolic form")


def _sympy() -> Any:
    try:
        import sympy
    except ModuleNotFoundError:
        raise TrocarError("symbolic terms need SymPy: pip install 'trocar[symbolic]'") from None
    return sympy
