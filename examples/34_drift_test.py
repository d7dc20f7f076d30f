"""Monte Carlo of a drift test: does gravity compensation hold arms whose parameters are not quite those of the model?

After Zhou et al. 2025: the arm is left to its gravity compensation; more than a degree (1 mm of insertion) is drift.
Run it with a number of arms: `python 34_drift_test.py 100000`.
"""

import sys

import numpy as np

from trocar import batch

N, DT, SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 1e-3, 0.5
DRIFT = np.array([np.radians(1.0), np.radians(1.0), 1e-3])
rng = np.random.default_rng(0)
model = batch.load("PSM", precision="float32")
mech, tree = model.mechanism, model.mechanism.tree
lower, upper = 0.8 * mech.arm.lower + 0.2 * mech.arm.upper, 0.2 * mech.arm.lower + 0.8 * mech.arm.upper
q = rng.uniform(lower, upper, (N, 7)).T
held = mech.gravity(q.T).T  # what the controller's model takes the weight for

for spread in (0.02, 0.1, 0.3):
    mass = tree.mass[:, None] * (1 + spread * rng.normal(size=(len(tree.mass), N))).clip(0.1)
    arms = model.with_parameters(mass=mass)
    end, _ = arms.rollout(arms.state(q), held, DT, int(SECONDS / DT), log=False)
    drifted = (np.abs(end.q - q)[:3] > DRIFT[:, None]).any(axis=0)
    # Statics alone: an arm moves if the weight that is not compensated exceeds Coulomb friction.
    rest = held - arms.bias(q, np.zeros_like(q))
    friction = np.abs(tree.drives.A).T @ tree.drives.Fc
    moves = (np.abs(rest[:3]) > friction[:3, None]).any(axis=0)
    print(f"masses off by {100 * spread:3.0f} %: {100 * drifted.mean():5.1f} % of {N} arms drift in {SECONDS} s,")
    print(f"    {100 * moves.mean():5.1f} % have more weight left than friction can hold")
    assert (drifted <= moves).mean() > 0.99  # what statics holds does not drift
