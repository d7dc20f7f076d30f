# %% [markdown]
# # 4. Gravity and the counterweight
#
# The instrument carriage is heavy. A counterweight moves against it, so that the motors need not hold it.
# %%
import numpy as np

import trocar as tr

with_weight = tr.load_mechanism("PSM", parameters="wang2019", counterweight=True)
without = tr.load_mechanism("PSM", parameters="wang2019", counterweight=False)
pitches = np.linspace(-0.7, 0.7, 15)
# %% [markdown]
# **Task.** For every pitch angle, with all other joints at 0 and an insertion of 0.12 m, compute the effort of
# the insertion joint that holds the arm, with (`held`) and without (`bare`) counterweight [N].
# %% solution
q = np.zeros((len(pitches), 7))
q[:, 1], q[:, 2] = pitches, 0.12
held, bare = with_weight.gravity(q)[:, 2], without.gravity(q)[:, 2]
print(f"largest effort: {np.abs(held).max():.2f} N with, {np.abs(bare).max():.2f} N without counterweight")
# %% check
assert held.shape == bare.shape == (15,)
assert np.abs(held).max() < 0.5 * np.abs(bare).max()
