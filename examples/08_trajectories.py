"""Trajectories: a motion in minimum time, a spiral of the tip, checks of both, and a simulation of the spiral."""

import numpy as np

import trocar as tr
from trocar.control import ComputedTorque
from trocar.control.trajectories import LeavesReach, check_path, line, spiral, through, time_optimal

np.set_printoptions(precision=3, suppress=True)
psm = tr.load_mechanism("PSM")
home = np.array(psm.arm.home)

# From joint to joint, as fast as the published velocities and accelerations allow.
q1 = np.array([0.8, -0.4, 0.16, 1.0, 0.3, -0.2, 0.0])
for jerk in (None, 30.0):
    motion = time_optimal(psm.arm, [home, q1], jerk=jerk)
    print(f"minimum time, jerk limit {jerk}: {motion.duration:.3f} s")

# The tip on a turn of a spiral, 20 mm wide and rising by 20 mm; the joints follow by inverse kinematics.
path = spiral(psm.forward_kinematics(home), radius=0.01, turns=1, rise=0.02, duration=4.0)
follow = through(psm, path, home)
print(f"\nspiral: {check_path(psm, follow)}")
print(f"too fast: {check_path(psm, through(psm, spiral(path(0.0).T, 0.01, 1, 0.02, 0.5), home))}")

# A path out of reach raises an error with the time and the reason.
deep = path(0.0).T[:3, 3] * 2.5
try:
    through(psm, line(path(0.0).T, deep, 2.0), home)
except LeavesReach as error:
    print(f"\n{error}")

# Simulate the closed chain on the spiral under computed torque.
sim = tr.Simulator("PSM", friction=False)
sim.reset(home)
servo = ComputedTorque(psm, kp=900.0, kd=60.0, period=5e-3)
rec = tr.simulate(sim, servo, follow, follow.duration, every=10, diagnostics=True)
off = np.linalg.norm(rec.extra["tip"] - [path(t).T[:3, 3] for t in rec.t], axis=1)
print(f"\nsimulated: the tip is at most {1e6 * off.max():.1f} um from the spiral")
