# %% [markdown]
# # 2. Inverse kinematics
#
# Given the pose of the tip, find the joints. A PSM has a closed-form solution: the first three joints place the
# wrist, the last three orient the tip.
# %%
import numpy as np

import trocar as tr

psm = tr.load_mechanism("PSM")
q = np.array([0.2, -0.1, 0.15, 0.4, 0.3, -0.2, 0.0])
T = psm.forward_kinematics(q)
# %% [markdown]
# **Task.** A tip without wrist offset would lie on the line through the remote centre, at the distance of the
# insertion. Estimate the insertion `depth` [m] as the distance of the tip from the origin, and compute `wrong`,
# the error of this estimate against the exact solution of `psm.inverse_kinematics`. The depth counts from the
# cannula, so compare changes: how much does the error change between `q` and the same joints at an insertion 0.05
# m deeper?
# %% solution
deeper = q.copy()
deeper[2] += 0.05


def offset(joints):
    pose = psm.forward_kinematics(joints)
    return np.linalg.norm(pose[:3, 3]) - psm.inverse_kinematics(pose, q_seed=joints)[2]


wrong = offset(deeper) - offset(q)
print(f"the estimate is off by {1e3 * offset(q):.2f} mm, which changes by {1e3 * wrong:.3f} mm over 50 mm")
# %% check
assert np.allclose(psm.inverse_kinematics(T, q_seed=q)[:6], q[:6], atol=1e-9)
assert 0 < abs(wrong) < 1e-3  # the bent wrist leaves the line
