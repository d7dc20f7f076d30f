// One step of one arm; one argument with the addresses of x, p and u: the fastest call from Python.
long trocar_one(real *const *at) {
  real *x = at[0], y[OUTPUTS + 1];
  Finite fine = 1;
  program(x, at[1], at[2], y);
  for (long r = 0; r < STATE; r++) fine &= WITHIN(x[r], LOW[r], HIGH[r]);
  return fine ? -1 : 0;
}
