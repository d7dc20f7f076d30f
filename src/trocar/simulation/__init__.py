"""The engine: an arm and its parameters as a closed chain in MuJoCo."""

from trocar.simulation.compliance import Compliance
from trocar.simulation.divergence import Diverged
from trocar.simulation.model import Cable
from trocar.simulation.simulate import simulate
from trocar.simulation.simulator import Simulator, Snapshot

__all__ = ["Cable", "Compliance", "Diverged", "Simulator", "Snapshot", "simulate"]
