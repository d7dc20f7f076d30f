"""White noise of an arm's sensors, as large as in the recordings of Wang et al. 2019."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trocar.recording import Recording

# From second differences of 'one': velocity and effort.
NOISE_DQ = (0.010, 0.010, 0.0021, 0.0, 0.0, 0.0, 0.0)  # [rad/s, m/s]
NOISE_TAU = (0.0085, 0.0077, 0.044, 0.0, 0.0, 0.0, 0.0)  # [N m, N]


def noisy(recording: Recording, rng: np.random.Generator) -> Recording:
    """A recording of a PSM with noise of velocity and effort."""
    assert recording.tau is not None
    shape = recording.dq.shape
    return replace(
        recording,
        dq=recording.dq + rng.normal(size=shape) * NOISE_DQ,
        tau=recording.tau + rng.normal(size=shape) * NOISE_TAU,
    )
