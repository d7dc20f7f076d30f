typedef int Finite;
#define FINITE(a) ((a) >= -MAX_REAL && (a) <= MAX_REAL)
static inline int first_bad(Finite fine) { return fine ? 1 : 0; }
