"""A custom sweep study with contact: the force on a plate when the instrument is pushed against joint friction.

Run it directly, or with `trocar sweep 36_sweep.py -o results -n 200 --report`, on one machine or on a Ray cluster.
"""

from functools import cache

import numpy as np

import trocar as tr
from trocar.simulation import Box, Solid

ROWS = 100  # default number of rows


def table(rows, seed):
    """Columns of parameters: push onto the plate and along it [N]."""
    rng = np.random.default_rng(seed)
    return {"push": rng.uniform(1.0, 5.0, rows), "sideways": rng.uniform(0.0, 2.0, rows)}


@cache
def bench():
    """Mechanism, start position and simulator, created once per process."""
    psm, q = tr.load_mechanism("PSM"), np.array([-0.1, 0.05, 0.12, 0.0, 0.0, 0.0, 0.0])
    end = psm.forward_kinematics(q)[:3, 3] - [0.0, 0.0, psm.arm.jaw_length + 2e-4]
    plate = Solid("plate", Box(end + [0.01, 0, -0.005], (0.06, 0.04, 0.01)), friction=0.3)
    return psm, q, tr.Simulator("PSM", objects=[plate])


def run(push, sideways):
    """Results of one row; an exception is stored as the error of that row."""
    psm, q, sim = bench()
    sim.reset(q)
    for _ in range(300):
        tau = psm.gravity(sim.q) - [30, 30, 100, 0.02, 0.02, 0.02, 0.02] * sim.dq - [0, 0, 0, 1, 1, 1, 1] * (sim.q - q)
        tau[:6] += psm.jacobian(sim.q).T @ [sideways, 0.0, -push, 0.0, 0.0, 0.0]
        sim.step(tau)
    return {"force": sim.contact_wrench()[2], "slid": np.linalg.norm(sim.q[:2] - q[:2])}


if __name__ == "__main__":
    results = tr.sweep.run(__file__, None, "pushes", rows=8, executor="processes", workers=1)
    print(results)
    for push, force in zip(results["push"], results["force"], strict=True):
        print(f"push {push:.2f} N, force on the plate {force:.2f} N")
