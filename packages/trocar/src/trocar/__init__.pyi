from trocar import sweep as sweep
from trocar.appearance import render
from trocar.arms import ARMS, Arm, load_arm
from trocar.arms.instruments import load_endoscope, load_instrument
from trocar.batch.reduced_simulator import ReducedSimulator
from trocar.calibration import calibrate
from trocar.control import ComputedTorque, GravityCompensation, JointPD, JointPID, Setpoint, State, hold
from trocar.errors import Inaccurate, NearLimit, NearSingular, TrocarError, Unreachable, Unsolved
from trocar.identification import identify
from trocar.mechanics import Cart, Mechanism, Placement, load_cart, load_mechanism
from trocar.recording import Recording, load_recording
from trocar.robot import Robot
from trocar.simulation import (
    Cable,
    Compliance,
    Diverged,
    ElasticMount,
    Scene,
    SceneArm,
    Simulator,
    load_scene,
    simulate,
)
from trocar.view import show

__version__: str

__all__ = ["ARMS", "Arm", "Cable", "Cart", "Compliance", "ComputedTorque", "Diverged", "ElasticMount"]
__all__ += ["GravityCompensation", "Inaccurate", "JointPD", "JointPID", "Mechanism", "NearLimit", "NearSingular"]
__all__ += ["Placement", "Recording", "ReducedSimulator", "Robot", "Scene", "SceneArm", "Setpoint"]
__all__ += ["Simulator", "State", "TrocarError"]
__all__ += ["Unreachable", "Unsolved", "calibrate", "hold", "identify", "load_arm", "load_cart", "load_endoscope"]
__all__ += ["load_instrument", "load_mechanism", "load_recording", "load_scene", "render"]
__all__ += ["show", "simulate", "sweep"]
