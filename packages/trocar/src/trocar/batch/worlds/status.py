"""Control modes of motors and bits of a world's status, shared by all backends; errors that name worlds."""

from __future__ import annotations

import numpy as np

from trocar.errors import MAX_LISTED, TrocarError
from trocar.spatial import Array

# Control of a motor: efforts as they are, the dVRK's PID, efforts within the motors' limits, PD of the joints, computed
# torque of the joints with additional efforts.
RAW, SERVO, EXERT, JOINT_PD, COMPUTED_TORQUE = 0, 1, 2, 3, 4
# Bits of parts of an arm that touch an object: left and right finger, others.
BOTH_FINGERS, OTHER_PART = 3, 4
# Bits of a world's status.
DIVERGED, BEYOND_STOP, CONTACTS, CONSTRAINTS, UNSOLVED = 1, 2, 4, 8, 16
FAILURES = DIVERGED | BEYOND_STOP | CONTACTS | CONSTRAINTS
MEANINGS = {
    DIVERGED: ("diverged", "use lower efforts or a smaller timestep"),
    BEYOND_STOP: ("were pushed through a joint stop", "use lower efforts"),
    CONTACTS: ("had more contacts than the batch holds", "use a larger max_contacts"),
    CONSTRAINTS: ("had more constraint rows than the batch holds", "use a larger max_constraints"),
}


class WorldError(TrocarError):
    """Worlds of a batch that cannot be trusted any more.

    Attributes:
        worlds: (k,) their numbers. status: (n,) bits of all worlds, see `trocar.batch.worlds.status`.
    """

    def __init__(self, status: Array) -> None:
        self.status, self.worlds = status, np.flatnonzero(status & FAILURES)
        parts = []
        for bit, (what, remedy) in MEANINGS.items():
            bad = np.flatnonzero(status & bit).tolist()
            if bad:
                listed = ", ".join(map(str, bad[:MAX_LISTED])) + (", ..." if len(bad) > MAX_LISTED else "")
                parts.append(f"{len(bad)} of {len(status)} worlds {what}: {listed}; {remedy}")
        super().__init__(". ".join(parts) + ". Reset them by a mask")
