"""Simulation: arms as closed chains in MuJoCo, their environment, and the loop that runs a controller.

`Simulator` is one arm, `load_scene` several arms in one model; `simulate` runs a controller and returns a `Recording`.
Objects to touch (`Solid`, `floor`, `SoftSlab`, `Tissue`, `needle`, `Thread`, `Filament`, `Blade`, `Port`), faults
(`MotorLoss`, `EncoderBias`, `CableBreak`), motion planning (`plan`) and sensors (`ForceSensor`) are here too. `skills`
has motions of suturing.
"""

from trocar.mechanics import ArmOptions
from trocar.simulation.engine import Diverged, Snapshot
from trocar.simulation.forces.faults import CableBreak, EncoderBias, MotorLoss
from trocar.simulation.objects import (
    Blade,
    Filament,
    Inclusion,
    Needle,
    Piercing,
    SceneObject,
    Seam,
    SoftSlab,
    Solid,
    Thread,
    Tissue,
    floor,
    needle,
)
from trocar.simulation.objects.solid import Box, Capsule, Cylinder, Sphere
from trocar.simulation.planning.collision import CollisionScene
from trocar.simulation.planning.planner import Plan, PlanningFailed, plan
from trocar.simulation.run import simulate
from trocar.simulation.scene import Scene
from trocar.simulation.scene_arm import Cable, Compliance, ElasticMount, Mirror, Port, SceneArm
from trocar.simulation.scene_file import load_scene
from trocar.simulation.sensors.force_sensor import ForceSensor
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.simulation.simulator import Simulator

__all__ = [
    "ArmOptions", "Blade", "Box", "Cable", "CableBreak", "Capsule", "CollisionScene", "Compliance", "Cylinder",
    "Diverged", "ElasticMount", "EncoderBias", "Filament", "ForceSensor", "Inclusion", "Mirror", "MotorLoss", "Needle",
    "Piercing", "Plan", "PlanningFailed", "Port", "Scene", "SceneArm", "SceneObject", "Seam", "SimulatedArm",
    "Simulator", "Snapshot", "SoftSlab", "Solid", "Sphere", "Thread", "Tissue", "floor", "load_scene", "needle",
    "plan", "simulate",
]  # fmt: skip
