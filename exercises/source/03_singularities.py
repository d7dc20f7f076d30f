# %% [markdown]
# # 3. Jacobian and singularities
#
# The Jacobian maps joint velocities to the velocity of the tip. Where it loses rank, the arm cannot move in some
# direction.
# %%
import numpy as np
from scipy.optimize import brentq

import trocar as tr

psm = tr.load_mechanism("PSM")
q = np.array([0.2, -0.1, 0.12, 0.3, 0.2, -0.3, 0.0])
# %% [markdown]
# **Task.** Compute `J_linear` (3, 6), the linear part of the Jacobian at `q`, by central differences of the forward
# kinematics. Then pull the instrument back: find the insertion `depth` [m] between 10 and 50 mm at which the Jacobian
# of `psm.jacobian` is singular, with the other joints as in `q`. Hint: its determinant changes sign there
# (`scipy.optimize.brentq`). What lies at the remote centre then?
# %% solution
h = 1e-6
steps = np.eye(7)[:6] * h
J_linear = np.stack(
    [(psm.forward_kinematics(q + d)[:3, 3] - psm.forward_kinematics(q - d)[:3, 3]) / (2 * h) for d in steps], axis=1
)


def at(depth):
    return np.array([*q[:2], depth, *q[3:]])


depth = brentq(lambda x: np.linalg.det(psm.jacobian(at(x))), 0.01, 0.05)
print(f"singular at an insertion of {1e3 * depth:.1f} mm: the axis of the wrist passes through the remote centre")
# %% check
assert np.allclose(J_linear, psm.jacobian(q)[:3], atol=1e-8)
assert np.linalg.svd(psm.jacobian(at(depth)))[1][-1] < 1e-6
assert np.isclose(depth, 0.0156, atol=1e-4)
