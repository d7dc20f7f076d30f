"""trocar: a dynamic simulator of the da Vinci Research Kit, with its real mechanism.

    import trocar as tr

    mech = tr.load_mechanism("PSM")                   # equations: kinematics and dynamics
    sim = tr.Simulator("PSM", timestep=1 / 1500)      # engine: the closed chain in MuJoCo, at the rate of the PID
    rec = tr.simulate(sim, tr.JointPID(sim.arm), tr.hold(sim.arm.home), duration=1.0)

These are the most used names. The packages behind them offer more: `trocar.arms` (facts), `trocar.mechanics`
(equations), `trocar.control` (controllers, trajectories, observers), `trocar.simulation` (engine),
`trocar.appearance` (pictures), `trocar.recording`, `trocar.identification` and `trocar.calibration`.
"""

from importlib import import_module
from importlib.util import find_spec

from trocar.lazy_names import loaded, origins

__version__ = "0.3.0"
_ORIGINS = origins(__file__)
__all__ = list(_ORIGINS)


def __getattr__(name: str) -> object:
    """Import names on first use: `trocar --help` needs no engine and must start quickly."""
    if not name.startswith("_") and find_spec(f"trocar.{name}") is not None:
        return import_module(f"trocar.{name}")
    return loaded(__name__, _ORIGINS, name)


def __dir__() -> list[str]:
    rooms = {module.split(".")[1] for module, _ in _ORIGINS.values() if "." in module}
    return sorted({*__all__, *rooms, "__doc__", "__version__"})
