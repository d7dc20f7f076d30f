"""Observers: estimates of external efforts, payload, tip force, collisions and faults from recorded motion and effort.

`MomentumObserver`, `external_effort` and, for a robot that is running, `EffortStream` give joint efforts that the model
does not explain; `tip_forces`, `wrist_force`, `estimate_payload`, `CollisionDetector`, `ContactDetector` and
`FaultIsolation` interpret them. `score` compares tip forces with a sensor.
"""

from trocar.control.observers.detection import CollisionDetector, ContactDetector, ResidualStatistics
from trocar.control.observers.force_intervals import FreeResiduals, TipForces, tip_forces
from trocar.control.observers.isolation import Diagnosis, FaultIsolation
from trocar.control.observers.loads import (
    PayloadEstimate,
    PayloadObserver,
    PointMass,
    TipForce,
    estimate_payload,
    force_per_effort,
    tip_wrench,
    wrist_force,
)
from trocar.control.observers.momentum import Effort, EffortStream, MomentumObserver, external_effort, sudden_effort
from trocar.control.observers.sensor_score import SensorScore, score

__all__ = [
    "CollisionDetector", "ContactDetector", "Diagnosis", "Effort", "EffortStream", "FaultIsolation", "FreeResiduals",
    "MomentumObserver", "PayloadEstimate", "PayloadObserver", "PointMass", "ResidualStatistics", "SensorScore",
    "TipForce", "TipForces", "estimate_payload", "external_effort", "force_per_effort", "score", "sudden_effort",
    "tip_forces", "tip_wrench", "wrist_force",
]  # fmt: skip
