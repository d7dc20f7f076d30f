"""Sensitivity of the tip to every parameter, and the spread of the tip under the covariance of an identification.

Generated code computes the gradients with respect to the parameters for all three coordinates of the tip at once, in a
batch of three identical arms, one per coordinate. Then arms drawn from the covariance of `wang2019_refit` (physically
possible ones only) are simulated, and the gradients predict the final positions of their tips.
"""

import numpy as np

from trocar import batch
from trocar.sweep.drawn import DrawnArms

DT, STEPS, SAMPLES = 1e-3, 200, 200
NAMES = ["mass", "com", "inertia", "Im", "Fv", "K", "K2", "dahl_F", "dahl_slope"]
nominal = batch.load("PSM", "wang2019_refit", limits=False)
mech, tree = nominal.mechanism, nominal.mechanism.tree
home = np.array(mech.arm.home)
push = np.array([0.6, -0.4, 1.5, 0.0, 0.0, 0.0, 0.0]) * np.sin(np.arange(STEPS) / 30)[:, None]
efforts = nominal.bias(home, np.zeros(7)) + push

values = {name: np.array(nominal.parameters[name]) for name in NAMES}
three = nominal.with_parameters(**{name: np.repeat(x[..., None], 3, axis=-1) for name, x in values.items()})
start = three.state(np.repeat(home[:, None], 3, axis=1))
end, _ = three.rollout(start, efforts, DT, log=False)
by_q = np.zeros((7, 3))
by_q[:6] = nominal.jacobian(end.q[:, 0])[:3].T
*_, by = three.gradients(start, efforts, DT, by_q, parameters=NAMES)  # gradient by each entry, for x, y and z

draws = DrawnArms(mech)
drawn = draws.arms(nominal, np.array([draws.draw(1.0, seed)[0] for seed in range(SAMPLES)]))
final, _ = drawn.rollout(drawn.state(np.repeat(home[:, None], SAMPLES, axis=1)), efforts, DT, log=False)
moved = nominal.tip_pose(final.q)[:3, 3] - nominal.tip_pose(end.q[:, 0])[:3, 3, None]  # (3, SAMPLES) [m]

# The tip moves by the gradient times the change of each entry of each parameter: (..., 3, SAMPLES).
shares = {
    name: by[name][..., None] * (drawn.parameters[name] - x[..., None])[..., None, :] for name, x in values.items()
}
owners = {"mass": tree.names, "com": tree.names, "inertia": tree.names}
elements = [tree.drives.names[d] for d in tree.drives.dahl_drive]
owners |= {"dahl_F": elements, "dahl_slope": elements}
entries: dict[str, np.ndarray] = {}
for name, share in shares.items():
    for owner, part in zip(owners.get(name, tree.drives.names), share, strict=True):
        label = f"{name} of {owner}"
        entries[label] = entries.get(label, 0.0) + part.reshape(-1, 3, SAMPLES).sum(axis=0)
spreads = sorted(((np.linalg.norm(x.std(axis=1)), label) for label, x in entries.items()), reverse=True)
print("standard deviation of the tip after 0.2 s caused by single parameters:")
for size, label in spreads[:6]:
    print(f"  {1e3 * size:6.3f} mm  {label}")

predicted = sum(entries.values())
bands = [1e3 * x.std(axis=1) for x in (predicted, moved)]
print("all parameters together [mm]: gradients", bands[0].round(3), "simulated", bands[1].round(3))
assert np.allclose(*bands, rtol=0.1)
rest = (predicted - moved).std() / moved.std()
print(f"single arms: error of the gradients {100 * rest:.1f} % of the spread")
assert rest < 0.1
