"""Control of the tip: feedback linearisation, kinematic control, regulation, impedance and force control."""

import numpy as np

import trocar as tr
from trocar.control import (
    CartesianFeedbackLinearisation,
    CartesianImpedance,
    CartesianKinematic,
    CartesianRegulation,
    GravityCompensation,
    HybridForcePosition,
    Saturated,
    VelocityServo,
)
from trocar.control.trajectories import circle, line

np.set_printoptions(precision=3, suppress=True)
sim = tr.Simulator("PSM", friction=False)
psm = sim.mechanism
q = np.array([0.2, -0.1, 0.12, 0.3, 0.2, -0.1, 0.3])
T = psm.forward_kinematics(q)

# Start 5 mm off the path: e'' + 60 e' + 800 e = 0 brings the tip onto it (poles at -20 and -40 1/s).
sim.reset(q)
off = T.copy()
off[:3, 3] += [0.005, 0.0, 0.0]
path = circle(off, off[:3, 3] + [0.0, 0.01, 0.0], duration=1.0)
rec = tr.simulate(sim, CartesianFeedbackLinearisation(psm, kp=800.0, kd=60.0), path, path.duration, every=50)
error = np.linalg.norm(rec.commands["tip_position"] - rec.extra["tip"], axis=1)
print("feedback linearisation, error every 50 ms [mm]:", 1e3 * error[:6])
print("                                   as designed:", 5.0 * (2 * np.exp(-20 * rec.t) - np.exp(-40 * rec.t))[:6])

# Kinematic control: joint rates from the pose error, tracked by velocity loops at the joints.
sim.reset(q)
kv = np.array([40.0, 40.0, 150.0, 0.01, 0.01, 0.01, 0.01])  # [N m s/rad, N s/m]
law = CartesianKinematic(psm, kp=15.0, joints=6).servo(VelocityServo(kv) + GravityCompensation(psm))
path = circle(T, T[:3, 3] + [0.01, 0.0, 0.0], duration=2.0)
rec = tr.simulate(sim, law, path, 2.0, every=10)
error = np.linalg.norm(rec.commands["tip_position"] - rec.extra["tip"], axis=1)
print(f"\nkinematic control, largest error on the circle: {1e3 * error.max():.2f} mm")

# Regulation to a goal 20 mm away, with and without effort limits: with limits the tip arrives later.
goal = T[:3, 3] + [0.012, 0.0, -0.016]
for limits in (np.inf, [1.0, 1.0, 3.0, 0.1, 0.1, 0.1, 0.1]):
    sim.reset(q)
    regulation = CartesianRegulation(psm, goal)
    law = regulation if np.isscalar(limits) else Saturated(regulation, limits)
    rec = tr.simulate(sim, law, None, 1.0, diagnostics=True)
    there = np.linalg.norm(rec.extra["tip"] - goal, axis=1) < 1e-3
    late = rec.t[~there].max()
    print(f"within 1 mm after {late:.2f} s, largest effort {np.abs(rec.commands['tau'])[:, :3].max(0)} [N m, N m, N]")

# Impedance: the tip behaves like a spring of 1 N/mm, so 3 N move it by 3 mm.
sim.reset(q)
sim.apply_wrench([3.0, 0, 0, 0, 0, 0])
tr.simulate(sim, CartesianImpedance(psm, stiffness=1000.0, damping=200.0), line(T, goal, 1.0, t0=1e9), 1.0)
print("\nimpedance, 3 N on 1 N/mm, deflection [mm]:", 1e3 * (sim.tip_pose()[:3, 3] - T[:3, 3]))

# Force control: push with 1.5 N on a surface of 2 N/mm while sliding over it.
sim.reset(q)


def surface():
    """Apply the wrench of the surface to the tip in the simulation and return it [N, N m]."""
    wrench = [0, 0, 2000.0 * max(0.0, T[2, 3] - sim.tip_pose()[2, 3]), 0, 0, 0]
    sim.apply_wrench(wrench)
    return wrench


law = HybridForcePosition(psm, [False, False, True], force=[0, 0, -1.5], wrench=surface, kf=0.4)
rec = tr.simulate(sim, law, line(T, T[:3, 3] + [0.02, 0, 0], 0.6, t0=0.4), 1.2)
force = 2000.0 * (T[2, 3] - rec.extra["tip"][:, 2])
print(f"hybrid: force while sliding {force[rec.t > 0.4].min():.3f} to {force[rec.t > 0.4].max():.3f} N")
