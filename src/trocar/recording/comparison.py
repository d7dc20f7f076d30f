"""Comparison of two recordings of the same arm."""

from __future__ import annotations

import numpy as np

from trocar.errors import TrocarError
from trocar.recording.recording import Recording
from trocar.spatial import Array

CHANNELS = ("q", "dq", "tau")


def differences(a: Recording, b: Recording) -> tuple[Array, dict[str, Array]]:
    """Times (M,) from the first row [s], and b - a (M, n) of every channel (q, dq, tau) that both have.

    The rows are those of a within the duration of b; b is interpolated. Both recordings begin at time 0.
    """
    if a.space != b.space or a.joints != b.joints:
        raise TrocarError(
            f"nothing to compare: one recording has {a.space} {', '.join(a.joints)}, the other {b.space} "
            f"{', '.join(b.joints)}"
        )
    t, there = a.t - a.t[0], b.t - b.t[0]
    rows = t <= there[-1]
    changes = {}
    for channel in CHANNELS:
        x, y = getattr(a, channel), getattr(b, channel)
        if x is not None and y is not None:
            changes[channel] = np.stack([np.interp(t[rows], there, column) for column in y.T], axis=1) - x[rows]
    return t[rows], changes
