"""CUDA source of a program: one arm per thread, all steps inside, the state in registers.

Fixed values that all arms share are an argument of the kernel: the GPU keeps it where operations read it without a
load. Fixed values of each arm are read from memory where they are used. Inputs that are held are read once. What only
joint stops or arms at rest need is in a branch.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trocar.batch.backends.c_source import REAL, c_function, sizes
from trocar.batch.program import Program

TYPES = """\
typedef real V;
#define ALL(c) ((real)(c))
#define SIN(x) F(sin)(x)
#define COS(x) F(cos)(x)
#define EXP(x) F(exp)(x)
#define SQRT(x) F(sqrt)(x)
#define ABS(x) F(fabs)(x)
#define MIN(a, b) F(fmin)(a, b)
#define MAX(a, b) F(fmax)(a, b)
__device__ inline V SIGN(V a) { return (a > 0 ? (real)1 : (real)0) - (a < 0 ? (real)1 : (real)0); }
struct Shared { real value[SHARED + 1]; };
// A fixed value has a place among those of each arm, or ~place among those that all arms share.
struct Fixed {
  const Shared &shared;
  const real *own;
  long long row;
  __device__ inline real operator[](int r) const {
    constexpr int place[FIXED + 1] = {PLACES};
    return place[r] < 0 ? shared.value[~place[r]] : own[place[r] * row];
  }
};
// Read anew in every step: a few hundred values do not fit into the registers.
#ifdef __CUDACC__
#define EVERY_STEP(pointer) asm volatile("" : "+l"(pointer))
#else
#define EVERY_STEP(pointer)
#define __grid_constant__
#define __launch_bounds__(...)
#endif
"""

# Arrays as in the C source. `bad` is set if a state is not finite.
RUN = """\
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
trocar_run(const real *state, real *__restrict__ end, const __grid_constant__ Shared shared,
           const real *__restrict__ own, long long own_row, long long own_arm, const real *__restrict__ input,
           long long input_step, long long input_row, long long input_arm, real *__restrict__ log, long long every,
           long long arms, long long steps, int *bad) {
  const long long arm = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (arm >= arms) return;
  Fixed p = {shared, own + arm * own_arm, own_row};
  input += arm * input_arm;
  real x[STATE + 1], y[OUTPUTS + 1], u[INPUTS + 1];
#pragma unroll
  for (int r = 0; r < STATE; r++) x[r] = state[r * arms + arm];
#if HELD
#pragma unroll
  for (int r = 0; r < INPUTS; r++) u[r] = input[r * input_row];
#endif
#if LOGGING
  long long left = 0;
  log += arm;
#endif
#pragma unroll 1
  for (int left_steps = (int)steps; left_steps > 0; left_steps--) {
#if OWN
    EVERY_STEP(p.own);
#endif
#if !HELD
#pragma unroll
    for (int r = 0; r < INPUTS; r++) u[r] = input[r * input_row];
    input += input_step;
#endif
#if LOGGING
    const bool recorded = left == 0;
    if (recorded) {
#pragma unroll
      for (int r = 0; r < LOGGED; r++) log[r * arms] = x[r];
    }
#endif
    program(x, p, u, y);
#if LOGGING
    if (recorded) {
#pragma unroll
      for (int r = 0; r < OUTPUTS; r++) log[(LOGGED + r) * arms] = y[r];
      log += (long long)(LOGGED + OUTPUTS) * arms;
      left = every;
    }
    left--;
#endif
  }
  bool fine = true;
#pragma unroll
  for (int r = 0; r < STATE; r++) {
    fine = fine && x[r] >= -LARGEST && x[r] <= LARGEST;
    end[r * arms + arm] = x[r];
  }
  if (!fine) *bad = 1;
}
"""
BLOCK = 64  # threads of a block; 256 take half as long again
BLOCKS = 4  # of a multiprocessor at least: leaves each thread 255 registers


@dataclass(frozen=True)
class KernelForm:
    """A use of a program that has a kernel of its own.

    Attributes:
        own: indices of the fixed values that differ between arms. held: one set of inputs serves all steps.
        logging: a log is written.
    """

    own: Collection[int] = ()
    held: bool = False
    logging: bool = True


def cuda_source(program: Program, precision: str = "float32", form: KernelForm = KernelForm()) -> str:
    """Source of the kernel `trocar_run` of a program; precision: float64 or float32."""
    wide = precision == "float64"
    head = [
        f"typedef {REAL[precision]} real;",
        f"#define LARGEST {'1.7976931348623157e308' if wide else '3.4028234e38f'}",
        f"#define F(name) name{'' if wide else '##f'}",
        *sizes(program),
        f"#define SHARED {len(program.fixed) - len(form.own)}",
        f"#define OWN {len(form.own)}",
        f"#define PLACES {', '.join(map(str, [*places(len(program.fixed), form.own), -1]))}",
        f"#define HELD {int(form.held)}",
        f"#define LOGGING {int(form.logging)}",
        f"#define BLOCK {BLOCK}",
        f"#define BLOCKS {BLOCKS}",
    ]
    arguments = "V *__restrict__ x, const Fixed &p, const V *__restrict__ u, V *__restrict__ y"
    return "\n".join(["\n".join(head), TYPES, c_function(program, "__device__ inline", arguments, branch), RUN])


def places(count: int, own: Collection[int]) -> list[int]:
    """Place of each fixed value among those of each arm, or ~place among those that all arms share."""
    chosen = set(own)
    ranks = {k: rank for rank, k in enumerate(sorted(chosen))}
    shared = iter(range(count))
    return [ranks[k] if k in chosen else ~next(shared) for k in range(count)]


def branch(
    condition: str, names: Sequence[str], short: Sequence[str], inside: Sequence[str], full: Sequence[str]
) -> list[str]:
    """Lines that set the names to the short values, or to the full ones where the condition holds."""
    return [
        *(f"  V {name} = {value};" for name, value in zip(names, short, strict=True)),
        f"  if ({condition}) {{",
        *(f"  {line}" for line in inside),
        *(f"    {name} = {value};" for name, value in zip(names, full, strict=True)),
        "  }",
    ]
