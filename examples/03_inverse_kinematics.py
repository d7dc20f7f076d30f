"""Inverse kinematics: all branches, a singularity, a pose out of reach, and ten thousand poses at once."""

import time
import warnings

import numpy as np

import trocar as tr

np.set_printoptions(precision=3, suppress=True)
psm = tr.load_mechanism("PSM")

# Roll has a range of 520 degrees: a pose may have two solutions a full turn apart.
q = np.array([0.3, -0.2, 0.15, 2.5, 0.4, -0.6, 0.0])
print("all solutions of one pose:")
for solution in psm.inverse_kinematics_all(psm.forward_kinematics(q)):
    print("  ", solution)

# With the wrist at the remote centre the direction of the shaft is not determined: a solution comes with a warning.
q_singular = np.array([0.1, 0.2, 0.0156, 0.0, 0.3, 0.1, 0.0])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    psm.inverse_kinematics(psm.forward_kinematics(q_singular), q_seed=q_singular)
print(f"\n{caught[0].category.__name__}: {caught[0].message}")

# A pose out of reach raises an error with the reason.
T = psm.forward_kinematics(psm.arm.home)
T[2, 3] = -0.4
try:
    psm.inverse_kinematics(T)
except tr.Unreachable as error:
    print(f"\n{error}")

# Batches: a spiral of 10,000 tip poses, solved in closed form.
t = np.linspace(0.0, 1.0, 10_000)[:, None]
angle = 20.0 * np.pi * t
path = np.hstack([0.03 * t * np.cos(angle), 0.03 * t * np.sin(angle), -0.10 - 0.05 * t])
poses = np.tile(psm.forward_kinematics(psm.arm.home), (len(path), 1, 1))
poses[:, :3, 3] = path
start = time.perf_counter()
joints = psm.inverse_kinematics(poses, q_seed=psm.arm.home)
elapsed = time.perf_counter() - start
error = np.abs(psm.forward_kinematics(joints) - poses).max()
print(f"\n{len(path)} poses in {1e3 * elapsed:.0f} ms, largest error {error:.0e}")
print(f"joints used: from {joints.min(axis=0)}\n             to   {joints.max(axis=0)}")
