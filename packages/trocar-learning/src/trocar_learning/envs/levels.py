"""Randomisation of the simulated robot: how far it may differ from the nominal model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

from trocar.appearance.stereo_camera import Lighting
from trocar.arms import load_arm
from trocar.arms.parameters import Drive, Parameters, load_parameters
from trocar.arms.wrist_cables import CABLE_JOINTS, WristCables, drawn_wrist
from trocar.errors import TrocarError, check_known
from trocar.identification.drawn_parameters import DrawnParameters
from trocar.mechanics import Mechanism, load_mechanism
from trocar.robot.controller.actuators import Sensors
from trocar.simulation.forces.arm_forces import check_resolved
from trocar_learning.contest.episode_draws import RobotDraws, branch
from trocar_learning.envs.world import PERIOD

# Sets of the simulated arms. The PSM's was identified with a covariance; the ECM's comes from CAD and has none.
NOMINAL = MappingProxyType({"PSM": "wang2019_refit", "ECM": "gondokaryono2019"})
# Factor of wrist friction between two sessions: 0.5 to 2 at 3 sigma.
WRIST_FRICTION = 2.0
# Factors of light at 3 sigma, up or down: brightness by 1.6, each colour by 1.15; it comes from any side. Assumed.
BRIGHTNESS, COLOUR = 1.6, 1.15
MAX_DRAWS = 20  # attempts for one arm
DRAWN = "drawn"  # a wrist of its own in every episode
RIGID = "rigid"
_CABLE_STREAM = 48  # separates the numbers of the cables from those of the parameters with the same seed
WRIST = ("roll", "wrist_pitch", "finger_left", "finger_right", "finger_difference", "disc_3", "disc_4")


@dataclass(frozen=True)
class Level:
    """A level of randomisation.

    Attributes:
        sigma: standard deviations of the identified parameters. delay: largest delay of actions [control periods].
        encoders: quantised encoders, noise of currents and biased potentiometers.
        friction: share of `WRIST_FRICTION`. wrist: "rigid", or "drawn": elastic cables of another instrument.
    """

    sigma: float
    delay: int
    encoders: bool
    friction: float
    wrist: str = RIGID


# real: one standard deviation of the identification, cables of another instrument, wrist friction of another session
# and the noise of the live robot. The delay of up to two periods, as at 3 sigma, is an assumption.
LEVELS: Mapping[str, Level] = MappingProxyType(
    {
        "nominal": Level(0.0, 0, False, 0.0),
        "1sigma": Level(1.0, 1, True, 1.0 / 3.0),
        "3sigma": Level(3.0, 2, True, 1.0),
        "real": Level(1.0, 2, True, 1.0, DRAWN),
    }
)


@dataclass(frozen=True)
class Draw:
    """One simulated robot of a level.

    Attributes:
        parameters: set of every arm by name; None for the nominal set. delay: of actions [control periods].
        sensors: imperfections. wrist_friction: factor.
        wrists: option `wrist` of every arm with a wrist of cables, by name; none for rigid ones.
    """

    parameters: Mapping[str, Parameters | None]
    delay: int
    sensors: Sensors
    wrist_friction: float
    wrists: Mapping[str, str | Path | WristCables]

    @property
    def nominal(self) -> bool:
        """True if every episode has this robot."""
        return not any(self.parameters.values()) and not any(isinstance(w, WristCables) for w in self.wrists.values())


def draw(
    level: str, arms: Mapping[str, str], rng: np.random.Generator, wrist: str | Path | WristCables | None = None
) -> Draw:
    """Draw a robot.

    Args:
        arms: kind of every arm (PSM or ECM) by name.
        wrist: option `wrist` of the arms, or "drawn": cables of another instrument. Default: that of the level.
    """
    check_known("level of randomisation", LEVELS, level)
    setting = LEVELS[level]
    drawn = RobotDraws.of(rng, len(arms), setting.delay)
    factor = float(WRIST_FRICTION ** (setting.friction * drawn.friction))
    wrists = _wrists(setting.wrist if wrist is None else wrist, arms, drawn.seeds, asked=wrist is not None)
    if not setting.sigma:
        return Draw(dict.fromkeys(arms), 0, Sensors.ideal(), 1.0, wrists)
    parameters = {
        name: _drawn(kind, setting.sigma, seed, factor)
        for (name, kind), seed in zip(arms.items(), drawn.seeds, strict=False)
    }
    return Draw(parameters, drawn.delay, Sensors(seed=drawn.seeds[-1], bias=False), factor, wrists)


def wristed_arms(arms: Mapping[str, str]) -> list[str]:
    """Names of the arms, given with their kinds, that can have wrist cables."""
    return [name for name, kind in arms.items() if set(CABLE_JOINTS) <= set(load_arm(kind).joint_names)]


def _wrists(
    wrist: str | Path | WristCables, arms: Mapping[str, str], seeds: Sequence[int], asked: bool
) -> dict[str, str | Path | WristCables]:
    """The wrist of every arm that can have cables, by name; none if they are rigid. asked: raise if no arm can."""
    if wrist == RIGID:
        return {}
    with_cables = wristed_arms(arms)
    if asked and not with_cables:
        raise TrocarError(f"no arm of {', '.join(arms)} has a wrist with cables; leave out wrist")
    streams = {name: np.random.default_rng([seed, _CABLE_STREAM]) for name, seed in zip(arms, seeds, strict=False)}
    return {name: drawn_wrist(streams[name]) if wrist == DRAWN else wrist for name in with_cables}


def lighting(sigma: float, rng: np.random.Generator) -> Lighting | None:
    """Light of an episode's images: brightness, colour and direction vary with the level; None for the nominal one.

    It leaves the generator as it is: images do not change an episode.
    """
    if not sigma:
        return None
    own = branch(rng)
    share = min(sigma / 3.0, 1.0)
    brightness = float(BRIGHTNESS ** (share * own.uniform(-1.0, 1.0)))
    red, green, blue = (COLOUR ** (share * own.uniform(-1.0, 1.0, 3))).tolist()
    return Lighting(brightness, (red, green, blue), float(share * own.uniform(-np.pi, np.pi)))


def _drawn(kind: str, sigma: float, seed: int, wrist_friction: float) -> Parameters:
    """A set at `sigma` standard deviations; the ECM, which has no covariance, varies in friction only."""
    if kind == "PSM":
        samples = _samples(kind)
        for attempt in range(MAX_DRAWS):
            parameters = samples.parameters(samples.draw(sigma, seed + attempt)[0])
            parameters = replace(parameters, drives=with_scaled_friction(parameters.drives, WRIST, wrist_friction))
            mechanism = load_mechanism(kind, parameters)
            try:
                check_resolved(mechanism, PERIOD)
            except TrocarError:  # almost no rotor inertia: the friction vibrates faster than the loop runs
                continue
            if servo_radius(mechanism) < 1.0:
                return parameters
        raise TrocarError(f"none of {MAX_DRAWS} samples at {sigma:g} standard deviations can be simulated")
    parameters = load_parameters(kind, NOMINAL[kind])
    return replace(
        parameters, drives=with_scaled_friction(parameters.drives, [d.name for d in parameters.drives], wrist_friction)
    )


def servo_radius(mechanism: Mechanism) -> float:
    """Spectral radius of an arm at home, without friction, under the dVRK's PID at 1500 Hz; stable below 1.

    Real arms are stable under these gains; a drawn arm that is not, for its rotors are too light, contradicts them.
    """
    arm = mechanism.arm
    M = arm.motors.coupling.T @ mechanism.mass_matrix(arm.home) @ arm.motors.coupling
    stiffness, damping = (PERIOD * np.linalg.solve(M, np.diag(gains)) for gains in (arm.gains.kp, arm.gains.kd))
    one = np.eye(arm.n)
    step = np.block([[one - PERIOD * stiffness, PERIOD * (one - damping)], [-stiffness, one - damping]])
    return float(np.abs(np.linalg.eigvals(step)).max())


@cache
def _samples(kind: str) -> DrawnParameters:
    return DrawnParameters(load_mechanism(kind, NOMINAL[kind]))


def with_scaled_friction(drives: Sequence[Drive], names: Sequence[str], factor: float) -> tuple[Drive, ...]:
    """Drives with the friction of the named ones multiplied by a factor."""
    return tuple(
        replace(
            drive,
            Fv=factor * drive.Fv,
            Fc=factor * drive.Fc,
            mu=factor * drive.mu,
            hysteresis=tuple(replace(d, F=factor * d.F, slope=factor * d.slope) for d in drive.hysteresis),
        )
        if drive.name in names
        else drive
        for drive in drives
    )
