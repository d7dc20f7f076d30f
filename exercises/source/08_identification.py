# %% [markdown]
# # 8. Identification by least squares
#
# The effort is linear in the dynamic parameters: `tau = Y(q, dq, ddq) phi`. Many rows of a motion give an
# overdetermined system.
# %%
import numpy as np

import trocar as tr

mech = tr.load_mechanism("PSM", parameters="wang2019")
rng = np.random.default_rng(1)
arm = mech.arm
q = rng.uniform(0.8 * arm.lower, 0.8 * arm.upper, (400, 7))
dq, ddq = rng.normal(0, 0.5, (400, 7)), rng.normal(0, 2.0, (400, 7))
Y = mech.regressor(q, dq, ddq)  # (400, 7, p)
tau = Y @ mech.parameter_vector + rng.normal(0, 0.01, (400, 7))  # measured efforts with noise [N m, N]
# %% [markdown]
# **Task.** Not all parameters can be identified. Find `rank`, the number of independent columns of the stacked
# regressor, and `phi`, the least-squares estimate of smallest norm. How well does it predict the efforts of
# another motion? Compute `relative`, the norm of the prediction error over the norm of the efforts, on 100 new
# random states.
# %% solution
stacked = Y.reshape(-1, Y.shape[-1])
rank = np.linalg.matrix_rank(stacked, tol=1e-6 * np.linalg.norm(stacked, 2))
phi = np.linalg.lstsq(stacked, tau.ravel(), rcond=1e-6)[0]
other = rng.uniform(0.8 * arm.lower, 0.8 * arm.upper, (100, 7))
Y_other = mech.regressor(other, rng.normal(0, 0.5, (100, 7)), rng.normal(0, 2.0, (100, 7)))
true = Y_other @ mech.parameter_vector
relative = np.linalg.norm(Y_other @ phi - true) / np.linalg.norm(true)
print(f"{rank} of {stacked.shape[1]} parameters are identifiable; relative error {relative:.1e}")
# %% check
assert rank < stacked.shape[1]
assert relative < 0.02
