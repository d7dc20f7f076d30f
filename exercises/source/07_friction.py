# %% [markdown]
# # 7. Friction from slow motions
#
# At a constant velocity, the effort of a joint is gravity plus friction. Motions in both directions separate
# them.
# %%
import numpy as np

import trocar as tr

mech = tr.load_mechanism("PSM", parameters="wang2019")
speeds = np.array([0.05, 0.1, 0.2, 0.4])  # of the yaw joint [rad/s]
q = np.array([0.1, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])


def measured_effort(speed):
    """Effort of the yaw joint at a constant speed [N m], as the robot would report it."""
    dq = np.zeros(7)
    dq[0] = speed
    return (mech.inverse_dynamics(q, dq, np.zeros(7), friction=True) + mech.effort_bias)[0]


# %% [markdown]
# **Task.** From `measured_effort` at the speeds in both directions, find the Coulomb friction `Fc` [N m] and the
# viscous friction `Fv` [N m s/rad] of the yaw joint by linear least squares. Gravity, centrifugal effort and the
# constant bias must not disturb the result.
# %% solution
half = np.array([(measured_effort(v) - measured_effort(-v)) / 2 for v in speeds])  # odd part: friction only
Fc, Fv = np.linalg.lstsq(np.stack([np.ones(4), speeds], axis=1), half, rcond=None)[0]
print(f"Fc = {Fc:.5f} N m, Fv = {Fv:.5f} N m s/rad")
# %% check
yaw = mech.parameters.drives[0]
assert np.isclose(Fc, yaw.Fc, rtol=1e-6)
assert np.isclose(Fv, yaw.Fv, rtol=1e-6)
