"""Kinematics of a PSM: pose of the tip, its velocity from joint rates, and joints for a new pose."""

import numpy as np

import trocar as tr

np.set_printoptions(precision=4, suppress=True)

psm = tr.load_mechanism("PSM")
q = np.array([0.2, -0.1, 0.15, 0.5, 0.3, -0.4, 0.6])  # yaw, pitch, insertion, roll, wrist pitch, wrist yaw, jaw
print("joints:", ", ".join(psm.arm.joint_names))

T = psm.forward_kinematics(q)  # pose of the tip in the frame of the remote centre
print(f"tip [mm]: {1e3 * T[:3, 3]}")

J = psm.jacobian(q)  # (6, 6): tip velocity, then angular velocity; the jaw does not move the tip
dq = np.array([0.1, 0.0, 0.02, 0.0, 0.0, 0.0])  # yaw slowly while inserting [rad/s, m/s]
print(f"tip velocity [mm/s]: {1e3 * (J @ dq)[:3]}, angular velocity [rad/s]: {(J @ dq)[3:]}")

T[:3, 3] += [0.01, 0.0, 0.0]  # 10 mm along the base's x axis, same orientation
q_moved = psm.inverse_kinematics(T, q_seed=q)
print(f"joints 10 mm to the side: {q_moved}")

error = np.abs(psm.forward_kinematics(q_moved) - T).max()
print(f"forward kinematics of these joints agrees to {error:.0e}")
