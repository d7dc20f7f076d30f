"""A master arm: float it by gravity compensation, move it by hand, and read the torque of its spring and cables."""

import numpy as np

import trocar as tr
from trocar.control import GravityCompensation

sim = tr.Simulator("MTMR")
mech = sim.mechanism
q = np.array([-0.2, 0.3, 0.0, 0.5, 0.5, 0.0, 0.0])
sim.reset(q)

# The motors carry weight, spring and cables; a hand pulls with 0.5 N for one second.
controller = GravityCompensation(mech)
sim.apply_wrench([0.0, -0.5, 0.0, 0, 0, 0])
moved = tr.simulate(sim, controller, None, duration=1.0)
sim.apply_wrench(np.zeros(6))
stopped = tr.simulate(sim, controller, None, duration=1.0)
print("joints moved by the hand:  ", np.array2string(moved.q[-1] - q, precision=3, suppress_small=True))
print("drift in the second after: ", np.array2string(stopped.q[-1] - stopped.q[0], precision=3, suppress_small=True))
print("loop of the parallelogram: ", f"{sim.loop_error():.1e} m")

angles = np.zeros((5, 7))
angles[:, 4] = np.linspace(-1.0, 2.5, 5)
print("spring of the wrist pitch: ", np.array2string(mech.elastics.effort(angles)[:, 4], precision=4), "N m")
