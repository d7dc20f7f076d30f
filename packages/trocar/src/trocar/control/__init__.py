"""Control: controllers compute an effort from a reference and a state.

Joint space: `JointPID` (the dVRK's own), `JointPD`, `ComputedTorque`, `GravityCompensation`, `VelocityServo`; in the
space of the tip the `Cartesian...` controllers and `HybridForcePosition`. Controllers are summed with `+`. References
are functions of time, such as `hold` and `sinusoid`; `trocar.control.trajectories` has more. `trocar.control.observers`
estimates external forces, payloads and faults. `WristCompensation` changes commands, not efforts: for wrists behind
elastic cables.
"""

from trocar.control.cartesian import CartesianFeedbackLinearisation, CartesianKinematic, CartesianRegulation
from trocar.control.controller import Controller, Setpoint, State, Sum
from trocar.control.force import CartesianImpedance, HybridForcePosition
from trocar.control.joint_space import (
    ComputedTorque,
    ConstantEffort,
    EffortFunction,
    GravityCompensation,
    JointPD,
    JointPID,
    Saturated,
    SoftStart,
    VelocityServo,
)
from trocar.control.trajectories import CartesianPath, Reference, TipMotion, hold, quintic, sinusoid, step_to
from trocar.control.wrist_compensation import WristCompensation

__all__ = [
    "CartesianFeedbackLinearisation", "CartesianImpedance", "CartesianKinematic", "CartesianPath",
    "CartesianRegulation", "ComputedTorque", "ConstantEffort", "Controller", "EffortFunction", "GravityCompensation",
    "HybridForcePosition", "JointPD", "JointPID", "Reference", "Saturated", "Setpoint", "SoftStart", "State", "Sum",
    "TipMotion", "VelocityServo", "WristCompensation", "hold", "quintic", "sinusoid", "step_to",
]  # fmt: skip
