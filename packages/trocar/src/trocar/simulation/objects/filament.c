/* A thread as a chain of small masses with rods between them: forces of stretching, bending, contact and friction, and
   explicit steps. See filament_steps.py for the model, the units and the arrays.

   Vectorised loops first compute forces between neighbours and then gather them, so no iteration writes what another
   one reads. */
#pragma GCC optimize("O3")
#include <math.h>
#include <string.h>

enum { SPHERE, CAPSULE, CYLINDER, BOX, PADS };
enum { FULL = -2, DIVERGED = -1, CHECKED = 8 };

typedef struct {
    long masses, solids, skip, capacity, steps;
    double rod, stretch, stretch_damping, bend, bend_damping;       /* m, N/m, N s/m, N/m, N s/m */
    double contact, contact_damping, grip, grip_damping, friction;  /* N/m, N s/m, N/m, N s/m, 1 */
    double radius, skin, drag, dt;                                  /* m, m, 1/s, s */
} Settings;

/* Nearest points of the segments a + s u and c + t w, s and t in [0, 1]. A small term draws them to the middles, so that
   the points of parallel segments do not leap from one end to the other. */
static inline void nearest(const double *a, const double *u, const double *c, const double *w, double *s, double *t) {
    double r[3] = {a[0] - c[0], a[1] - c[1], a[2] - c[2]};
    double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    double uw = u[0] * w[0] + u[1] * w[1] + u[2] * w[2];
    double ur = u[0] * r[0] + u[1] * r[1] + u[2] * r[2], wr = w[0] * r[0] + w[1] * r[1] + w[2] * r[2];
    double pull = 0.02 * (uu < ww ? uu : ww);
    double p = uu + pull, q = ww + pull, b = 0.5 * pull - ur, e = 0.5 * pull + wr;
    double S = (b * q + uw * e) / (p * q - uw * uw);
    S = S < 0 ? 0 : S > 1 ? 1 : S;
    double T = (e + uw * S) / q;
    if (T < 0 || T > 1) {
        T = T < 0 ? 0 : 1;
        S = (b + uw * T) / p;
        S = S < 0 ? 0 : S > 1 ? 1 : S;
    }
    *s = S;
    *t = T;
}

/* Distance of the point p from a solid in the solid's frame, and the outward normal there. */
static inline double distance(long kind, const double *size, const double *p, double *normal) {
    double from[3] = {p[0], p[1], p[2]};
    if (kind == BOX) {
        double out[3], far = 0, deepest = -INFINITY;
        int face = 0;
        for (int k = 0; k < 3; k++) {
            double beyond = fabs(p[k]) - size[k];
            if (beyond > deepest) deepest = beyond, face = k;
            out[k] = beyond > 0 ? copysign(beyond, p[k]) : 0;
            far += out[k] * out[k];
        }
        if (far > 0) {
            far = sqrt(far);
            for (int k = 0; k < 3; k++) normal[k] = out[k] / far;
            return far;
        }
        for (int k = 0; k < 3; k++) normal[k] = k == face ? copysign(1, p[k]) : 0;
        return deepest;
    }
    if (kind == CYLINDER) {
        double r = sqrt(p[0] * p[0] + p[1] * p[1]), side = r - size[0], end = fabs(p[2]) - size[1];
        double x = r > 0 ? p[0] / r : 1, y = r > 0 ? p[1] / r : 0, z = copysign(1, p[2]);
        double out = side > 0 ? side : 0, over = end > 0 ? end : 0, far = sqrt(out * out + over * over);
        if (far > 0) {
            normal[0] = x * out / far, normal[1] = y * out / far, normal[2] = z * over / far;
            return far;
        }
        int flat = end > side;
        normal[0] = flat ? 0 : x, normal[1] = flat ? 0 : y, normal[2] = flat ? z : 0;
        return flat ? end : side;
    }
    if (kind == CAPSULE) from[2] -= p[2] > size[1] ? size[1] : p[2] < -size[1] ? -size[1] : p[2];
    double r = sqrt(from[0] * from[0] + from[1] * from[1] + from[2] * from[2]);
    for (int k = 0; k < 3; k++) normal[k] = r > 0 ? from[k] / r : k == 0;
    return r - size[0];
}

/* Contacts are pairs in increasing order, each with the extension of its spring of friction, which goes with the pair
   from list to list. */
typedef struct {
    long *pair, *old_pair;
    double *spring, *old_spring;
    long *count;
} Contacts;

typedef struct {
    Contacts of;
    long kept, filled, capacity;
} Filling;

static Filling begin(Contacts of, long capacity) {
    memcpy(of.old_pair, of.pair, 2 * *of.count * sizeof(long));
    memcpy(of.old_spring, of.spring, 3 * *of.count * sizeof(double));
    return (Filling){of, 0, 0, capacity};
}

static int add(Filling *f, long i, long j) {
    if (f->filled >= f->capacity) return 0;
    const long *old = f->of.old_pair;
    long count = *f->of.count, *pair = f->of.pair + 2 * f->filled;
    double *spring = f->of.spring + 3 * f->filled++;
    while (f->kept < count && (old[2 * f->kept] < i || (old[2 * f->kept] == i && old[2 * f->kept + 1] < j))) f->kept++;
    int same = f->kept < count && old[2 * f->kept] == i && old[2 * f->kept + 1] == j;
    pair[0] = i, pair[1] = j;
    for (int k = 0; k < 3; k++) spring[k] = same ? f->of.old_spring[3 * f->kept + k] : 0;
    return 1;
}

/* Rods that are near each other. */
static int near_rods(const Settings *o, const double *x, Contacts of) {
    Filling list = begin(of, o->capacity);
    double reach = 2 * o->radius + o->skin;
    for (long i = 0; i + o->skip < o->masses - 1; i++) {
        const double *a = x + 3 * i;
        double u[3] = {a[3] - a[0], a[4] - a[1], a[5] - a[2]};
        double long_i = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        for (long j = i + o->skip; j < o->masses - 1; j++) {
            const double *c = x + 3 * j;
            double m[3], far = 0;
            for (int k = 0; k < 3; k++) {
                m[k] = c[k] + c[k + 3] - a[k] - a[k + 3];
                far += m[k] * m[k];
            }
            double most = 2 * reach + 2.5 * long_i; /* twice the distance of the middles; rods stretch alike */
            if (far > most * most) continue;
            double w[3] = {c[3] - c[0], c[4] - c[1], c[5] - c[2]}, s, t, gap = 0;
            nearest(a, u, c, w, &s, &t);
            for (int k = 0; k < 3; k++) {
                double z = a[k] + s * u[k] - c[k] - t * w[k];
                gap += z * z;
            }
            if (gap < reach * reach && !add(&list, i, j)) return 0;
        }
    }
    *of.count = list.filled;
    return 1;
}

/* Masses that are near a solid that they do not pass through, now or on its way until the end of the call. */
static int near_solids(const Settings *o, const double *x, const long *kind, const double *size, const double *frame,
                       const double *way, const char *passes, Contacts of) {
    Filling list = begin(of, o->capacity);
    for (long i = 0; i < o->masses; i++)
        for (long j = 0; j < o->solids; j++) {
            if (passes[i * o->solids + j]) continue;
            const double *p = frame + 12 * j, *R = p + 3, *d = way + 12 * j;
            double rel[3] = {x[3 * i] - p[0], x[3 * i + 1] - p[1], x[3 * i + 2] - p[2]}, at[3], normal[3];
            double moved = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), turned = 0, off = 0;
            for (int k = 0; k < 9; k++) turned += d[3 + k] * d[3 + k];
            for (int k = 0; k < 3; k++) off += rel[k] * rel[k];
            for (int k = 0; k < 3; k++) at[k] = R[k] * rel[0] + R[3 + k] * rel[1] + R[6 + k] * rel[2];
            double reach = o->radius + o->skin + moved + sqrt(turned * off);
            if (kind[j] == PADS) {
                if (!add(&list, i, j)) return 0;
            } else if (distance(kind[j], size + 3 * j, at, normal) < reach && !add(&list, i, j)) return 0;
        }
    *of.count = list.filled;
    return 1;
}

/* Force of a contact along its normal and of its spring of friction, for the relative velocity v and the overlap. */
static inline void contact_force(const Settings *o, double overlap, const double *normal, const double *v,
                                 double *spring, double *F) {
    double vn = v[0] * normal[0] + v[1] * normal[1] + v[2] * normal[2];
    double along = spring[0] * normal[0] + spring[1] * normal[1] + spring[2] * normal[2];
    double N = o->contact * overlap - o->contact_damping * vn, held = 0;
    N = N > 0 ? N : 0;
    for (int k = 0; k < 3; k++) {
        double slip = v[k] - vn * normal[k];
        spring[k] += o->dt * slip - along * normal[k];
        F[k] = -o->grip * spring[k] - o->grip_damping * slip;
        held += F[k] * F[k];
    }
    held = sqrt(held);
    if (held > o->friction * N) { /* it slips */
        double part = held > 0 ? o->friction * N / held : 0;
        for (int k = 0; k < 3; k++) {
            F[k] *= part;
            spring[k] = -F[k] / o->grip;
        }
    }
    for (int k = 0; k < 3; k++) F[k] += N * normal[k];
}

/* Force of closed jaws on a mass between their pads: friction of both pads along them, at most `most`, and a spring
   across them, along x, without limit. */
static inline void grip_force(const Settings *o, double most, const double *v, double *spring, double *F) {
    for (int k = 0; k < 3; k++) {
        spring[k] += o->dt * v[k];
        F[k] = -o->grip * spring[k] - o->grip_damping * v[k];
    }
    double held = sqrt(F[1] * F[1] + F[2] * F[2]);
    if (held > most) /* it slips */
        for (int k = 1; k < 3; k++) {
            F[k] *= most / held;
            spring[k] = -F[k] / o->grip;
        }
}

static double largest(const double *values, long count) {
    double most = 0;
    for (long i = 0; i < count; i++) {
        double value = fabs(values[i]);
        most = value > most ? value : most;
    }
    return most;
}

long trocar_filament(const Settings *settings, double *restrict x, double *restrict v, const double *restrict mobility,
                     const double *restrict load, const double *gravity, const long *kind, const double *size,
                     double *frame, const double *way, const char *passes, const double *limit, long *rod_pair, double *rod_spring, long *solid_pair,
                     double *solid_spring, long *counts, long *old_pair, double *old_spring, double *restrict work,
                     double *restrict mean, double *wrench, double *deepest) {
    const Settings *o = settings;
    const long n = o->masses, all = 3 * n;
    double *restrict f = work, *restrict curl = work + all, *restrict pull = work + 2 * all, *ref = work + 3 * all;
    Contacts rods = {rod_pair, old_pair, rod_spring, old_spring, counts};
    Contacts solids = {solid_pair, old_pair, solid_spring, old_spring, counts + 1};
    const double dt = o->dt, keep = 1 - o->drag * dt;
    int fresh = 0;
    memset(mean, 0, all * sizeof(double));
    memset(wrench, 0, 6 * o->solids * sizeof(double));
    *deepest = 0;
    for (long step = 0; step < o->steps; step++) {
        if (step % CHECKED == 0) {
            double moved = 0, ahead = CHECKED * dt * largest(v, all);
            for (long i = 0; i < all; i++) {
                double way = fabs(x[i] - ref[i]);
                moved = way > moved ? way : moved;
            }
            if (!fresh || 1.7320508 * (moved + ahead) > 0.5 * o->skin) {
                if (!near_rods(o, x, rods) || !near_solids(o, x, kind, size, frame, way, passes, solids)) return FULL;
                memcpy(ref, x, all * sizeof(double));
                fresh = 1;
            }
        }
        for (long i = 0; i < n - 1; i++) {
            const double *a = x + 3 * i, *va = v + 3 * i;
            double d0 = a[3] - a[0], d1 = a[4] - a[1], d2 = a[5] - a[2];
            double L = sqrt(d0 * d0 + d1 * d1 + d2 * d2);
            double rate = ((va[3] - va[0]) * d0 + (va[4] - va[1]) * d1 + (va[5] - va[2]) * d2) / L;
            double T = (o->stretch * (L - o->rod) + o->stretch_damping * rate) / L;
            pull[3 * i] = T * d0, pull[3 * i + 1] = T * d1, pull[3 * i + 2] = T * d2;
        }
        for (long i = 3; i < all - 3; i++)
            curl[i] = o->bend * (x[i - 3] - 2 * x[i] + x[i + 3]) + o->bend_damping * (v[i - 3] - 2 * v[i] + v[i + 3]);
        for (int k = 0; k < 3; k++) { /* free ends */
            curl[k] = curl[all - 3 + k] = 0;
            f[k] = load[k] + pull[k] - curl[3 + k];
            f[all - 3 + k] = load[all - 3 + k] - pull[all - 6 + k] - curl[all - 6 + k];
        }
        for (long i = 3; i < all - 3; i++)
            f[i] = load[i] + pull[i] - pull[i - 3] - curl[i - 3] + 2 * curl[i] - curl[i + 3];

        for (long c = 0; c < counts[0]; c++) {
            long i = 3 * rod_pair[2 * c], j = 3 * rod_pair[2 * c + 1];
            double u[3], w[3], z[3], rel[3], F[3], s, t, gap = 0, *spring = rod_spring + 3 * c;
            for (int k = 0; k < 3; k++) u[k] = x[i + 3 + k] - x[i + k], w[k] = x[j + 3 + k] - x[j + k];
            nearest(x + i, u, x + j, w, &s, &t);
            for (int k = 0; k < 3; k++) {
                z[k] = x[i + k] + s * u[k] - x[j + k] - t * w[k];
                gap += z[k] * z[k];
            }
            if (gap >= 4 * o->radius * o->radius) {
                spring[0] = spring[1] = spring[2] = 0;
                continue;
            }
            gap = sqrt(gap);
            double overlap = 2 * o->radius - gap;
            *deepest = overlap > *deepest ? overlap : *deepest;
            for (int k = 0; k < 3; k++) {
                z[k] /= gap;
                rel[k] = (1 - s) * v[i + k] + s * v[i + 3 + k] - (1 - t) * v[j + k] - t * v[j + 3 + k];
            }
            contact_force(o, overlap, z, rel, spring, F);
            for (int k = 0; k < 3; k++) {
                f[i + k] += (1 - s) * F[k], f[i + 3 + k] += s * F[k];
                f[j + k] -= (1 - t) * F[k], f[j + 3 + k] -= t * F[k];
            }
        }

        double part = (double)step / o->steps, span = o->steps * dt;
        for (long c = 0; c < counts[1]; c++) {
            long i = 3 * solid_pair[2 * c], j = solid_pair[2 * c + 1];
            const double *p = frame + 12 * j, *d = way + 12 * j;
            double R[9], lever[3], at[3], normal[3], rel[3], slow[3], F[3], force[3], *spring = solid_spring + 3 * c;
            for (int k = 0; k < 9; k++) R[k] = p[3 + k] + part * d[3 + k];
            for (int k = 0; k < 3; k++) lever[k] = x[i + k] - p[k] - part * d[k];
            for (int k = 0; k < 3; k++) at[k] = R[k] * lever[0] + R[3 + k] * lever[1] + R[6 + k] * lever[2];
            int pads = kind[j] == PADS;
            double overlap = pads ? 0 : o->radius - distance(kind[j], size + 3 * j, at, normal);
            if (!pads && overlap <= 0) {
                spring[0] = spring[1] = spring[2] = 0;
                continue;
            }
            for (int k = 0; k < 3; k++) {
                double carried = d[k] + d[3 + 3 * k] * at[0] + d[4 + 3 * k] * at[1] + d[5 + 3 * k] * at[2];
                rel[k] = v[i + k] - carried / span;
            }
            for (int k = 0; k < 3; k++) slow[k] = R[k] * rel[0] + R[3 + k] * rel[1] + R[6 + k] * rel[2];
            if (pads)
                grip_force(o, limit[j], slow, spring, F);
            else
                contact_force(o, overlap, normal, slow, spring, F); /* in the solid's frame, with which it turns */
            for (int k = 0; k < 3; k++) {
                force[k] = R[3 * k] * F[0] + R[3 * k + 1] * F[1] + R[3 * k + 2] * F[2];
                f[i + k] += force[k];
                wrench[6 * j + k] -= force[k];
            }
            for (int k = 0; k < 3; k++) {
                int l = (k + 1) % 3, m = (k + 2) % 3;
                wrench[6 * j + 3 + k] -= lever[l] * force[m] - lever[m] * force[l];
            }
        }

        for (long i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) {
                long at = 3 * i + k;
                mean[at] += f[at];
                double free = mobility[i] > 0;
                v[at] = free * (keep * v[at] + dt * (mobility[i] * f[at] + gravity[k])) + (1 - free) * v[at];
                x[at] += dt * v[at];
            }
    }
    for (long i = 0; i < all; i++) mean[i] /= o->steps;
    for (long i = 0; i < 6 * o->solids; i++) wrench[i] /= o->steps;
    for (long j = 0; j < 12 * o->solids; j++) frame[j] += way[j];
    double sum = 0;
    for (long i = 0; i < all; i++) sum += x[i] + v[i];
    return isfinite(sum) ? 0 : DIVERGED;
}
