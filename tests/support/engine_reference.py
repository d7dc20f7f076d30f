"""References for an engine: free motion from the equations alone, integrated to 1e-11, and the efforts of its tree."""

import mujoco
import numpy as np
from scipy.integrate import solve_ivp

import trocar as tr

# Springs [N m/rad, N/m] about a rest position make the free motion lively and bounded; the wrist has none.
SPRING = np.array([3.2, 3.2, 120.0, 0, 0, 0, 0])
REST = np.array([0.0, 0.0, 0.12, 0, 0, 0, 0])
START = np.array([0.6, -0.5, 0.05, 0, 0, 0, 0])
RATES = np.array([2.0, 1.5, 0.6, 0, 0, 0, 0])
BODY_OF_SPRING = {"yaw": 0, "back": 1, "insertion": 2}


def equations(duration, every, wrench=None):
    """Joint positions (k, 7) at multiples of `every` [s], with a wrench (6,) at the tip."""
    mech, push = tr.load_mechanism("PSM"), np.zeros(7)

    def rate(_, x):
        q, dq = x[:7], x[7:]
        if wrench is not None:
            push[:6] = mech.jacobian(q).T @ wrench
        return np.concatenate([dq, mech.forward_dynamics(q, dq, push - SPRING * (q - REST))])

    t = every * np.arange(1, round(duration / every) + 1)
    x0 = np.concatenate([START, RATES])
    return solve_ivp(rate, (0, duration), x0, method="DOP853", rtol=1e-11, atol=1e-12, t_eval=t).y[:7].T


def add_springs(sim):
    """The same springs on the joints of the engine's model."""
    for body, j in BODY_OF_SPRING.items():
        joint = sim.model.joint(body)
        sim.model.jnt_stiffness[joint.id] = SPRING[j]
        sim.model.qpos_spring[joint.qposadr[0]] = REST[j]


def energy(mech, sim):
    springs = 0.5 * SPRING @ (sim.q - REST) ** 2
    return float(mech.kinetic_energy(sim.q, sim.dq) + mech.potential_energy(sim.q) + springs)


def tree_effort(sim, q, dq, ddq):
    """Efforts (n,) of the engine's open tree, projected on the independent joints."""
    E, data, M = sim.arm.E, sim.data, np.zeros((sim.model.nv, sim.model.nv))
    data.qpos[:], data.qvel[:], data.ctrl[:] = E @ q, E @ dq, 0.0
    mujoco.mj_forward(sim.model, data)
    mujoco.mj_fullM(sim.model, data, M)
    return E.T @ (M @ (E @ ddq) + data.qfrc_bias - data.qfrc_passive - data.qfrc_applied)
