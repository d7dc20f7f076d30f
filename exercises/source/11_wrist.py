# %% [markdown]
# # 11. Why the camera does not agree with the encoders
#
# The encoders of a PSM are on its motors; cables drive the wrist. The cables stretch and the joints stick, so that a
# camera sees the wrist elsewhere than the encoders report it. `CableWrist.rest` gives the joints at rest along a motion
# of the motors (roll, wrist pitch, wrist yaw).
# %%
import numpy as np

from trocar.arms.wrist_cables import load_wrist
from trocar.mechanics import CableWrist

wrist = CableWrist(load_wrist("hwang2020"))
up = np.linspace(-0.6, 0.6, 61)
yaw = np.concatenate([up, up[::-1], up])  # the motor of wrist yaw: up, down, up [rad]
motors = np.column_stack([np.zeros_like(yaw), np.zeros_like(yaw), yaw])
goal = np.array([0.0, 0.0, 0.3])
# %% [markdown]
# **Task.** The motor of wrist yaw passes 0 on its way down and on its way up. Find `width`, the difference of the true
# wrist yaw between the two [rad], and `moved`, that of the wrist pitch, whose motor stands still. Then find `command`
# (3,), the motor position whose rest position is `goal` after this motion (`CableWrist.compensated`).
# %% solution
state = wrist.rest(motors)
down, again = 61 + 30, 122 + 30  # rows at which the motor is at 0
width, moved = (state.q[down] - state.q[again])[[2, 1]]
last = type(state)(*(part[-1] for part in state))
command = wrist.compensated(goal[None], last)[0][0]
print(f"wrist yaw: {1e3 * width:.0f} mrad, wrist pitch: {1e3 * moved:.0f} mrad; command: {np.round(command, 3)}")
# %% check
assert 0.15 < width < 0.35
assert moved < -0.03  # the yaw cables run over the pitch axis
assert np.abs(wrist.rest(np.vstack([motors, command])).q[-1] - goal).max() < 1e-9
assert np.abs(wrist.rest(np.vstack([motors, goal])).q[-1] - goal).max() > 0.03
