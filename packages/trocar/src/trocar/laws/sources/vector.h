// Several lanes. A comparison of vectors gives all ones or all zeros in each lane.
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
#define WITHIN(a, low, high) ((I)((a) >= (low)) & (I)((a) <= (high)))
static inline int first_bad(Finite fine) {
  for (int w = 0; w < LANES; w++) if (!fine[w]) return w;
  return LANES;
}
