# %% [markdown]
# # 9. Forces without a sensor
#
# At rest, a force at the tip changes the effort of the joints by minus its Jacobian transpose.
# %%
import numpy as np

import trocar as tr

sim = tr.Simulator("PSM", friction=False)
mech = sim.mechanism
q = np.array([0.2, -0.1, 0.15, 0.0, 0.2, 0.1, 0.3])
push = np.array([0.5, -0.3, 1.0])  # [N] in base axes, unknown to your estimate
sim.reset(q)
sim.apply_wrench(np.concatenate([push, np.zeros(3)]))
law = tr.ComputedTorque(mech, kp=900.0, kd=60.0)
recording = tr.simulate(sim, law, tr.hold(q), 0.5)
# %% [markdown]
# **Task.** Estimate the force `estimate` (3,) [N] at the tip from the last row of the recording, with the model
# only: efforts `recording.tau`, `mech.inverse_dynamics`, `mech.effort_bias` and the first three rows of
# `mech.jacobian`. Only the first three joints matter: the moment at the tip is zero.
# %% solution
k = -1
model = mech.inverse_dynamics(recording.q[k], recording.dq[k], recording.ddq[k]) + mech.effort_bias
external = (model - recording.tau[k])[:6]
estimate = np.linalg.lstsq(mech.jacobian(recording.q[k])[:3].T, external, rcond=None)[0]
print("estimate [N]:", np.array2string(estimate, precision=3))
# %% check
assert np.allclose(estimate, push, atol=0.02)
