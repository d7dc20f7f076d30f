# %% [markdown]
# # 5. Energy
#
# Without friction and motors, the sum of kinetic and potential energy is constant. This tests a simulator.
# %%
import numpy as np

import trocar as tr

sim = tr.Simulator("PSM", friction=False)
mech = sim.mechanism
start = np.array([0.3, 0.2, 0.12, 0.0, 0.0, 0.0, 0.3])
sim.reset(start)
recording = tr.simulate(sim, lambda state, setpoint: np.zeros(7), None, 0.3)
# %% [markdown]
# **Task.** Compute the kinetic energy `kinetic` (N,) of every row [J], and `work` (N,), the work that gravity has
# done up to that row, as the integral of minus the gravity effort times the velocity. The arm falls freely: they
# must be equal.
# %% solution
kinetic = np.array([0.5 * dq @ mech.mass_matrix(q) @ dq for q, dq in zip(recording.q, recording.dq, strict=True)])
power = -np.einsum("ij,ij->i", mech.gravity(recording.q), recording.dq)
work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(recording.t))])
print(f"kinetic energy {kinetic[-1]:.5f} J, work of gravity {work[-1]:.5f} J")
# %% check
assert kinetic[-1] > 1e-3  # it moves
assert abs(kinetic[-1] - work[-1]) < 0.02 * kinetic[-1]
