// Arrays are rows of arms: element (row, arm) of x is x[row * arms + arm]. `fixed` and `input` have separate strides,
// zero if all arms or all steps share a value. Returns the first arm that has diverged, or -1.
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
  Finite fine = WITHIN(ALL(0), 0, 0);
  for (long r = 0; r < STATE; r++) {
    fine &= WITHIN(x[r], LOW[r], HIGH[r]);
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
