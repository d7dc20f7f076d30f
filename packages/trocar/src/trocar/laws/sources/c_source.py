"""C and CUDA source of a program, around the loops over steps and arms in the files of this folder.

In C, one arm at a time, or one arm in each lane of a vector. The vector form uses the vector types of GCC and Clang,
which compile to the widest available instructions, and the sine, cosine and exponential of glibc's vector library on
x86-64; elsewhere these three are called lane by lane.

In CUDA, one arm per thread, all steps inside, the state in registers. Fixed values that all arms share are passed as a
kernel argument, which operations read without a load. Fixed values of each arm are kept in registers as far as
possible. Held inputs are read once, others one step ahead. Code that only joint stops or arms at rest need is in a
branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trocar.laws.graph import Node
from trocar.laws.law import ScalarLaw
from trocar.laws.program import BranchSource, Program, arithmetic
from trocar.spatial import Array

MAX_THREADS = 256

TILE = 32  # arms stored together for each value: addresses of different values then differ by constants
KEPT = 128  # fixed values in registers, for programs below the size limits
MANY_ROWS, LONG = 40, 3100
BLOCK = 64  # most threads per block; 32, 64 and 128 are equally fast
BLOCKS = 4  # fewest blocks per multiprocessor: leaves each thread 255 registers


def written(*names: str) -> str:
    """Text of files in this folder."""
    return "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


def c_source(program: Program, precision: str = "float64", lanes: bool = True) -> str:
    """Source of the shared library of a program.

    Args:
        precision: float64 or float32. lanes: a vector of arms at once instead of one arm.
    """
    wide = precision == "float64"
    head = [
        *(f"#include <{name}.h>" for name in ("float", "math", "pthread", "string")),
        f"#define MAX_THREADS {MAX_THREADS}",
        f"typedef {'double' if wide else 'float'} real;",
        f"typedef {'long' if wide else 'int'} whole;",
        f"#define F(name) name{'' if wide else '##f'}",
        f"#define F64_32(a, b) {'a' if wide else 'b'}",
        *_macros(_sizes(program)),
        *_bounds(program, precision, "static const"),
    ]
    types = written("vector.h") if lanes else written("scalar.h", "finite.h")
    parts = ["\n".join(head), types, c_function(program), written("run.c")]
    return "\n".join(parts if lanes else [*parts, written("one.c")])


def _sizes(program: Program) -> dict[str, int]:
    rows = {"STATE": program.state, "FIXED": program.fixed, "INPUTS": program.inputs, "OUTPUTS": program.outputs}
    return {name: len(nodes) for name, nodes in rows.items()} | {"LOGGED": program.logged}


def _bounds(program: Program, precision: str, qualifiers: str) -> list[str]:
    """Arrays of the lowest and highest values of the state rows of an arm that has not diverged."""
    rows = program.row_bounds(float(np.finfo(precision).max)) or [(0.0, 0.0)]
    columns = {"LOW": [low for low, _ in rows], "HIGH": [high for _, high in rows]}
    return [f"{qualifiers} real {name}[] = {{{', '.join(map(repr, x))}}};" for name, x in columns.items()]


def _macros(values: Mapping[str, object]) -> list[str]:
    return [f"#define {name} {value}" for name, value in values.items()]


def c_function(
    program: Program,
    qualifiers: str = "static inline",
    arguments: str = "V *restrict x, const V *restrict p, const V *restrict u, V *restrict y",
    branch: BranchSource | None = None,
    name: str = "program",
) -> str:
    """One step as a C function that replaces the state x and sets the outputs y; branch: see `Program.statements`."""
    lines, terms = program.statements(lambda name, value: f"  const V {name} = {value};", expression, branch)
    states, outputs = terms[: len(program.state)], terms[len(program.state) :]
    # A term may be another row of x, which must be read before it is replaced.
    results = [f"  const V n{k} = {_wide(term)};" for k, term in enumerate(states)]
    results += [f"  y[{k}] = {_wide(term)};" for k, term in enumerate(outputs)]
    results += [f"  x[{k}] = n{k};" for k in range(len(states))]
    head = f"{qualifiers} void {name}({arguments}) {{"
    return "\n".join([head, "  (void)x; (void)p; (void)u;", *lines, *results, "}"]) + "\n"


def c_laws(*laws: ScalarLaw) -> str:
    """Laws on double-precision numbers as C functions `NAME(0, 0, inputs, outputs)`, for loops around them."""
    head = [f"#include <{name}.h>" for name in ("math", "stdint", "string")]
    head += ["typedef double real;", "#define F(name) name"]
    functions = [c_function(Program(law.inputs, law.outputs), name=law.name) for law in laws]
    return "\n".join([*head, written("scalar.h"), *functions])


def expression(node: Node, args: Sequence[str]) -> str:
    """C expression of a node."""
    if node.op in ("within", "outside"):
        inside = " && ".join(map(_in_range, args[::3], node.args[1::3], node.args[2::3]))
        return inside if node.op == "within" else f"!({inside})"
    return arithmetic(node, args, "(real)") or f"{node.op.upper()}({', '.join(map(_wide, args))})"


def _in_range(x: str, least: Node, most: Node) -> str:
    """Condition that a term is within a range of constants."""
    if least.value == most.value:
        return f"{x} == (real){most.value!r}"
    if least.value == -most.value:
        return f"ABS({x}) <= (real){most.value!r}"
    return f"{x} >= (real){least.value!r} && {x} <= (real){most.value!r}"


def _wide(term: str) -> str:
    """A constant as a vector: functions and assignments take no scalar."""
    return f"ALL{term}" if term.startswith("((real)") else term


# -- CUDA --------------------------------------------------------------------------------------------------------------


def tiles(values: Array) -> Array:
    """Values (K, N) of N arms as the kernel reads them: (N / TILE, K, TILE), the last tile padded."""
    count, arms = values.shape
    filled = np.pad(values, ((0, 0), (0, -arms % TILE)), mode="edge")
    return np.ascontiguousarray(filled.reshape(count, -1, TILE).transpose(1, 0, 2))


@dataclass(frozen=True)
class KernelForm:
    """A variant of a program with a separate kernel.

    Attributes:
        own: indices of the fixed values that differ between arms, ascending. tiled: True if they do, False if they are
            only too many for an argument. held: one set of inputs serves all steps. logging: a log is written.
        rows: numbers of inputs in each of the arrays that they come from. Default: all in one.
    """

    own: tuple[int, ...] = ()
    tiled: bool = True
    held: bool = False
    logging: bool = True
    rows: tuple[int, ...] | None = None


def cuda_source(program: Program, precision: str = "float32", form: KernelForm | None = None) -> str:
    """Source of the kernel `trocar_run` of a program; precision: float64 or float32."""
    form = form or KernelForm()
    wide, fixed = precision == "float64", range(len(program.fixed))
    rows = (len(program.inputs),) if form.rows is None else form.rows
    # long programs, many rows and float64 leave no registers for fixed values
    full = wide or len(program.state) > MANY_ROWS or program.operations > LONG
    shared = [k for k in fixed if k not in form.own]
    # index of each fixed value among the per-arm ones, or ~index among the shared ones
    places = [form.own.index(k) if k in form.own else ~shared.index(k) for k in fixed]
    macros = {
        "F(name)": f"name{'' if wide else '##f'}",
        **_sizes(program),
        "SHARED": len(shared),
        "OWN": len(form.own),
        "OWN_ROW": TILE if form.tiled else 1,
        "KEPT": min(len(form.own), KEPT) if form.tiled and not full else 0,
        "PLACES": ", ".join(map(str, [*places, -1])),
        "HELD": int(form.held),
        "AHEAD": int(not form.held and len(rows) == 1),
        "SOURCES": len(rows),
        "LOGGING": int(form.logging),
        "BLOCK": BLOCK,
        "BLOCKS": BLOCKS,
    }
    bounds = _bounds(program, precision, "static __device__ const")
    head = "\n".join([f"typedef {'double' if wide else 'float'} real;", *_macros(macros), *bounds])
    arguments = "V *__restrict__ x, const Fixed &p, const V *__restrict__ u, V *__restrict__ y"
    step = c_function(program, "__device__ inline", arguments, _branch)
    return "\n".join([head, written("types.cuh"), step, _read(rows), written("run.cu")])


def _read(rows: Sequence[int]) -> str:
    """Function that reads the inputs of a step, and moves on to those of the next unless `more` is false.

    Written out: the compiler keeps an array that is filled in a loop in memory.
    """
    places = [(s, r) for s, count in enumerate(rows) for r in range(count)]
    lines = [f"  u[{k}] = from.source[{s}].at[{r} * from.source[{s}].row];" for k, (s, r) in enumerate(places)]
    lines += [f"  if (more) from.source[{s}].at += from.source[{s}].step;" for s in range(len(rows))]
    head = "__device__ inline void read(Sources &from, real *__restrict__ u, bool more) {"
    return "\n".join([head, *lines, "}"]) + "\n"


def _branch(
    condition: str, names: Sequence[str], short: Sequence[str], inside: Sequence[str], full: Sequence[str]
) -> list[str]:
    """Lines that assign the short values, or the full ones if the condition holds."""
    return [
        *(f"  V {name} = {value};" for name, value in zip(names, short, strict=True)),
        f"  if ({condition}) {{",
        *(f"  {line}" for line in inside),
        *(f"    {name} = {value};" for name, value in zip(names, full, strict=True)),
        "  }",
    ]
