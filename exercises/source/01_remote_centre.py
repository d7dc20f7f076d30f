# %% [markdown]
# # 1. The remote centre of motion
#
# A PSM turns about a fixed point, the trocar, where its instrument enters the patient. The base frame of trocar's
# PSM has its origin there. In this exercise you verify it from the forward kinematics.
# %%
import numpy as np

import trocar as tr

psm = tr.load_mechanism("PSM")
q = np.array([0.3, -0.2, 0.12, 0.0, 0.0, 0.0, 0.0])  # yaw, pitch, insertion [m], roll, wrist pitch, yaw, jaw
# %% [markdown]
# **Task.** With a straight wrist, the tip moves along the shaft when only the insertion changes. Compute two tip
# positions `p1` and `p2` at insertions of 0.12 m and 0.20 m, and `distance`, the distance [m] of the line through
# them from the origin.
# %% solution
deeper = q.copy()
deeper[2] = 0.20
p1, p2 = psm.forward_kinematics(q)[:3, 3], psm.forward_kinematics(deeper)[:3, 3]
along = (p2 - p1) / np.linalg.norm(p2 - p1)
distance = np.linalg.norm(np.cross(along, p1))
print(f"the shaft passes the origin at {1e6 * distance:.3f} micrometres")
# %% check
assert np.isclose(np.linalg.norm(p2 - p1), 0.08)
assert distance < 1e-9
