"""A PSM whose drives have every kind of friction, in the sizes that identification finds."""

from dataclasses import replace

from trocar.arms.parameters import Dahl, Drive, Parameters, load_parameters

# distances [rad, m] over which the friction of each drive reverses
DELTAS = {
    "yaw": (2e-3, 10e-3),
    "pitch": (3e-3, 20e-3),
    "insertion": (1e-4, 1e-3),
    "roll": (2e-3, 10e-3, 50e-3),
    "wrist_pitch": (2e-3, 10e-3, 50e-3),
    "finger_left": (2e-3, 10e-3, 50e-3),
    "finger_right": (10e-3, 50e-3),
    "finger_difference": (50e-3,),
    "disc_3": (2e-3, 10e-3, 50e-3),
    "disc_4": (10e-3, 50e-3),
}


def with_memory(drive: Drive) -> Drive:
    """The published Coulomb friction as Dahl elements of equal size."""
    deltas = DELTAS.get(drive.name, ())
    if not deltas:
        return drive
    terms = tuple(term for term in drive.terms if term != "Fc")
    elements = tuple(Dahl(delta, drive.Fc / len(deltas)) for delta in deltas)
    return replace(drive, Fc=0.0, terms=terms, hysteresis=elements)


def memory_set(**changes: dict) -> Parameters:
    """The PSM with Dahl friction instead of Coulomb friction; `changes` by drive name replace fields of a drive."""
    base = load_parameters("PSM")
    drives = [with_memory(drive) for drive in base.drives]
    drives = [replace(drive, **changes.get(drive.name, {})) for drive in drives]
    return replace(base, name="memory", drives=tuple(drives))


def full_set() -> Parameters:
    """All terms at once: friction that depends on position and load, and quadratic stiffness."""
    return memory_set(
        yaw={"K": 0.3, "K2": -0.2, "terms": ("Fv", "Fo", "K", "K2")},
        pitch={"K2": 0.4, "Fc": 0.02, "mu": 0.05, "terms": ("Fv", "Fc", "Fo", "K2", "mu")},
        insertion={"Fc": 0.2, "Fx": 0.5, "mu": 0.02, "terms": ("Fv", "Fc", "Fo", "Fx", "mu")},
        roll={"hysteresis": (Dahl(2e-3, 1e-3, 2e-4), Dahl(2e-2, 2e-3, -4e-4))},
        disc_3={"mu": 0.1, "terms": ("Im", "Fv", "Fo", "mu")},
    )
