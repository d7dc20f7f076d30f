"""trocar: the da Vinci Research Kit, simulated with its real mechanism."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trocar.arms import ARMS, Arm, load_arm
    from trocar.errors import NearLimit, NearSingular, TrocarError, Unreachable, Unsolved
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
    "Unsolved",
    "load_arm",
    "load_cart",
    "load_mechanism",
    "load_scene",
    "simulate",
]

_HOMES = ("errors", "arms", "mechanics", "recording", "simulation")


def __getattr__(name: str) -> object:
    """Public names are imported when first asked for: `trocar --help` needs neither engine, and takes no seconds."""
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"trocar.{home}")
            if hasattr(module, name):
                globals()[name] = found = getattr(module, name)
                return found
    if not name.startswith("_") and find_spec(f"trocar.{name}") is not None:
        return import_module(f"trocar.{name}")
    raise AttributeError(f"module 'trocar' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
