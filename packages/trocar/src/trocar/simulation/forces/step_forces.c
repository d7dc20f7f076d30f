// Forces between two steps of MuJoCo: loops over the generated laws, which precede this file. Every function has one
// argument with the addresses of all that it reads and writes, which is the fastest call from Python; compiled.py fills
// it by the names of its fields.
// A sparse matrix by rows.
typedef struct {
  const int64_t *start, *column;
  const real *weight;
} Rows;
static inline real along(const Rows *rows, int64_t k, const real *x) {
  real sum = 0;
  for (int64_t i = rows->start[k]; i < rows->start[k + 1]; i++) sum += rows->weight[i] * x[rows->column[i]];
  return sum;
}

typedef struct {
  const real *qpos;
  Rows path;
  real *z, *s;
  const real *F, *slope, *rate;
  int64_t count;
} Elements;
// Dahl elements follow the path of the joints.
void trocar_elements(const Elements *e) {
  for (int64_t k = 0; k < e->count; k++) {
    const real path = along(&e->path, k, e->qpos) - e->s[k];
    e->s[k] += path;
    dahl_state(0, 0, (real[]){e->z[k], path, e->rate[k]}, e->z + k);
  }
}

typedef struct {
  const real *qpos, *constant;
  real *applied;
  const int64_t *dof;
  const real *ratio, *amplitude, *range;
  const Elements *elements;
  int64_t dofs, cables;
} Forces;
void trocar_forces(const Forces *f) {
  real *applied = f->applied;
  const Elements *e = f->elements;
  for (int64_t j = 0; j < f->dofs; j++) applied[j] = f->constant[j];
  for (int64_t k = 0; k < f->cables; k++) {
    const real *range = f->range + k * (2 + TERMS);  // limits, then coefficients
    real u[3 + TERMS] = {f->qpos[f->dof[k]] / f->ratio[k]}, effort;
    memcpy(u + 1, range, (2 + TERMS) * sizeof(real));
    cable_torque(0, 0, u, &effort);
    applied[f->dof[k]] += -f->amplitude[k] * effort / f->ratio[k];
  }
  if (!e) return;
  trocar_elements(e);
  for (int64_t k = 0; k < e->count; k++) {
    real effort;
    dahl_effort(0, 0, (real[]){e->z[k], e->s[k], e->F[k], e->slope[k]}, &effort);
    for (int64_t i = e->path.start[k]; i < e->path.start[k + 1]; i++)
      applied[e->path.column[i]] -= e->path.weight[i] * effort;
  }
}

typedef struct {
  const real *qpos, *load;
  Rows along;
  const real *share, *Fc, *Fx, *mu;
  const int64_t *place;
  real *const *loss;
  int64_t drives, places;
} Friction;
void trocar_friction(const Friction *f) {
  for (int64_t k = 0; k < f->places; k++) *f->loss[k] = 0;
  for (int64_t d = 0; d < f->drives; d++) {
    const real s = along(&f->along, d, f->qpos);
    real friction;
    coulomb_friction(0, 0, (real[]){s, f->load[d], f->Fc[d], f->Fx[d], f->mu[d]}, &friction);
    *f->loss[f->place[d]] += f->share[d] * friction;
  }
  for (int64_t k = 0; k < f->places; k++) *f->loss[k] = MAX(*f->loss[k], 0);
}

typedef struct {
  const real *qvel, *radius, *friction;
  const int64_t *dof, *first, *pair, *between;
  real *reference, *rate;
  real fastest;
  int64_t bodies, pairs, dofs;
} Slip;
void trocar_slip(const Slip *s) {
  const int64_t B = s->bodies;
  for (int64_t b = 0; b < B; b++) {
    real u[16];
    for (int64_t i = 0; i < 12; i++) {
      const int64_t dof = s->dof[i * B + b];
      u[i] = dof < s->dofs ? s->qvel[dof] : 0;
    }
    u[12] = s->radius[b], u[13] = s->radius[B + b], u[14] = s->friction[5 * s->first[b]], u[15] = s->fastest;
    slip_rate(0, 0, u, s->rate + b);
  }
  for (int64_t p = 0; p < s->pairs; p++) s->reference[2 * s->pair[p] + 1] = -s->rate[s->between[p]];
}
