"""A port away from the remote centre: joint efforts caused by the abdominal wall and the seal."""

import numpy as np
from matplotlib.figure import Figure

import trocar as tr
from trocar.plots import save, style
from trocar.simulation import Port

np.set_printoptions(precision=4, suppress=True)
psm = tr.load_mechanism("PSM")
q = np.array([0.5, -0.3, 0.12, 0.0, 0.0, 0.0, 0.0])


def held(sim):
    """Effort (7,) of a stiff servo that holds the arm at q, beyond its weight, once at rest [N m, N]."""
    sim.reset(q)
    for _ in range(1500):
        servo = [400, 400, 4000, 0.05, 0.05, 0.05, 0.05] * (q - sim.q) - [40, 40, 100, 2e-3, 2e-3, 2e-3, 2e-3] * sim.dq
        sim.step(psm.gravity(sim.q) + servo)
    return sim.tau - psm.gravity(sim.q)


# The cannula pivots about the remote centre; a wall with its hole elsewhere is pulled along.
depths = np.linspace(-0.03, 0.03, 7)
efforts, formula = [], []
for depth in depths:
    port = Port(offset=(0, 0, depth), stiffness=1000.0, friction=0.0, viscous=0.0)
    sim = tr.Simulator("PSM", friction=False, port=port)
    efforts.append(held(sim)[:2])
    # closed form: the wall's force F at the point of the axis nearest the hole, x; dx/dq turns the axis about the RCM
    axis = psm.pose(sim.q, "insertion")[:3, 2]
    x = axis * axis[2] * depth
    F = 1000.0 * (np.array([0, 0, depth]) - x)
    moment = np.cross(x, F)
    twist = psm.jacobian(sim.q)[3:, :2]  # axes of yaw and pitch
    formula.append(-twist.T @ moment)
    print(f"port {1e3 * depth:+5.0f} mm off: wall {np.linalg.norm(F):5.2f} N, effort to hold {efforts[-1]} N m")
efforts, formula = np.array(efforts), np.array(formula)
print(f"largest difference from the closed form: {np.abs(efforts - formula).max():.1e} N m")

# The seal: Coulomb friction along the shaft and, at its radius, about it.
sim = tr.Simulator("PSM", friction=False, port=Port(friction=2.0, viscous=5.0))
sim.reset(q)
for _ in range(600):
    sim.step(psm.gravity(sim.q) + [0, 0, 200 * (0.02 - sim.dq[2]), 0.02 * (1.0 - sim.dq[3]), 0, 0, 0])
force, torque = sim.seal_friction()
print(f"sliding in at {1e3 * sim.dq[2]:.1f} mm/s, turning at {sim.dq[3]:.2f} rad/s:", end=" ")
print(f"seal {force:.3f} N, {1e3 * torque:.2f} N mm")

with style():
    figure = Figure(figsize=(5, 3.4))
    axes = figure.subplots()
    for j, name in enumerate(("yaw", "pitch")):
        axes.plot(1e3 * depths, formula[:, j], color=f"C{j}", label=f"{name}, closed form")
        axes.plot(1e3 * depths, efforts[:, j], "o", color=f"C{j}", label=f"{name}, simulated")
    axes.set(xlabel="port above the remote centre [mm]", ylabel="effort to hold [N m]")
    axes.legend()
print("wrote", save(figure, "trocar_port.png"))
