"""Published constants of the dVRK's controllers that are not properties of an arm.

Source: sawIntuitiveResearchKit 2.4 (share/pid, arm classes) and sawControllers. Gains, effort limits and the velocities
and accelerations of moves are in `trocar.arms`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trocar.arms import Arm
from trocar.spatial import Array

FREQUENCY = 1500  # control loop [Hz]
PERIOD = 1.0 / FREQUENCY
CALIBRATION_SAMPLES = 1970  # potentiometer readings averaged to bias the encoders
GRAVITY_CYCLES = 3  # cycles between updates of gravity compensation; the dVRK computes it in every cycle
POWER_TIME = 0.5  # time until the amplifiers report power [s]; ASSUMED, the dVRK waits up to 3 s
HOMING_EXTRA_TIME = 2.0  # settling time at the end of homing [s]
POTS, POTS_LATENCY = math.radians(5.0), 0.01  # between encoder and potentiometer [rad], for this long [s]; dVRK manual
POTS_SLIDE = 0.005  # the same for a prismatic joint [m]; ASSUMED from an early release of the dVRK's PSM
WARNING_INTERVAL = 2.0  # time between warnings that an arm is not ready [s]
SAFE_DISTANCE, SAFE_BUFFER = 0.045, 0.002  # least distance of the shaft's end from the RCM in Cartesian control [m]
NEAREST_TO_RCM = 0.001  # least distance for inverse kinematics [m]
FARTHEST = 100.0  # largest distance of a commanded tip from its base, beyond any arm; squares of 1e200 overflow [m]

JOINT, CARTESIAN = "joint", "cartesian"  # control spaces
POSITION, TRAJECTORY, EFFORT = "position", "trajectory", "effort"  # control modes


@dataclass(frozen=True, kw_only=True)
class Constants:
    """Constants of one arm, in actuator coordinates.

    Attributes:
        tracking: (n,) largest tracking error before a fault [rad, m]. deadband: (n,) [rad, m].
        output: (n,) cap of the PID's output, before feed-forward [N m, N].
        goal_tolerance: (n,) joint tolerance at the end of homing [rad, m].
        pots: (n,) largest difference of encoder and potentiometer before a fault [rad, m].
        nominal_mass, cutoff: (n,) parameters of the disturbance observers [kg m^2, kg; rad/s]; 0: none.
        gravity_compensation: on from the start. homes_to_zero: homing moves the joints to 0; otherwise they stay in
            place.
        searches_roll: homing finds the lower limit of the last joint, whose potentiometer is not used.
        compensates_positions: gravity is fed forward also during position commands.
    """

    tracking: Array
    deadband: Array
    output: Array
    goal_tolerance: Array
    pots: Array
    nominal_mass: Array
    cutoff: Array
    gravity_compensation: bool = True
    homes_to_zero: bool = False
    searches_roll: bool = False
    compensates_positions: bool = True


def constants(arm: Arm) -> Constants:
    """Constants of an arm by name; an arm unknown to the dVRK has no deadbands, caps and checks."""
    n, inf = arm.n, math.inf
    known: dict[str, dict[str, object]] = {
        "PSM": {
            "tracking": (0.5, 0.5, 0.05, 0.6, 0.6, 0.6, 0.6),
            "gravity_compensation": False,  # the dVRK has no masses for the Classic PSM
        },
        "PSM_Si": {
            "tracking": (0.5, 0.5, 0.05, 0.6, 0.6, 0.6, 0.6),
            "output": (10.0, 10.0, 15.0, inf, inf, inf, inf),
            "nominal_mass": (0.01, 0.01, 0.005, 5e-4, 5e-4, 5e-4, 5e-4),
            "cutoff": (50.0, 50.0, 20.0, 10.0, 10.0, 10.0, 10.0),
        },
        "ECM": {"tracking": (0.6, 0.6, 0.03, 0.25)},
        "ECM_Si": {
            "tracking": (0.6, 0.6, 0.02, 0.25),
            "output": (15.0, 15.0, inf, 12.0),
            "nominal_mass": (0.01, 0.01, 0.0, 0.0),
            "cutoff": (50.0, 50.0, 0.0, 0.0),
        },
    }
    master: dict[str, object] = {
        "tracking": (0.2, 0.2, 0.2, 0.2, 0.5, 0.5, 0.5),
        "deadband": (0.0, 0.0, 0.0, 0.0, 0.0, 0.015, 0.02),
        "goal_tolerance": np.radians([4.0] * 6 + [6.0]),
        "pots": [POTS] * 6 + [inf],
        "homes_to_zero": True,
        "searches_roll": True,
        "compensates_positions": False,
    }
    known |= {"MTML": master, "MTMR": master}
    given = known.get(arm.name, {})
    arrays = {
        "tracking": given.get("tracking", np.full(n, inf)),
        "deadband": given.get("deadband", np.zeros(n)),
        "output": given.get("output", np.full(n, inf)),
        "goal_tolerance": given.get("goal_tolerance", np.full(n, math.radians(3.0))),
        "pots": given.get("pots", [POTS if joint.kind == "revolute" else POTS_SLIDE for joint in arm.joints]),
        "nominal_mass": given.get("nominal_mass", np.zeros(n)),
        "cutoff": given.get("cutoff", np.zeros(n)),
    }
    flags = {key: bool(value) for key, value in given.items() if key not in arrays}
    return Constants(**{key: np.array(value, dtype=float) for key, value in arrays.items()}, **flags)  # type: ignore[arg-type]
