"""Simulate a PSM: track a sinusoid, push the tip, and read the forces in the mechanism."""

import numpy as np

import trocar as tr
from trocar.control import ComputedTorque
from trocar.control.trajectories import sinusoid

sim = tr.Simulator("PSM")  # identified parameters, closed chain, friction, 1 ms
mech = sim.mechanism  # the same arm as equations

# Track a sinusoid by computed torque, recording every step.
centre = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.3])
amplitude = np.array([0.4, 0.3, 0.04, 0.5, 0.3, 0.3, 0.2])
reference = sinusoid(centre, amplitude, 0.5)
start = reference(0.0)
sim.reset(start.q, start.dq)
controller = ComputedTorque(mech, kp=400.0, kd=40.0, friction=True)
recording = tr.simulate(sim, controller, reference, duration=2.0, diagnostics=True)
error = np.abs(recording.commands["q"] - recording.q).max(0)
print("largest tracking error:", np.array2string(error, precision=5))
print(f"largest RCM error:      {1e3 * recording.extra['rcm_error'].max():.1e} mm")
print("recording:              ", recording.save("trocar-sim/sinusoid.npz"))

# Push the tip sideways with 2 N while joint efforts balance the push; read the wrench in the insertion guide.
q = np.array([0.2, -0.1, 0.15, 0.0, 0.2, 0.1, 0.3])
sim = tr.Simulator("PSM", friction=False)
sim.reset(q)
wrench = np.array([2.0, 0, 0, 0, 0, 0])
sim.apply_wrench(wrench)
tau = mech.gravity(q)
tau[:6] -= mech.jacobian(q).T @ wrench
for _ in range(500):
    sim.step(tau)
print("moved under 2 N:        ", np.array2string(np.abs(sim.q - q).max(), precision=2), "rad")
print("wrench in the guide:    ", np.array2string(sim.cannula_wrench(), precision=3), "N, N m about the RCM")
