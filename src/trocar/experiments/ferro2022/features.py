"""Table I of Ferro et al. 2022 for this engine, each entry tested, and the time of a model query."""

from __future__ import annotations

from time import perf_counter

import mujoco
import numpy as np

from trocar.experiments.ferro2022.logs import ARM, TABLE
from trocar.experiments.ferro2022.runs import START
from trocar.mechanics import Mechanism
from trocar.report import Claim
from trocar.simulation import Simulator


def claims(equations: Mechanism) -> list[Claim]:
    """The row of Table I for this engine, each entry tested, and the time of a model query."""
    sim, friction = (Simulator("PSM", friction=on, contacts=False) for on in (False, True))
    bare = Simulator("PSM", friction=False, contacts=False, counterweight=False)
    mechanism = sim.mechanism
    tau = np.array([0.5, -0.4, 1.0, 0, 0, 0, 0])
    rates = []
    for one in (sim, bare, friction):
        one.reset(START, np.array([0.3, 0.2, 0.05, 0, 0, 0, 0]))
        one.step(tau)
        rates.append(one.ddq[ARM])
    expected = mechanism.forward_dynamics(START, [0.3, 0.2, 0.05, 0, 0, 0, 0], tau)[ARM]
    loops = int((sim.model.eq_type == mujoco.mjtEq.mjEQ_CONNECT).sum())
    lift = mechanism.pose(START + [0, 0, 0.01, 0, 0, 0, 0], "counterweight") - mechanism.pose(START, "counterweight")
    has = (
        np.allclose(rates[0], expected, atol=1e-2),
        loops == 2 and sim.loop_error() < 1e-6,
        lift[2, 3] > 0.009 and abs(rates[1][2] - rates[0][2]) > 1.0,
        "Wang" in sim.parameters.source,
        np.abs(rates[2] - rates[0]).min() > 1e-3,
    )
    return [
        TABLE.claim("time of a query", query_time(equations)),
        *TABLE.claims("table I/{row}", [float(bool(x)) for x in has], parameters=sim.parameters.name),
    ]


def query_time(mechanism: Mechanism) -> float:
    """Median time of M, c and g together [s]."""
    times = []
    for _ in range(200):
        start = perf_counter()
        mechanism.terms(START, np.ones(7))
        times.append(perf_counter() - start)
    return float(np.median(times))
