"""Sensitivity of the tip to every parameter, and the spread of the tip that uncertain parameters cause.

Gradients of generated code by the parameters, for the three coordinates of the tip at once: three arms of a batch that
differ in nothing but the coordinate. The band from the gradients is checked against sampled arms.
"""

import numpy as np

from trocar import batch

DT, STEPS, SPREAD, SAMPLES = 1e-3, 200, 0.03, 400
NAMES = ["mass", "com", "Fv", "Im", "gravity"]
arms = batch.load("PSM", friction=True, limits=False)
mech, tree = arms.mechanism, arms.mechanism.tree
arms = arms.with_parameters(Fc=np.zeros(len(tree.drives.Fc)))  # smooth friction: the tip is a smooth function
home = np.array(mech.arm.home)
push = np.array([0.6, -0.4, 1.5, 0.0, 0.0, 0.0, 0.0]) * np.sin(np.arange(STEPS) / 30)[:, None]
efforts = mech.gravity(home) + push

values = {name: arms.parameters[name] for name in NAMES}
three = arms.with_parameters(**{name: np.repeat(x[..., None], 3, axis=-1) for name, x in values.items()})
start = three.state(np.repeat(home[:, None], 3, axis=1))
end, _ = three.rollout(start, efforts, DT, log=False)
by_q = np.zeros((7, 3))
by_q[:6] = mech.jacobian(end.q[:, 0])[:3].T
*_, by = three.gradients(start, efforts, DT, by_q, parameters=NAMES)

# A parameter's own standard deviation is 3 % of its value; the tip moves along x, y and z by so much of it.
moves = {name: SPREAD * values[name][..., None] * by[name] for name in NAMES}  # (..., 3) [m]
entries = []
for name in NAMES:
    for k in np.ndindex(values[name].shape):
        body = tree.names[k[0]] if name in ("mass", "com") else mech.drives.names[k[0]] if name in ("Fv", "Im") else ""
        entries.append((float(np.linalg.norm(moves[name][k])), f"{name} {body} {k[1:] if len(k) > 1 else ''}"))
entries.sort(reverse=True)
print("shift of the tip after 0.2 s by one standard deviation (3 %) of a parameter:")
for size, name in entries[:6]:
    print(f"  {1e3 * size:6.3f} mm  {name.strip()}")

band = np.sqrt(sum((x.reshape(-1, 3) ** 2).sum(axis=0) for x in moves.values()))
rng = np.random.default_rng(0)
drawn = arms.with_parameters(
    **{name: x[..., None] * (1 + SPREAD * rng.normal(size=(*x.shape, SAMPLES))) for name, x in values.items()}
)
final, _ = drawn.rollout(drawn.state(np.repeat(home[:, None], SAMPLES, axis=1)), efforts, DT, log=False)
sampled = arms.tip_pose(final.q)[:3, 3].std(axis=1)
print("standard deviation of the tip [mm]: gradients", (1e3 * band).round(3), "sampled", (1e3 * sampled).round(3))
assert np.allclose(band, sampled, rtol=0.2)
