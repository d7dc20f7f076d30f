"""The engine: an arm and its parameters as a closed chain in MuJoCo."""

from trocar.simulation.divergence import Diverged
from trocar.simulation.model import Cable
from trocar.simulation.simulator import Simulator, Snapshot

__all__ = ["Cable", "Diverged", "Simulator", "Snapshot"]
