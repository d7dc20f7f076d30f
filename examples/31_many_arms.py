"""Many arms at once: 512 PSMs with different masses, friction and payloads, all under the same controller."""

import numpy as np

from trocar import batch

N, DT = 512, 1e-3
rng = np.random.default_rng(0)
nominal = batch.load("PSM")  # generated C, compiled at first use
tree, home = nominal.mechanism.tree, np.array(nominal.mechanism.arm.home)

arms = nominal.with_parameters(
    mass=tree.mass[:, None] * rng.uniform(0.9, 1.1, (len(tree.mass), N)),
    Fc=tree.drives.Fc[:, None] * rng.uniform(0.5, 1.5, (len(tree.drives.Fc), N)),
    payload=rng.uniform(0.0, 0.05, N),  # kg at the tip
)

# One second of a slow sine under the dVRK's PID.
t = DT * np.arange(1000)
reference = home + 0.1 * np.sin(2 * np.pi * t)[:, None] * [1.0, 1.0, 0.1, 1.0, 1.0, 1.0, 0.0]
start = arms.state(np.tile(home[:, None], N))
end, log = arms.rollout(start, batch.JointPID(reference), DT, every=10)
error = np.abs(log.q - reference[::10, :, None])
print(f"{N} arms, {len(t)} steps; largest tracking error of the best and the worst arm, by joint:")
print(error.max(0).min(1).round(4))
print(error.max(0).max(1).round(4))

# Gradient of the final tip height with respect to every effort of an open-loop motion, also in generated code.
efforts = np.tile(nominal.mechanism.gravity(home) + [0.2, 0.2, 1.0, 0.0, 0.0, 0.0, 0.0], (200, 1))
state = nominal.state(home)
final, _ = nominal.rollout(state, efforts, DT)
by_q = np.zeros((201, 7))
by_q[-1, :6] = nominal.jacobian(final.q)[2]  # height z of the tip
_, _, by_tau = nominal.gradients(state, efforts, DT, by_q)
change = by_tau  # a step of steepest ascent
raised, _ = nominal.rollout(state, efforts + change, DT)
predicted = (by_tau * change).sum()
found = nominal.tip_pose(raised.q)[2, 3] - nominal.tip_pose(final.q)[2, 3]
print(f"a small change of all efforts raises the tip by {found:.4e} m, the gradient predicts {predicted:.4e} m")
assert abs(found - predicted) < 0.01 * abs(predicted)

print("one arm as a recording:", log.recording(7))
