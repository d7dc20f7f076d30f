"""The camera arm: holding efforts for different endoscopes, a step under the dVRK's PID, and the brakes."""

import numpy as np

import trocar as tr
from trocar.arms.loads import endoscope_masses
from trocar.control import JointPID, step_to

np.set_printoptions(precision=3, suppress=True)
q = np.array([0.3, 0.4, 0.12, 0.0])  # yaw, pitch [rad], insertion [m], roll [rad]

print("effort that holds the arm at", q, "[N m, N m, N, N m]")
for name, mass in endoscope_masses("ECM").items():
    print(f"  {name:>6} endoscope, {mass} kg:", tr.load_mechanism("ECM", endoscope=name).gravity(q))

# The published gains have no integral term and no gravity compensation: the weight leaves an error.
sim = tr.Simulator("ECM", timestep=1 / 1500, endoscope="HD", motor_limits=True)
sim.reset(q)
goal = q + [0.1, -0.1, 0.02, 0.2]
recording = tr.simulate(sim, JointPID(sim.arm, delay=1), step_to(q, goal, 0.05), duration=1.5)
print("after a step, remaining error:", goal - recording.q[-1], "largest effort:", np.abs(recording.tau).max(0))

# Motors off, 10 N at the tip: first held by the brakes, then falling.
sim.apply_wrench([6.0, -6.0, np.sqrt(28.0), 0, 0, 0])
for engaged in (True, False):
    before = sim.q
    sim.brakes = engaged
    for _ in range(300):
        sim.step(np.zeros(4))
    print("brakes on, moved by" if engaged else "brakes off, moved by", sim.q - before)
print(f"remote centre off by {1e6 * sim.rcm_error():.2g} um")
