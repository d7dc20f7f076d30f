"""Observers: estimates of external efforts, payload, tip force, collisions and faults from recorded motion and effort.

`MomentumObserver`, `external_effort` and, for a robot that is running, `EffortStream` give joint efforts that the model
does not explain; `TipForce`, `wrist_force`, `estimate_payload`, `CollisionDetector`, `ContactDetector` and
`FaultIsolation` interpret them.
"""

from trocar.control.observers.detection import CollisionDetector, ContactDetector, ResidualStatistics
from trocar.control.observers.isolation import Diagnosis, FaultIsolation
from trocar.control.observers.loads import (
    PayloadEstimate,
    PayloadObserver,
    PointMass,
    TipForce,
    estimate_payload,
    tip_wrench,
    wrist_force,
)
from trocar.control.observers.momentum import Effort, EffortStream, MomentumObserver, external_effort, sudden_effort

__all__ = [
    "CollisionDetector", "ContactDetector", "Diagnosis", "Effort", "EffortStream", "FaultIsolation", "MomentumObserver",
    "PayloadEstimate", "PayloadObserver", "PointMass", "ResidualStatistics", "TipForce", "estimate_payload",
    "external_effort", "sudden_effort", "tip_wrench", "wrist_force",
]  # fmt: skip
