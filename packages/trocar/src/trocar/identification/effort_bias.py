"""Bias of the measured effort, from the effort that the controller commanded.

A constant effort in a recording is a bias of the current sensors (`Fo`) or a force such as weight (`K0`), and the
motion alone hardly separates the two. The commanded effort does: sensors add their bias to it, weight does not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.identification.design import Design
from trocar.mechanics import Mechanism
from trocar.recording import Recording
from trocar.spatial import Array

BIAS, FORCE = "Fo", "K0"  # terms of a drive
KNOWN = 1e3  # weight of a bias that was measured, relative to the squared relative error of all joints together


def measured_bias(recording: Recording) -> Array | None:
    """Mean (n,) of measured minus commanded effort, in the columns of a recording [N m, N]; None without commands."""
    if recording.tau is None or "tau" not in recording.commands:
        return None
    return np.asarray((recording.tau - recording.commands["tau"]).mean(axis=0))


def with_known_bias(problem: Design, mechanism: Mechanism, T: Array, bias: Array) -> Design:
    """The problem with the measured bias of the columns (n,) as the prior of the biases of its drives.

    Drives that also have a constant force keep the measured bias, so that the rest of the constant is that force. The
    bias of other drives may still differ from it, because nothing else in them explains a constant.
    """
    parameters = mechanism.parameters
    assert parameters is not None
    biased = [k for k, drive in enumerate(parameters.drives) if BIAS in drive.terms]
    values, *_ = np.linalg.lstsq(mechanism.drives.A[biased].T, bias @ np.linalg.inv(T), rcond=None)
    prior, penalty = problem.theta_prior.copy(), problem.penalty.copy()
    for drive, value in zip((parameters.drives[k] for k in biased), values, strict=True):
        name = f"{drive.name}.{BIAS}"
        i, k = problem.names.index(name), problem.terms.index(name)
        prior[k] = value / problem.M[i, k]
        if FORCE in drive.terms:
            penalty[k] = KNOWN
    return replace(problem, theta_prior=prior, penalty=penalty)
