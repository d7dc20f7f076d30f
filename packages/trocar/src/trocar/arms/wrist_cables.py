"""Cables of an instrument's wrist: stiffness, joint friction and coupling errors, one file each in `data/wrists`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from trocar.arms.file_fields import Fields
from trocar.arms.tables import DATA
from trocar.errors import TrocarError, UnknownName, check_type
from trocar.spatial import Array
from trocar.toml_file import read_toml, toml_text

CABLE_JOINTS = ("roll", "wrist_pitch", "wrist_yaw")
_SHAPES = {"stiffness": (3, 3), "friction": (3,), "presliding": (3,), "coupling": (3, 3), "covariance": (21, 21)}
_UPPER = np.triu_indices(3)
WRIST = "hwang2020"  # the cables of wrist="cables"
_ATTEMPTS = 1000  # of a draw from the covariance
# Assumed spread between instruments and days, as standard deviations: of the logarithm of each joint's number, and of
# the entries of the coupling. Fits to six separate parts of the joints of Hwang et al. 2020, of one instrument, spread
# as much: logarithms of stiffness 0.10-0.25, of friction 0.11, of presliding 0.4-0.6, and coupling 0.01-0.05.
SPREAD = {"stiffness": 0.2, "friction": 0.2, "presliding": 0.4}
COUPLING_SPREAD = 0.03


@dataclass(frozen=True, kw_only=True)
class WristCables:
    """Elastic cables between the motors and the joints of a wrist, with dry friction at the joints.

    The joints are roll, wrist pitch and wrist yaw, in this order. `trocar.mechanics.CableWrist` has the equations.

    Attributes:
        name, source: of the parameters.
        stiffness: S (3, 3) of the cables at the joints [N m/rad], symmetric positive definite. Its pitch-yaw term is
            large because the yaw cables pass over the pitch axis.
        friction: Coulomb friction F (3,) of the joints [N m].
        presliding: compliance (3,) of each friction contact before it slides [rad/(N m)]. 0: rigid.
        coupling: G (3, 3), the joints follow G q_motor where the motors' encoders report q_motor.
        covariance: (21, 21) of `numbers`: uncertainty of the identification. Zero if unknown.
    """

    name: str
    source: str
    stiffness: Array
    friction: Array
    presliding: Array
    coupling: Array
    covariance: Array = field(default_factory=lambda: np.zeros((21, 21)))

    def __post_init__(self) -> None:
        for name, shape in _SHAPES.items():
            value = np.array(getattr(self, name), dtype=float)
            if value.shape != shape or not np.isfinite(value).all():
                raise TrocarError(f"{name} of wrist cables must have shape {shape} and be finite, got {value!r}")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        S = self.stiffness
        if not np.allclose(S, S.T, rtol=1e-9, atol=0.0) or np.linalg.eigvalsh(S).min() <= 0.0:
            raise TrocarError(f"stiffness of wrist cables must be symmetric and positive definite, got {S!r}")
        for name in ("friction", "presliding"):
            if (getattr(self, name) < 0.0).any():
                raise TrocarError(f"{name} of wrist cables must not be negative, got {getattr(self, name)!r}")
        if abs(np.linalg.det(self.coupling)) < 1e-6:
            raise TrocarError(f"coupling of wrist cables must be invertible, got {self.coupling!r}")

    @property
    def numbers(self) -> Array:
        """All parameters (21,): coupling by rows, upper triangle of the stiffness, friction, presliding."""
        return np.concatenate([self.coupling.ravel(), self.stiffness[_UPPER], self.friction, self.presliding])

    def with_numbers(self, numbers: Array) -> WristCables:
        """A copy with other `numbers` (21,); raises an error if they are not physical."""
        S = np.zeros((3, 3))
        S[_UPPER] = numbers[9:15]
        S = np.triu(S) + np.triu(S, 1).T
        G, F, presliding = numbers[:9].reshape(3, 3), numbers[15:18], numbers[18:]
        return replace(self, coupling=G, stiffness=S, friction=F, presliding=presliding)

    def drawn(self, random: np.random.Generator, scale: float = 1.0) -> WristCables:
        """Cables drawn from the covariance, enlarged by `scale` in standard deviation; physical ones only.

        The covariance is the uncertainty about one instrument. `drawn_wrist` draws other instruments.
        """
        values, axes = np.linalg.eigh(self.covariance)
        # The symmetric root: signs of eigenvectors, which depend on the version of NumPy, cancel in it.
        root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
        for _ in range(_ATTEMPTS):
            try:
                return self.with_numbers(self.numbers + scale * root @ random.normal(size=len(root)))
            except TrocarError:
                continue
        raise TrocarError(f"no physical wrist cables in {_ATTEMPTS} draws; choose a scale smaller than {scale:g}")


def drawn_wrist(random: np.random.Generator, scale: float = 1.0, cables: WristCables | None = None) -> WristCables:
    """Cables of another instrument of the same type, on another day.

    A draw from the covariance of the identified cables, times a spread between instruments: stiffness, friction and
    presliding are multiplied by log-normal factors, and the coupling changes by a normal amount. The stiffness changes
    by congruence, A S A with a diagonal A, so that it stays positive definite. `SPREAD` is an **assumption**: public
    measurements are of one instrument on two days.

    Args:
        scale: factor on all standard deviations. 0: the identified cables.
        cables: identified cables. Default: `hwang2020`.
    """
    if not (np.isfinite(scale) and scale >= 0.0):
        raise TrocarError(f"scale of drawn wrist cables must not be negative, got {scale!r}")
    one = (cables or load_wrist("hwang2020")).drawn(random, scale)
    factor = {name: np.exp(scale * sigma * random.normal(size=3)) for name, sigma in SPREAD.items()}
    root = np.sqrt(factor["stiffness"])
    return replace(
        one,
        name=f"{one.name}, drawn",
        stiffness=one.stiffness * np.outer(root, root),
        friction=one.friction * factor["friction"],
        presliding=one.presliding * factor["presliding"],
        coupling=one.coupling + scale * COUPLING_SPREAD * random.normal(size=(3, 3)),
    )


def wrist_names() -> tuple[str, ...]:
    """Names of the built-in wrist cables."""
    return tuple(sorted(path.name.removesuffix(".toml") for path in DATA.joinpath("wrists").glob("*.toml")))


def load_wrist(key: str | Path) -> WristCables:
    """Wrist cables by name, or from a file NAME.toml such as `trocar identify-wrist` writes."""
    path = Path(key)
    if path.suffix != ".toml":
        if str(key) not in wrist_names():
            raise UnknownName("wrist cables", str(key), (*wrist_names(), "FILE.toml"))
        path = Path(str(DATA.joinpath("wrists", f"{key}.toml")))
    fields = Fields(read_toml(path, "file of wrist cables"), str(path))
    cables = WristCables(
        name=fields.name,
        source=fields.text("source"),
        **{name: fields.array(name, shape) for name, shape in _SHAPES.items()},
    )
    fields.check_all_read()
    return cables


def chosen_wrist(option: str, value: object, also: str = "'rigid', ") -> WristCables:
    """Cables that an option names: "cables", a file or `WristCables`. also: its other values, in words."""
    if isinstance(value, WristCables):
        return value
    check_type(option, value, (str, Path), f"{also}'cables', a file NAME.toml or WristCables")
    assert isinstance(value, str | Path)
    return load_wrist(WRIST if value == "cables" else value)


def wrist_text(cables: WristCables, comments: Sequence[str] = ()) -> str:
    """The file of these wrist cables, which `load_wrist` reads."""
    numbers = {name: getattr(cables, name).tolist() for name in _SHAPES}
    return toml_text({"source": cables.source, **numbers}, comments)
