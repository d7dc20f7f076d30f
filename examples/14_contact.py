"""Contact: forces compared with joint efforts, and 1 N held while sliding over a rigid and a soft surface."""

import numpy as np
from matplotlib.figure import Figure

import trocar as tr
from trocar.control import HybridForcePosition
from trocar.control.trajectories import line
from trocar.plots import save, style
from trocar.simulation import Box, ForceSensor, SoftSlab, Solid
from trocar.spatial import pose

np.set_printoptions(precision=3, suppress=True)
psm = tr.load_mechanism("PSM")
q = np.array([-0.1, 0.05, 0.12, 0.0, 0.0, 0.0, 0.0])
T = psm.forward_kinematics(q)
end = T[:3, 3] - [0.0, 0.0, psm.arm.jaw_length + 2e-4]  # a surface 0.2 mm below the closed jaws

# Press on a plate until at rest: the engine's contact force equals the force implied by joint efforts and model.
plate = Solid("plate", Box(end + [0.01, 0, -0.005], (0.06, 0.04, 0.01)), friction=0.3)
for friction in (False, True):
    sim = tr.Simulator("PSM", friction=friction, objects=[plate])
    sim.reset(q)
    for _ in range(1000):
        tau = psm.gravity(sim.q) - [30, 30, 100, 0.02, 0.02, 0.02, 0.02] * sim.dq
        tau[:6] += psm.jacobian(sim.q).T @ [0.0, 0.0, -3.0, 0.0, 0.0, 0.0]
        sim.step(tau - [0, 0, 0, 1, 1, 1, 1] * (sim.q - q))
    J, w = psm.jacobian(sim.q), sim.contact_wrench()
    external = psm.gravity(sim.q) - sim.tau
    implied = np.linalg.solve(J.T, (external + sim.friction_effort())[:6])
    print(f"joint friction {friction}: contact {w[:3]} N, from joint efforts {implied[:3]} N")
    if friction:
        print("    without knowing the friction:", np.linalg.solve(J.T, external[:6])[:3], "N")

# Slide 20 mm in 2.5 s with 1 N and joint friction, with the same gains on both surfaces.
slab = SoftSlab("slab", (0.036, 0.012, 0.012), pose(p=end + [0.01, 0, -0.006]), young=2e5, spacing=6e-3)
with style():
    figure = Figure(figsize=(6, 3.4))
    axes = figure.subplots()
    for thing in (plate, slab):
        sim = tr.Simulator("PSM", accuracy="discrete", objects=[thing])
        sim.reset(q)
        sensor, force = ForceSensor(sim), []

        def measure(sim=sim, sensor=sensor, force=force):
            force.append(sim.contact_wrench()[2])
            return sensor()

        law = HybridForcePosition(psm, [False, False, True], [0, 0, -1.0], measure, friction=True)
        rec = tr.simulate(sim, law, line(T, T[:3, 3] + [0.02, 0, 0], 2.5, t0=0.5), 3.0)
        error = np.array(force)[rec.t >= 0.5] - 1.0
        print(f"{thing.name}: force error {np.sqrt(np.mean(error**2)):.3f} N RMS, {np.abs(error).max():.3f} N at most")
        axes.plot(rec.t, force, lw=0.8, label=thing.name)
    axes.set(xlabel="t [s], sliding from 0.5 s", ylabel="normal force [N]", ylim=(0, 1.6))
    axes.legend()
print("wrote", save(figure, "contact_force.png"))
