"""Hang 100 g on the instrument carriage and estimate the mass online from the motor efforts."""

import numpy as np

import trocar as tr
from trocar.control import JointPID, sinusoid
from trocar.control.observers import MomentumObserver, PayloadObserver, PointMass

sim = tr.Simulator("PSM", timestep=1 / 1500)
psm = sim.mechanism
motion = sinusoid([0.1, 0, 0.12, 0, 0, 0, 0.5], [0.5, 0.4, 0.05, 0, 0, 0, 0], [0.4, 0.5, 0.6, 1, 1, 1, 1])
sim.reset(motion(0.0).q, motion(0.0).dq)
sim.apply_wrench([0, 0, -9.81 * 0.1, 0, 0, 0], body="insertion")  # weight only, without its inertia
recording = tr.simulate(sim, JointPID(sim.arm), motion, 3.0, every=6)

place = PointMass(psm, "insertion", (0.0, 0.0, 0.0))
observer = MomentumObserver(psm, bandwidth=20.0)
payload = PayloadObserver(place, np.diag([0.03, 0.05, 0.14]) ** 2, bandwidth=20.0)
observer.reset(recording.q[0], recording.dq[0])
for k in range(len(recording) - 1):
    dt = recording.t[k + 1] - recording.t[k]
    r = observer.update(recording.q[k + 1], recording.dq[k + 1], recording.tau[k], dt)
    mass = payload.update(r, recording.q[k], recording.dq[k], np.zeros(7), dt)  # weight only: no acceleration
    if k % 100 == 99:
        print(f"{recording.t[k]:.2f} s  {1e3 * mass:6.1f} g ± {1e3 * payload.deviation:.1f} g")
