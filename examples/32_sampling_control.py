"""Sampling model-predictive control (MPPI): a spiral under motor limits, planned with an inaccurate model.

Every 10 ms, 256 rollouts of 60 ms start from the measured state. Each shifts the setpoint of the servo by a different
random amount; rollouts that follow the spiral better get a larger weight in the applied shift. The planning model has
neither the payload nor the friction of the controlled arm.
"""

import numpy as np

from trocar import batch

SAMPLES, HORIZON, TICK, DT, TICKS = 256, 60, 10, 1e-3, 120
rng = np.random.default_rng(0)
model = batch.load("PSM", motor_limits=True, precision="float32")
tree = model.mechanism.tree
plant = batch.load("PSM", motor_limits=True).with_parameters(payload=0.1, Fc=1.3 * tree.drives.Fc)
mech, home = model.mechanism, np.array(model.mechanism.arm.home)

# The spiral: 10 mm wide after 1.2 s and two turns, in the plane of the tip's x and y axes.
ticks = np.arange(TICKS + HORIZON // TICK)
radius, angle = 0.01 * np.minimum(ticks / TICKS, 1.0), 2 * np.pi * ticks / 60
T = np.repeat(mech.forward_kinematics(home)[None], len(ticks), axis=0)
T[:, 0, 3] += radius * np.cos(angle)
T[:, 1, 3] += radius * np.sin(angle)
wanted = [home]
for pose in T[1:]:
    wanted.append(mech.inverse_kinematics(pose, wanted[-1]))
wanted = np.array(wanted)  # (ticks, 7)

# The servo is the dVRK's PID without its integral term: weight, payload, friction and lag cause errors.
spread = 5e-3 * np.array([1.0, 1.0, 0.1, 1.0, 1.0, 1.0, 1.0])  # standard deviation of the shifts [rad, m]
weight = 1.0 / spread**2


def followed(shifted: bool) -> float:
    """Root mean square distance of the tip from the spiral [m]."""
    state, shift, misses = plant.state(home), np.zeros(7), []
    for k in range(TICKS):
        ahead = wanted[k + 1 : k + 1 + HORIZON // TICK]
        if shifted:
            shifts = shift[:, None] + spread[:, None] * rng.normal(size=(7, SAMPLES))
            many = model.state(np.tile(state.q[:, None], SAMPLES), np.tile(state.dq[:, None], SAMPLES))
            reference = np.repeat(ahead, TICK, axis=0)[..., None] + shifts
            _, log = model.rollout(many, batch.JointPID(reference, ki=0.0), DT, every=TICK)
            errors = log.q[1:] - ahead[:-1, :, None]
            cost = np.einsum("tjk,j->k", errors**2, weight)
            share = np.exp(-(cost - cost.min()) / (0.1 * np.median(cost - cost.min()) + 1e-12))
            shift = shifts @ (share / share.sum())
        state, _ = plant.rollout(state, batch.JointPID(wanted[k + 1] + shift, ki=0.0), DT, TICK, log=False)
        misses.append(np.linalg.norm(plant.tip_pose(state.q)[:3, 3] - T[k + 1, :3, 3]))
    return float(np.sqrt(np.mean(np.square(misses))))


alone, planned = followed(False), followed(True)
print(f"distance of the tip from the spiral: {1e3 * alone:.2f} mm with the servo alone,")
print(f"{1e3 * planned:.2f} mm with {SAMPLES} rollouts every {TICK} ms, payload and friction unknown to the model")
assert planned < 0.2 * alone
