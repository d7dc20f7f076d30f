"""The engine: an arm and its parameters as a closed chain in MuJoCo."""

from trocar.simulation.collision import Box, Capsule, CollisionScene, Cylinder, Sphere
from trocar.simulation.compliance import Compliance
from trocar.simulation.divergence import Diverged
from trocar.simulation.faults import CableBreak, EncoderBias, FaultySimulator, MotorLoss
from trocar.simulation.force_sensor import ForceSensor
from trocar.simulation.model import Cable
from trocar.simulation.planner import Plan, PlanningFailed, plan
from trocar.simulation.scene import Scene, SceneArm
from trocar.simulation.scene_file import load_scene
from trocar.simulation.simulate import simulate, simulate_scene
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.simulation.simulator import Simulator, Snapshot
from trocar.simulation.surroundings import SoftSlab, Solid, needle
from trocar.simulation.trocar_port import Port

__all__ = [
    "Box",
    "Cable",
    "CableBreak",
    "Capsule",
    "CollisionScene",
    "Compliance",
    "Cylinder",
    "Diverged",
    "EncoderBias",
    "FaultySimulator",
    "ForceSensor",
    "MotorLoss",
    "Plan",
    "PlanningFailed",
    "Port",
    "Scene",
    "SceneArm",
    "SimulatedArm",
    "Simulator",
    "Snapshot",
    "SoftSlab",
    "Solid",
    "Sphere",
    "load_scene",
    "needle",
    "plan",
    "simulate",
    "simulate_scene",
]
