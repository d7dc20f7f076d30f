"""CUDA source of a program: one arm per thread, all steps inside, the state in registers.

Fixed values that all arms share are passed as a kernel argument, which operations read without a load. Fixed values of
each arm are kept in registers as far as possible. Held inputs are read once, others one step ahead. Code that only
joint stops or arms at rest need is in a branch.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from trocar.batch.program import Program
from trocar.batch.sources.c_source import REAL, c_function, sizes
from trocar.spatial import Array

TYPES = """\
typedef real V;
#define ALL(c) ((real)(c))
#define SIN(x) F(sin)(x)
#define COS(x) F(cos)(x)
#define EXP(x) F(exp)(x)
#define EXP2(x) F(exp2)(x)
#define SQRT(x) F(sqrt)(x)
#define ABS(x) F(fabs)(x)
#define MIN(a, b) F(fmin)(a, b)
#define MAX(a, b) F(fmax)(a, b)
__device__ inline V SIGN(V a) { return (a > 0 ? (real)1 : (real)0) - (a < 0 ? (real)1 : (real)0); }
#define ABOVE(a, b) ((a) > (b) ? (real)1 : (real)0)
struct Shared { real value[SHARED + 1]; };
// A fixed value has a place among those of each arm, or ~place among those that all arms share. Of those of each arm
// the first KEPT stay in registers, the others are read in every step.
struct Fixed {
  const Shared &shared;
  const real *own;
  real kept[KEPT + 1];
  __device__ inline real operator[](int r) const {
    constexpr int place[FIXED + 1] = {PLACES};
    return place[r] < 0 ? shared.value[~place[r]] : place[r] < KEPT ? kept[place[r]] : own[place[r] * OWN_ROW];
  }
};
struct Source { const real *at; long long step, row, arm; };
struct Sources { Source source[SOURCES]; };
#ifdef __CUDACC__
#define EVERY_STEP(pointer) asm volatile("" : "+l"(pointer))
#else
#define EVERY_STEP(pointer)
#define __grid_constant__
#define __launch_bounds__(...)
#endif
"""

# Arrays as in the C source; the log and inputs may also run backwards, with negative strides. `bad` is set if a state
# is not finite.
RUN = """\
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
trocar_run(const real *state, real *__restrict__ end, const __grid_constant__ Shared shared,
           const real *__restrict__ own, Sources from, real *__restrict__ log, long long log_step, long long every,
           long long arms, long long steps, int *bad) {
  const long long arm = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (arm >= arms) return;
  Fixed p = {shared, OWN_ROW == 1 ? own : own + arm / OWN_ROW * OWN * OWN_ROW + arm % OWN_ROW, {0}};
#pragma unroll
  for (int r = 0; r < KEPT; r++) p.kept[r] = p.own[r * OWN_ROW];
#pragma unroll
  for (int s = 0; s < SOURCES; s++) from.source[s].at += arm * from.source[s].arm;
  real x[STATE + 1], y[OUTPUTS + 1], u[INPUTS + 1];
#pragma unroll
  for (int r = 0; r < STATE; r++) x[r] = state[r * arms + arm];
#if HELD || AHEAD
  read(from, u, steps > 1);
#endif
#if LOGGING
  long long left = 0;
  log += arm;
#endif
#pragma unroll 1
  for (int left_steps = (int)steps; left_steps > 0; left_steps--) {
#if OWN > KEPT
    EVERY_STEP(p.own);
#endif
#if AHEAD
    real next[INPUTS + 1];
    read(from, next, left_steps > 2);  // while this step is computed; the last step reads its own again
#elif !HELD
    read(from, u, true);
#endif
#if LOGGING
    const bool recorded = left == 0;
    if (recorded) {
#pragma unroll
      for (int r = 0; r < LOGGED; r++) log[r * arms] = x[r];
    }
#endif
    program(x, p, u, y);
#if AHEAD
#pragma unroll
    for (int r = 0; r < INPUTS; r++) u[r] = next[r];
#endif
#if LOGGING
    if (recorded) {
#pragma unroll
      for (int r = 0; r < OUTPUTS; r++) log[(LOGGED + r) * arms] = y[r];
      log += log_step;
      left = every;
    }
    left--;
#endif
  }
  bool fine = true;
#pragma unroll
  for (int r = 0; r < STATE; r++) {
    fine = fine && x[r] >= -MAX_REAL && x[r] <= MAX_REAL;
    end[r * arms + arm] = x[r];
  }
  if (!fine) *bad = 1;
}
"""
TILE = 32  # arms stored together for each value: addresses of different values then differ by constants
KEPT = 128  # fixed values in registers, for programs below the size limits
MANY_ROWS, LONG = 40, 3100
BLOCK = 64  # most threads per block; 32, 64 and 128 are equally fast
BLOCKS = 4  # fewest blocks per multiprocessor: leaves each thread 255 registers


def tiles(values: Array) -> Array:
    """Values (K, N) of N arms as the kernel reads them: (N / TILE, K, TILE), the last tile padded."""
    count, arms = values.shape
    filled = np.pad(values, ((0, 0), (0, -arms % TILE)), mode="edge")
    return np.ascontiguousarray(filled.reshape(count, -1, TILE).transpose(1, 0, 2))


@dataclass(frozen=True)
class KernelForm:
    """A variant of a program with a separate kernel.

    Attributes:
        own: indices of the fixed values that differ between arms. tiled: True if they do, False if they are
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
    wide = precision == "float64"
    rows = (len(program.inputs),) if form.rows is None else form.rows
    registers = min(len(form.own), free_registers(program, wide)) if form.tiled else 0
    head = [
        f"typedef {REAL[precision]} real;",
        f"#define MAX_REAL {'1.7976931348623157e308' if wide else '3.4028234e38f'}",
        f"#define F(name) name{'' if wide else '##f'}",
        *sizes(program),
        f"#define SHARED {len(program.fixed) - len(form.own)}",
        f"#define OWN {len(form.own)}",
        f"#define OWN_ROW {TILE if form.tiled else 1}",
        f"#define KEPT {registers}",
        f"#define PLACES {', '.join(map(str, [*places(len(program.fixed), form.own), -1]))}",
        f"#define HELD {int(form.held)}",
        f"#define AHEAD {int(not form.held and len(rows) == 1)}",
        f"#define SOURCES {len(rows)}",
        f"#define LOGGING {int(form.logging)}",
        f"#define BLOCK {BLOCK}",
        f"#define BLOCKS {BLOCKS}",
    ]
    arguments = "V *__restrict__ x, const Fixed &p, const V *__restrict__ u, V *__restrict__ y"
    step = c_function(program, "__device__ inline", arguments, branch)
    return "\n".join(["\n".join(head), TYPES, step, _read(rows), RUN])


def _read(rows: Sequence[int]) -> str:
    """Function that reads the inputs of a step, and moves on to those of the next unless `more` is false.

    Written out: the compiler keeps an array that is filled in a loop in memory.
    """
    places = [(s, r) for s, count in enumerate(rows) for r in range(count)]
    lines = [f"  u[{k}] = from.source[{s}].at[{r} * from.source[{s}].row];" for k, (s, r) in enumerate(places)]
    lines += [f"  if (more) from.source[{s}].at += from.source[{s}].step;" for s in range(len(rows))]
    head = "__device__ inline void read(Sources &from, real *__restrict__ u, bool more) {"
    return "\n".join([head, *lines, "}"]) + "\n"


def free_registers(program: Program, wide: bool) -> int:
    """Registers per thread for fixed values; long programs, many rows and float64 leave none."""
    return 0 if wide or len(program.state) > MANY_ROWS or program.operations > LONG else KEPT


def places(count: int, own: Collection[int]) -> list[int]:
    """Index of each fixed value among the per-arm ones, or ~index among the shared ones."""
    chosen = set(own)
    ranks = {k: rank for rank, k in enumerate(sorted(chosen))}
    shared = iter(range(count))
    return [ranks[k] if k in chosen else ~next(shared) for k in range(count)]


def branch(
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
