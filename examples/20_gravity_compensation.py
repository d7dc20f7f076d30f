"""Gravity of a dVRK-Si PSM from static poses: measured from both sides, fitted, checked and used to float the arm."""

import numpy as np

import trocar as tr
from trocar.control import GravityCompensation, JointPID, hold, quintic
from trocar.files import write_whole
from trocar.identification.si.gravity import COEFFICIENTS, coefficients, fit_gravity
from trocar.identification.si.gravity_file import to_json

# The arm to measure: here a simulated one, with the gravity found from the non-drift bounds of Table II.
sim = tr.Simulator("PSM_Si", "zhou2025_measured", timestep=1 / 1500, contacts=False)
PID = JointPID(sim.arm)

# Friction holds the arm within a band of efforts. It cancels in the mean of two approaches from opposite sides.
rng = np.random.default_rng(0)
low, high = sim.arm.lower[:3] + 0.1 * np.ptp([sim.arm.lower[:3], sim.arm.upper[:3]], axis=0), 0.8 * sim.arm.upper[:3]
poses, efforts = rng.uniform(low, high, (8, 3)), []
for pose in poses:
    held = []
    for side in (1, -1):
        start, goal = np.zeros(7), np.zeros(7)
        goal[:3], start[:3] = pose, pose - side * np.array([0.02, 0.02, 0.004])
        sim.reset(start)
        held.append(tr.simulate(sim, PID, quintic(start, goal, 0.5), 0.7, every=1000).tau[-1, :3])
    efforts.append(np.mean(held, axis=0))

fit = fit_gravity(poses, np.array(efforts))
np.set_printoptions(precision=4, suppress=True)
for name, values in (("fitted", fit.coefficients), ("true  ", coefficients(sim.mechanism))):
    print(name, dict(zip(COEFFICIENTS, np.round(values, 4).tolist(), strict=True)), "kg m, kg")
left_out = np.abs(fit.left_out() - fit.tau).max(0)
print(f"RMS residual {fit.rms}, largest error of a held-out pose {left_out} N m, N")
print("for the dVRK:", write_whole("PSM_Si_gravity.json", to_json(fit)))

# Free mode with the published model: the arm stays in place; without compensation it falls.
q = np.array([-0.85, -0.55, 0.20, 0, 0, 0, 0])
for name, effort in (
    ("compensated", GravityCompensation(tr.load_mechanism("PSM_Si"))),
    ("motors off", lambda s, r: np.zeros(7)),
):
    sim.reset(q)
    tr.simulate(sim, effort, hold(q), 1.0, every=100)
    print(f"{name}: moved by", (sim.q - q)[:3], "rad, m in 1 s")
