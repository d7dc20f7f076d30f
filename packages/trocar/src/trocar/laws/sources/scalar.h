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
