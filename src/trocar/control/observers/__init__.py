"""Observers: estimates of external efforts, payload, tip force, collisions and faults from recorded motion and effort.

`MomentumObserver`, `external_effort` and, for a robot that is running, `EffortStream` give joint efforts that the model
does not explain; `TipForce`, `wrist_force`, `estimate_payload`, `CollisionDetector`, `ContactDetector` and
`FaultIsolation` interpret them.
"""

from trocar.control.observers.collision import CollisionDetector, ResidualStatistics
from trocar.control.observers.contact import ContactDetector
from trocar.control.observers.effort_stream import Effort, EffortStream
from trocar.control.observers.isolation import Diagnosis, FaultIsolation
from trocar.control.observers.momentum import MomentumObserver, external_effort, sudden_effort
from trocar.control.observers.payload import PayloadEstimate, PayloadObserver, PointMass, estimate_payload
from trocar.control.observers.tip_force import TipForce, tip_wrench, wrist_force

__all__ = [
    "CollisionDetector",
    "ContactDetector",
    "Diagnosis",
    "Effort",
    "EffortStream",
    "FaultIsolation",
    "MomentumObserver",
    "PayloadEstimate",
    "PayloadObserver",
    "PointMass",
    "ResidualStatistics",
    "TipForce",
    "estimate_payload",
    "external_effort",
    "sudden_effort",
    "tip_wrench",
    "wrist_force",
]
