"""trocar: the da Vinci Research Kit, simulated with its real mechanism."""

from trocar.arms import ARMS, Arm, load_arm
from trocar.errors import NearLimit, NearSingular, TrocarError, Unreachable
from trocar.mechanics import Cart, Mechanism, Placement, load_cart, load_mechanism
from trocar.recording import Recording
from trocar.simulation import (
    Cable,
    Compliance,
    Diverged,
    Scene,
    SceneArm,
    Simulator,
    load_scene,
    simulate,
    simulate_scene,
)

__version__ = "0.1.0"

__all__ = [
    "ARMS",
    "Arm",
    "Cable",
    "Cart",
    "Compliance",
    "Diverged",
    "Mechanism",
    "NearLimit",
    "NearSingular",
    "Placement",
    "Recording",
    "Scene",
    "SceneArm",
    "Simulator",
    "TrocarError",
    "Unreachable",
    "load_arm",
    "load_cart",
    "load_mechanism",
    "load_scene",
    "simulate",
    "simulate_scene",
]
