"""The longest step that friction with memory allows."""

from __future__ import annotations

import numpy as np

from trocar.batch.parameters import BatchParameters
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism

# Largest product of local frequency and time step: an elastic force held over a step is stable up to 2.
RESOLVED = 1.0


def check_resolved(mechanism: Mechanism, parameters: BatchParameters, dt: float) -> None:
    """Reject time steps that are too long for a Dahl element, whose force is held over a step.

    Right after a reversal an element acts as a spring of 2 F / delta. The stiffest arm counts, at the home position.
    """
    F, delta = parameters["dahl_F"], parameters["dahl_delta"]
    if not all(isinstance(x, np.ndarray) for x in (F, delta)) or not F.any():
        return  # traced values are not known
    F, delta = (x.reshape(len(x), -1) for x in (F, delta))  # arms last
    stiffness = (2.0 * F / delta).max(axis=1)
    drives = mechanism.tree.drives
    A = drives.A[drives.dahl_drive]
    M = mechanism.mass_matrix(np.array([mechanism.arm.home]))[0]  # as a batch: without Pinocchio
    squares = np.linalg.eigvals(np.linalg.solve(M, A.T @ (stiffness[:, None] * A))).real
    fastest = float(np.sqrt(squares.max()))
    if fastest * dt > RESOLVED:
        worst = int(np.argmax(stiffness * np.einsum("ki,ki->k", A, np.linalg.solve(M, A.T).T)))
        name = drives.names[int(drives.dahl_drive[worst])]
        raise TrocarError(
            f"friction with memory is too stiff for steps of {dt:.3g} s: it oscillates at {fastest:.4g} rad/s, mostly "
            f"drive '{name}'; use {RESOLVED / fastest:.2g} s or less, or make it Coulomb friction (Fc)"
        )
