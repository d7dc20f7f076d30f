"""trocar: a dynamic simulator of the da Vinci Research Kit, with its real mechanism.

    import trocar as tr

    mech = tr.load_mechanism("PSM")             # equations: kinematics and dynamics
    sim = tr.Simulator("PSM")                   # engine: the closed chain in MuJoCo
    rec = tr.simulate(sim, tr.JointPID(sim.arm), tr.hold(sim.arm.home), duration=1.0)

These are the most used names. The packages behind them offer more: `trocar.arms` (facts), `trocar.mechanics`
(equations), `trocar.control` (controllers, trajectories, observers), `trocar.simulation` (engine),
`trocar.appearance` (pictures), `trocar.recording`, `trocar.identification` and `trocar.calibration`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trocar.appearance import render
    from trocar.arms import ARMS, Arm, load_arm
    from trocar.arms.instruments import load_endoscope, load_instrument
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
    from trocar.sweep import sweep

__version__ = "0.2.0"

__all__ = ["ARMS", "Arm", "Cable", "Cart", "Compliance", "ComputedTorque", "Diverged", "ElasticMount"]
__all__ += ["GravityCompensation", "Inaccurate", "JointPD", "JointPID", "Mechanism", "NearLimit", "NearSingular"]
__all__ += ["Placement", "Recording", "Robot", "Scene", "SceneArm", "Setpoint", "Simulator", "State", "TrocarError"]
__all__ += ["Unreachable", "Unsolved", "calibrate", "hold", "identify", "load_arm", "load_cart", "load_endoscope"]
__all__ += ["load_instrument", "load_mechanism", "load_recording", "load_scene", "render", "simulate", "sweep"]

# Public names by the module that defines them, imported when a name is first used.
_NAMES = {
    "errors": ("Inaccurate", "NearLimit", "NearSingular", "TrocarError", "Unreachable", "Unsolved"),
    "arms": ("ARMS", "Arm", "load_arm"),
    "arms.instruments": ("load_endoscope", "load_instrument"),
    "recording": ("Recording", "load_recording"),
    "mechanics": ("Cart", "Mechanism", "Placement", "load_cart", "load_mechanism"),
    "control": ("ComputedTorque", "GravityCompensation", "JointPD", "JointPID", "Setpoint", "State", "hold"),
    "simulation": (
        *("Cable", "Compliance", "Diverged", "ElasticMount", "Scene", "SceneArm", "Simulator"),
        *("load_scene", "simulate"),
    ),
    "robot": ("Robot",),
    "appearance": ("render",),
    "calibration": ("calibrate",),
    "identification": ("identify",),
}
# Modules that add to a name of another one: the reduced engine of `Simulator`.
_ADDITIONS = {"Simulator": "batch.reduced_simulator"}
_HOME = {name: home for home, names in _NAMES.items() for name in names}
_ROOMS = {home.partition(".")[0] for home in _NAMES}


def __getattr__(name: str) -> object:
    """Import public names on first use: `trocar --help` needs no engine and must start quickly."""
    if name in _HOME:
        globals()[name] = value = getattr(import_module(f"trocar.{_HOME[name]}"), name)
        if name in _ADDITIONS:
            import_module(f"trocar.{_ADDITIONS[name]}")
        return value
    if not name.startswith("_") and find_spec(f"trocar.{name}") is not None:
        return import_module(f"trocar.{name}")
    raise AttributeError(f"module 'trocar' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__doc__", "__version__"})
