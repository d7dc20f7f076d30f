"""From a state and a reference to an effort: controllers, and the trajectories they follow."""

from trocar.control.computed_torque import ComputedTorque
from trocar.control.controller import Controller, Setpoint, State, Sum
from trocar.control.effort import ConstantEffort, EffortFunction
from trocar.control.gravity_compensation import GravityCompensation
from trocar.control.joint_pd import JointPD
from trocar.control.joint_pid import JointPID
from trocar.control.trajectories import Reference, hold, quintic, sinusoid, step_to
from trocar.control.velocity_servo import VelocityServo

__all__ = [
    "ComputedTorque",
    "ConstantEffort",
    "Controller",
    "EffortFunction",
    "GravityCompensation",
    "JointPD",
    "JointPID",
    "Reference",
    "Setpoint",
    "State",
    "Sum",
    "VelocityServo",
    "hold",
    "quintic",
    "sinusoid",
    "step_to",
]
