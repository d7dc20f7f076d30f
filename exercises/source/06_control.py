# %% [markdown]
# # 6. PD and computed torque
#
# A PD controller does not know the arm; computed torque cancels its dynamics.
# %%
import numpy as np

import trocar as tr
from trocar.control import ComputedTorque
from trocar.control.trajectories import sinusoid

sim = tr.Simulator("PSM", friction=False)
centre = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.3])
reference = sinusoid(centre, np.array([0.3, 0.2, 0.03, 0.2, 0.2, 0.2, 0.1]), 0.5)


def run(controller):
    start = reference(0.0)
    sim.reset(start.q, start.dq)
    recording = tr.simulate(sim, controller, reference, 1.0)
    return np.abs(recording.commands["q"] - recording.q).max(axis=0)


# %% [markdown]
# **Task.** Write `pd(state, setpoint)`, a PD controller with gravity compensation: the effort is the joint's
# inertia `np.diag(M)` times 400 (error) + 40 (error rate), plus `sim.mechanism.gravity`. Compare its largest
# tracking error `error_pd` (7,) with that of `ComputedTorque(sim.mechanism, kp=400.0, kd=40.0)`, `error_ct`.
# %% solution
def pd(state, setpoint):
    inertia = np.diag(sim.mechanism.mass_matrix(state.q))
    feedback = 400.0 * (setpoint.q - state.q) + 40.0 * (setpoint.dq - state.dq)
    return inertia * feedback + sim.mechanism.gravity(state.q)


error_pd, error_ct = run(pd), run(ComputedTorque(sim.mechanism, kp=400.0, kd=40.0))
print("PD             ", np.array2string(error_pd, precision=5))
print("computed torque", np.array2string(error_ct, precision=5))
# %% check
assert error_ct[0] < 0.1 * error_pd[0]
assert error_pd[0] < 0.05
