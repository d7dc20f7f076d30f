"""Monte Carlo drift test: does gravity compensation hold arms whose masses differ from those of its model?

As in Zhou et al. 2025, a PSM of the da Vinci Si is released at rest under gravity compensation alone. Motion of more
than 1 degree (1 mm of insertion) in 5 s counts as drift. `python 34_drift_test.py --arms 100000` runs the full study;
`--backend cuda` runs it on a GPU.
"""

import argparse
import time

import numpy as np

from trocar import batch

parser = argparse.ArgumentParser()
parser.add_argument("--arms", type=int, default=400)
parser.add_argument("--backend", default="c", choices=["c", "cuda"])
given = parser.parse_args()
N, DT, SECONDS = given.arms, 1e-3, 5.0
DRIFT = np.array([np.radians(1.0), np.radians(1.0), 1e-3])
rng = np.random.default_rng(0)
model = batch.load("PSM_Si", "zhou2025", backend=given.backend, precision="float32")
arm, tree = model.mechanism.arm, model.mechanism.tree
drives = tree.drives
q = rng.uniform(0.8 * arm.lower + 0.2 * arm.upper, 0.2 * arm.lower + 0.8 * arm.upper, (N, arm.n)).T
held = model.bias(q, np.zeros_like(q))  # the weight according to the controller's model, springs included

for spread in (0.02, 0.1, 0.3):
    mass = tree.mass[:, None] * (1 + spread * rng.normal(size=(len(tree.mass), N))).clip(0.1)
    arms = model.with_parameters(mass=mass)
    start = time.perf_counter()
    end, _ = arms.rollout(arms.state(q), held, DT, int(SECONDS / DT), log=False)
    seconds = time.perf_counter() - start
    drifted = (np.abs(np.asarray(end.q) - q)[:3] > DRIFT[:, None]).any(axis=0)
    # Static prediction: an arm moves if the uncompensated weight exceeds Coulomb friction, which grows with load.
    weight = arms.bias(q, np.zeros_like(q))
    bound = drives.Fc[:, None] + drives.Fx[:, None] * (drives.A @ q) + drives.mu[:, None] * np.abs(drives.L @ weight)
    moves = (np.abs(held - weight) > np.abs(drives.A).T @ bound)[:3].any(axis=0)
    print(f"mass error {100 * spread:3.0f} %: {100 * drifted.mean():5.1f} % of {N} arms drift in {SECONDS:g} s,")
    print(f"    {100 * moves.mean():5.1f} % are predicted to move by statics ({seconds:.2f} s)")
    assert (drifted <= moves).mean() > 0.99  # arms that statics predicts to rest do not drift
