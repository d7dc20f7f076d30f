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
