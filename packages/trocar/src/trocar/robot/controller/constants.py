"""Constants of the dVRK's controllers that are the same for every arm.

Source: sawIntuitiveResearchKit 2.4 (arm classes) and sawControllers. Those of one arm are in `Arm.controller`, its
gains, effort limits and the velocities and accelerations of moves also in `trocar.arms`.
"""

from __future__ import annotations

from trocar.arms.arm import CONTROL_RATE
from trocar.robot.interface import RATE

FREQUENCY = CONTROL_RATE  # control loop [Hz]
PERIOD = 1.0 / FREQUENCY
PUBLISHED_CYCLES = round(FREQUENCY / RATE)  # cycles between samples of a state topic
CALIBRATION_SAMPLES = 1970  # potentiometer readings averaged to bias the encoders
GRAVITY_CYCLES = 3  # cycles between updates of gravity compensation; the dVRK computes it in every cycle
POWER_TIME = 0.5  # time until the amplifiers report power [s]; ASSUMED, the dVRK waits up to 3 s
HOMING_EXTRA_TIME = 2.0  # settling time at the end of homing [s]
POTS_LATENCY = 0.01  # duration of a difference between encoder and potentiometer before a fault [s]; dVRK manual
WARNING_INTERVAL = 2.0  # time between warnings that an arm is not ready [s]
SAFE_DISTANCE, SAFE_BUFFER = 0.045, 0.002  # least distance of the shaft's end from the RCM in Cartesian control [m]
MIN_DISTANCE_TO_RCM = 0.001  # least distance for inverse kinematics [m]
MAX_DISTANCE = 100.0  # largest distance of a commanded tip from its base, beyond any arm; squares of 1e200 overflow [m]

JOINT, CARTESIAN = "joint", "cartesian"  # control spaces
POSITION, TRAJECTORY, EFFORT = "position", "trajectory", "effort"  # control modes
