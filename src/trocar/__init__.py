"""trocar: the da Vinci Research Kit, simulated with its real mechanism."""

from trocar.arms import ARMS, Arm, load_arm
from trocar.errors import NearLimit, NearSingular, TrocarError, Unreachable
from trocar.mechanics import Mechanism, load_mechanism
from trocar.simulation import Cable, Diverged, Simulator

__version__ = "0.1.0"

__all__ = [
    "ARMS",
    "Arm",
    "Cable",
    "Diverged",
    "Mechanism",
    "NearLimit",
    "NearSingular",
    "Simulator",
    "TrocarError",
    "Unreachable",
    "load_arm",
    "load_mechanism",
]
