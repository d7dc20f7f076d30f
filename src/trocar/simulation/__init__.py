"""Simulation: arms as closed chains in MuJoCo, their surroundings, and the loop that runs a controller.

`Simulator` is one arm, `load_scene` several arms in one model; `simulate` runs a controller and returns a `Recording`.
Objects to touch (`Solid`, `SoftSlab`, `needle`, `Port`), faults (`FaultySimulator`), motion planning (`plan`) and
sensors (`ForceSensor`) are here too.
"""

from trocar.simulation.divergence import Diverged
from trocar.simulation.forces.elastic_drives import Compliance
from trocar.simulation.forces.faults import CableBreak, EncoderBias, FaultySimulator, MotorLoss
from trocar.simulation.forces.port import Port
from trocar.simulation.modelling.arm_model import Cable
from trocar.simulation.objects.objects import SoftSlab, Solid, needle
from trocar.simulation.planning.collision import Box, Capsule, CollisionScene, Cylinder, Sphere
from trocar.simulation.planning.planner import Plan, PlanningFailed, plan
from trocar.simulation.run import simulate, simulate_scene
from trocar.simulation.scene import Scene, SceneArm
from trocar.simulation.scene_file import load_scene
from trocar.simulation.sensors.force_sensor import ForceSensor
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.simulation.simulator import Simulator, Snapshot

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
