"""C source of a program: one arm at a time, or one arm in each lane of a vector.

The vector form uses the vector types of GCC and Clang, which compile to the widest available instructions, and the
sine, cosine and exponential of glibc's vector library on x86-64; elsewhere these three are called lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from trocar.batch.graph import Node
from trocar.batch.program import BranchSource, Program

REAL = {"float64": "double", "float32": "float"}
MAX_THREADS = 256
_OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}

# Types and functions of one lane.
SCALAR = """\
#define LANES 1
typedef real V;
#define ALL(c) ((real)(c))
#define SIN(x) F(sin)(x)
#define COS(x) F(cos)(x)
#define EXP(x) F(exp)(x)
#define EXP2(x) F(exp2)(x)
#define SQRT(x) F(sqrt)(x)
#define ABS(x) F(fabs)(x)
static inline V MIN(V a, V b) { return a < b ? a : b; }
static inline V MAX(V a, V b) { return a > b ? a : b; }
static inline V SIGN(V a) { return (real)((a > 0) - (a < 0)); }
static inline V ABOVE(V a, V b) { return (real)(a > b); }
"""

FINITE = """\
typedef int Finite;
#define FINITE(a) ((a) >= -MAX_REAL && (a) <= MAX_REAL)
static inline int first_bad(Finite fine) { return fine ? 1 : 0; }
"""

# Types and functions of several lanes. A comparison of vectors gives all ones or all zeros in each lane.
VECTOR = """\
#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX2__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES ((int)(BYTES / sizeof(real)))
typedef real V __attribute__((vector_size(BYTES)));
typedef whole I __attribute__((vector_size(BYTES)));
#define ALL(c) ((V){0} + (real)(c))
static inline V choose(I yes, V a, V b) { return (V)((yes & (I)a) | (~yes & (I)b)); }
static inline V MIN(V a, V b) { return choose((I)(a < b), a, b); }
static inline V MAX(V a, V b) { return choose((I)(a > b), a, b); }
static inline V ABS(V a) { return choose((I)(a < 0), -a, a); }
static inline V SIGN(V a) { return choose((I)(a > 0), ALL(1), choose((I)(a < 0), ALL(-1), ALL(0))); }
static inline V ABOVE(V a, V b) { return choose((I)(a > b), ALL(1), ALL(0)); }
static inline V SQRT(V a) { V r; for (int w = 0; w < LANES; w++) r[w] = F(sqrt)(a[w]); return r; }
#if defined(__x86_64__) && defined(__GLIBC__)
#if BYTES == 64
#define MANGLED(name) F64_32(_ZGVeN8v_##name, _ZGVeN16v_##name##f)
#elif BYTES == 32
#define MANGLED(name) F64_32(_ZGVdN4v_##name, _ZGVdN8v_##name##f)
#else
#define MANGLED(name) F64_32(_ZGVbN2v_##name, _ZGVbN4v_##name##f)
#endif
V MANGLED(sin)(V);
V MANGLED(cos)(V);
V MANGLED(exp)(V);
#define SIN MANGLED(sin)
#define COS MANGLED(cos)
#define EXP MANGLED(exp)
#else
static inline V SIN(V a) { V r; for (int w = 0; w < LANES; w++) r[w] = F(sin)(a[w]); return r; }
static inline V COS(V a) { V r; for (int w = 0; w < LANES; w++) r[w] = F(cos)(a[w]); return r; }
static inline V EXP(V a) { V r; for (int w = 0; w < LANES; w++) r[w] = F(exp)(a[w]); return r; }
#endif
#define EXP2(x) EXP((x) * (real)0.69314718055994530942)  // older vector libraries have no exp2
typedef I Finite;
#define FINITE(a) ((I)((a) >= -MAX_REAL) & (I)((a) <= MAX_REAL))
static inline int first_bad(Finite fine) {
  for (int w = 0; w < LANES; w++) if (!fine[w]) return w;
  return LANES;
}
"""

# Arrays are rows of arms: element (row, arm) of x is x[row * arms + arm]. `fixed` and `input` have separate strides,
# zero if all arms or all steps share a value. Returns the first arm with a state that is not finite, or -1.
RUN = """\
static inline V load(const real *from, long stride, long count) {
  V v;
  if (stride == 0) return ALL(*from);
  if (stride == 1 && count >= LANES) { memcpy(&v, from, sizeof v); return v; }
  real lanes[LANES];
  for (int w = 0; w < LANES; w++) lanes[w] = from[(w < count ? w : count - 1) * stride];
  memcpy(&v, lanes, sizeof v);
  return v;
}
static inline void store(real *to, V v, long count) {
  memcpy(to, &v, (size_t)(count < LANES ? count : LANES) * sizeof(real));
}
typedef struct {
  real *state;
  const real *fixed;
  long fixed_row, fixed_arm;
  const real *input;
  long input_step, input_row, input_arm;
  real *log;
  long every, arms, steps, next, first;
} Run;
static void run_arms(Run *run, long arm) {
  const long count = run->arms - arm, arms = run->arms;
  V x[STATE + 1], p[FIXED + 1], u[INPUTS + 1], y[OUTPUTS + 1];
  for (long r = 0; r < STATE; r++) x[r] = load(run->state + r * arms + arm, 1, count);
  for (long r = 0; r < FIXED; r++)
    p[r] = load(run->fixed + r * run->fixed_row + arm * run->fixed_arm, run->fixed_arm, count);
  for (long k = 0; k < run->steps; k++) {
    const real *input = run->input + k * run->input_step + arm * run->input_arm;
    if (k == 0 || run->input_step)
      for (long r = 0; r < INPUTS; r++) u[r] = load(input + r * run->input_row, run->input_arm, count);
    const long every = run->every;
    real *sample = run->log && k % every == 0 ? run->log + k / every * (LOGGED + OUTPUTS) * arms + arm : 0;
    if (sample)
      for (long r = 0; r < LOGGED; r++) store(sample + r * arms, x[r], count);
    program(x, p, u, y);
    if (sample)
      for (long r = 0; r < OUTPUTS; r++) store(sample + (LOGGED + r) * arms, y[r], count);
  }
  Finite fine = FINITE(ALL(0));
  for (long r = 0; r < STATE; r++) {
    fine &= FINITE(x[r]);
    store(run->state + r * arms + arm, x[r], count);
  }
  const long bad = arm + first_bad(fine);
  long first = __atomic_load_n(&run->first, __ATOMIC_RELAXED);
  while (bad < arm + LANES && bad < first)
    if (__atomic_compare_exchange_n(&run->first, &first, bad, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
}
static void *work(void *job) {
  Run *run = job;
  const long share = 16 * LANES;
  for (;;) {
    const long start = __atomic_fetch_add(&run->next, share, __ATOMIC_RELAXED);
    if (start >= run->arms) return 0;
    for (long arm = start; arm < start + share && arm < run->arms; arm += LANES) run_arms(run, arm);
  }
}
long trocar_run(real *state, const real *fixed, long fixed_row, long fixed_arm, const real *input, long input_step,
                long input_row, long input_arm, real *log, long every, long arms, long steps, long threads) {
  Run run = {state, fixed, fixed_row, fixed_arm, input, input_step, input_row, input_arm, log,
             every, arms,  steps,     0,         arms};
  pthread_t others[MAX_THREADS];
  long started = 0;
  // If a thread cannot be started, the others do its share.
  while (started < threads - 1 && started < MAX_THREADS && (started + 1) * 16 * LANES < arms)
    if (pthread_create(&others[started], 0, work, &run)) break; else started++;
  work(&run);
  for (long k = 0; k < started; k++) pthread_join(others[k], 0);
  return run.first < arms ? run.first : -1;
}
"""

# One step of one arm; one argument with the addresses of x, p and u: the fastest call from Python.
ONE = """\
long trocar_one(real *const *at) {
  real *x = at[0], y[OUTPUTS + 1];
  Finite fine = 1;
  program(x, at[1], at[2], y);
  for (long r = 0; r < STATE; r++) fine &= FINITE(x[r]);
  return fine ? -1 : 0;
}
"""


def c_source(program: Program, precision: str = "float64", lanes: bool = True) -> str:
    """Source of the shared library of a program.

    Args:
        precision: float64 or float32. lanes: a vector of arms at once instead of one arm.
    """
    head = [
        "#include <float.h>",
        "#include <math.h>",
        "#include <pthread.h>",
        "#include <string.h>",
        f"#define MAX_THREADS {MAX_THREADS}",
        f"typedef {REAL[precision]} real;",
        f"#define MAX_REAL {'DBL_MAX' if precision == 'float64' else 'FLT_MAX'}",
        f"typedef {'long' if precision == 'float64' else 'int'} whole;",
        f"#define F(name) name{'' if precision == 'float64' else '##f'}",
        f"#define F64_32(a, b) {'a' if precision == 'float64' else 'b'}",
        *sizes(program),
    ]
    parts = ["\n".join(head), VECTOR if lanes else SCALAR + FINITE, c_function(program), RUN]
    return "\n".join(parts if lanes else [*parts, ONE])


def sizes(program: Program) -> list[str]:
    """Numbers of rows as macros."""
    counts = {
        "STATE": len(program.state),
        "FIXED": len(program.fixed),
        "INPUTS": len(program.inputs),
        "OUTPUTS": len(program.outputs),
        "LOGGED": program.logged,
    }
    return [f"#define {name} {count}" for name, count in counts.items()]


def c_function(
    program: Program,
    qualifiers: str = "static inline",
    arguments: str = "V *restrict x, const V *restrict p, const V *restrict u, V *restrict y",
    branch: BranchSource | None = None,
) -> str:
    """One step as a C function that replaces the state x and sets the outputs y; branch: see `Program.statements`."""
    lines, terms = program.statements(lambda name, value: f"  const V {name} = {value};", expression, branch)
    states, outputs = terms[: len(program.state)], terms[len(program.state) :]
    # A term may be another row of x, which must be read before it is replaced.
    results = [f"  const V n{k} = {_wide(term)};" for k, term in enumerate(states)]
    results += [f"  y[{k}] = {_wide(term)};" for k, term in enumerate(outputs)]
    results += [f"  x[{k}] = n{k};" for k in range(len(states))]
    head = f"{qualifiers} void program({arguments}) {{"
    return "\n".join([head, "  (void)x; (void)p; (void)u;", *lines, *results, "}"]) + "\n"


def expression(node: Node, args: Sequence[str]) -> str:
    """C expression of a node."""
    if node.op == "constant":
        return f"((real){node.value!r})"
    if node.op in _OPERATORS:
        return f"{args[0]} {_OPERATORS[node.op]} {args[1]}"
    if node.op == "negate":
        return f"-{args[0]}"
    if node.op in ("within", "outside"):
        inside = " && ".join(map(_in_range, args[::3], node.args[1::3], node.args[2::3]))
        return inside if node.op == "within" else f"!({inside})"
    return f"{node.op.upper()}({', '.join(map(_wide, args))})"


def _in_range(x: str, least: Node, most: Node) -> str:
    """Condition on a term; the range is of constants."""
    if least.value == most.value:
        return f"{x} == (real){most.value!r}"
    if least.value == -most.value:
        return f"ABS({x}) <= (real){most.value!r}"
    return f"{x} >= (real){least.value!r} && {x} <= (real){most.value!r}"


def _wide(term: str) -> str:
    """A constant as a vector: functions and assignments take no scalar."""
    return f"ALL{term}" if term.startswith("((real)") else term
