"""Grip force over jaw effort: close the jaws on each other with increasing effort and read the contact force."""

import mujoco
import numpy as np
from matplotlib.figure import Figure

import trocar as tr
from trocar.plots import save, style

mech = tr.load_mechanism("PSM")
q = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.05])
hold = mech.inverse_dynamics(q, 0 * q, 0 * q, friction=True)
efforts = np.linspace(0.02, 0.16, 8)  # [N m]; 0.16 is the instrument's limit
forces = []
for effort in efforts:
    sim = tr.Simulator("PSM")
    sim.reset(q)
    for _ in range(600):
        sim.step(hold - [0, 0, 0, 0, 0, 0, effort + 1e-3 * sim.dq[6]])
    wrench = np.zeros(6)
    mujoco.mj_contactForce(sim.model, sim.data, 0, wrench)
    forces.append(wrench[0])
    print(f"jaw effort {effort:.3f} N m -> {wrench[0]:5.2f} N between the jaws")
arm = 0.95 * 0.0102  # jaw axis to the point of contact [m]
with style():
    figure = Figure(figsize=(5, 3.4))
    axes = figure.subplots()
    axes.plot(efforts, forces, "o", label="simulated contact")
    axes.plot(efforts, efforts / arm, label="effort / lever arm, no friction")
    axes.set(xlabel="jaw effort [N m]", ylabel="grip force [N]", xlim=(0, None), ylim=(0, None))
    axes.legend()
print("wrote", save(figure, "grip_force.png"))
