"""Time of one query of the model: M and c + g at one state, in generated C and from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from time import perf_counter

import numpy as np

from trocar import batch
from trocar.batch.c_export import c_files
from trocar.c_library import library
from trocar.demo.torque_control import START
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism
from trocar.report import Claim
from trocar_reproductions.ferro2022.logs import TABLE

STATES = 1024  # of one timed call in C; each is a query of its own
# The pointers are volatile: otherwise the compiler would compute several states at once, as a batch does.
LOOP = """
void one_by_one(const double *states, double *results) {{
  void (*volatile mass_matrix)(const double *, double *) = {name}_mass_matrix;
  void (*volatile bias)(const double *, double *) = {name}_bias;
  for (int k = 0; k < {states}; k++) {{
    mass_matrix(states + 14 * k, results + 56 * k);
    bias(states + 14 * k, results + 56 * k + 49);
  }}
}}
"""


def query_claim(mechanism: Mechanism) -> Claim:
    """The time of a query, compared with that of the paper."""
    q, dq = np.tile(START[:, None], STATES), np.ones((7, STATES))
    fields = {"python": 1e6 * median_time(lambda: mechanism.terms(START, dq[:, 0]))}
    try:
        arms = batch.load(mechanism, threads=1)
        fields["batch"] = 1e6 * median_time(lambda: (arms.mass_matrix(q), arms.bias(q, dq))) / STATES
        ours: float | str = one_query(arms)
    except TrocarError as error:
        ours, fields = f"not run: {error}", fields | {"batch": np.nan}
    return TABLE.claim("time of a query", ours, states=STATES, **fields)


def one_query(arms: batch.BatchArms) -> float:
    """Time [s] of M and c + g at one state, by the C code of `trocar export --c` called once per state."""
    mechanism = arms.mechanism
    name = mechanism.arm.name.lower()
    files = c_files(arms, 1e-3)
    source = files[f"{name}.c"].replace(f'#include "{name}.h"', files[f"{name}.h"])
    call = library(source + LOOP.format(name=name, states=STATES)).one_by_one
    call.argtypes, call.restype = [ctypes.c_void_p] * 2, None
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (STATES, 14))
    results = np.empty((STATES, 56))
    seconds = median_time(lambda: call(states.ctypes.data, results.ctypes.data)) / STATES
    q, dq = states[:, :7], states[:, 7:]
    M, bias = mechanism.mass_matrix(q), mechanism.coriolis(q, dq) + mechanism.gravity(q)
    if not np.allclose(results, np.hstack([M.reshape(STATES, 49), bias]), atol=1e-9):
        raise TrocarError("the generated C and the equations disagree")
    return seconds


def median_time(call: Callable[[], object]) -> float:
    """Median time of 200 calls [s]."""
    times = []
    for _ in range(200):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return float(np.median(times))
