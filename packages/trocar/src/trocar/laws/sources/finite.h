typedef int Finite;
#define WITHIN(a, low, high) ((a) >= (low) && (a) <= (high))
static inline int first_bad(Finite fine) { return fine ? 1 : 0; }
