"""CUDA source of a program: one arm per thread, all steps inside, the state in registers.

Fixed values that all arms share are an argument of the kernel: the GPU keeps it where operations read it without a
load. Fixed values of each arm, and inputs, are read from memory where they are used.
"""

from __future__ import annotations

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
__device__ inline V MIN(V a, V b) { return a < b ? a : b; }
__device__ inline V MAX(V a, V b) { return a > b ? a : b; }
__device__ inline V SIGN(V a) { return (real)((a > 0) - (a < 0)); }
struct Rows {
  const real *at;
  long long row;
  __device__ inline real operator[](int r) const { return at[r * row]; }
};
struct Shared {
  real value[FIXED + 1];
  __device__ inline real operator[](int r) const { return value[r]; }
};
// Read anew in every step: a few hundred values do not fit into the registers.
#ifdef __CUDACC__
#define EVERY_STEP(pointer) asm volatile("" : "+l"(pointer))
#else
#define EVERY_STEP(pointer)
#define __grid_constant__
#define __launch_bounds__(...)
#endif
__device__ inline void every_step(Rows &rows) { EVERY_STEP(rows.at); }
__device__ inline void every_step(const Shared &) {}
"""

# Arrays as in the C source; `first` is the first arm whose state is not finite, set to `arms` before.
RUN = """\
template <typename Fixed>
__device__ inline void run(long long arm, real *__restrict__ state, Fixed &p, const real *__restrict__ own_input,
                           long long input_step, long long input_row, real *__restrict__ log, long long every,
                           long long arms, long long steps, int *first) {
  real x[STATE + 1], y[OUTPUTS + 1];
#pragma unroll
  for (int r = 0; r < STATE; r++) x[r] = state[r * arms + arm];
  long long left = 0;
  real *sample = log ? log + arm : 0;
  for (long long k = 0; k < steps; k++) {
    every_step(p);
    const Rows u = {own_input, input_row};
    const bool recorded = sample && left == 0;
    if (recorded) {
#pragma unroll
      for (int r = 0; r < LOGGED; r++) sample[r * arms] = x[r];
    }
    program(x, p, u, y);
    if (recorded) {
#pragma unroll
      for (int r = 0; r < OUTPUTS; r++) sample[(LOGGED + r) * arms] = y[r];
      sample += (long long)(LOGGED + OUTPUTS) * arms;
      left = every;
    }
    left--;
    own_input += input_step;
  }
  bool fine = true;
#pragma unroll
  for (int r = 0; r < STATE; r++) {
    fine = fine && x[r] >= -LARGEST && x[r] <= LARGEST;
    state[r * arms + arm] = x[r];
  }
  if (!fine) atomicMin(first, (int)arm);
}

#define INPUT const real *__restrict__ input, long long input_step, long long input_row, long long input_arm, \\
              real *__restrict__ log, long long every, long long arms, long long steps, int *first

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
trocar_run(real *__restrict__ state, const real *__restrict__ fixed, long long fixed_row, long long fixed_arm, INPUT) {
  const long long arm = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (arm >= arms) return;
  Rows p = {fixed + arm * fixed_arm, fixed_row};
  run(arm, state, p, input + arm * input_arm, input_step, input_row, log, every, arms, steps, first);
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
trocar_run_shared(real *__restrict__ state, const __grid_constant__ Shared fixed, INPUT) {
  const long long arm = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (arm >= arms) return;
  run(arm, state, fixed, input + arm * input_arm, input_step, input_row, log, every, arms, steps, first);
}
"""
BLOCK = 64  # threads of a block; 256 take half as long again
BLOCKS = 4  # of a multiprocessor at least: leaves each thread 255 registers


def cuda_source(program: Program, precision: str = "float32") -> str:
    """Source of the kernels `trocar_run` and `trocar_run_shared` of a program; precision: float64 or float32."""
    wide = precision == "float64"
    head = [
        f"typedef {REAL[precision]} real;",
        f"#define LARGEST {'1.7976931348623157e308' if wide else '3.4028234e38f'}",
        f"#define F(name) name{'' if wide else '##f'}",
        *sizes(program),
        f"#define BLOCK {BLOCK}",
        f"#define BLOCKS {BLOCKS}",
    ]
    arguments = "V *__restrict__ x, const Fixed &p, const Rows u, V *__restrict__ y"
    return "\n".join(
        ["\n".join(head), TYPES, c_function(program, "template <typename Fixed> __device__ inline", arguments), RUN]
    )
