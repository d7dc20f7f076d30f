// Arrays as in run.c; the log and inputs may also run backwards, with negative strides. `bad` is set if a state is not
// finite.
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
    fine = fine && x[r] >= LOW[r] && x[r] <= HIGH[r];
    end[r * arms + arm] = x[r];
  }
  if (!fine) *bad = 1;
}
