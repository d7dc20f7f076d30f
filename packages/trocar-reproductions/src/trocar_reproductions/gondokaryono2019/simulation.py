"""Gondokaryono et al. 2019, section 4.3: sinusoids on six joints (Fig. 10), and real-time factors (Table 9)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from trocar.appearance.endoscope_camera import StereoEndoscope
from trocar.arms import Arm
from trocar.control import JointPID, sinusoid
from trocar.errors import TrocarError
from trocar.plots import COLOURS, panels, style
from trocar.recording import Recording
from trocar.report import Claim
from trocar.simulation import Scene, SceneArm, Simulator, load_scene, simulate
from trocar.spatial import Array
from trocar_reproductions.experiment import Context
from trocar_reproductions.gondokaryono2019.frames import TABLE

SET = "gondokaryono2019"
FREQUENCY = 0.1  # [Hz]
PERIODS = 3
STEADY = 1.01  # a joint is stable up to this ratio of the RMS of the last period to that of the one before
TIMESTEP = 1e-3  # [s], Gazebo's default
# Table 8, joint space; the jaw, which the paper omits, is held with the gains of joint 6.
KP = (70.0, 70.0, 400.0, 10.0, 10.0, 10.0, 10.0)
KI = (0.1, 0.1, 0.01, 0.1, 0.1, 0.1, 0.1)
KD = (5.0, 5.0, 10.0, 1.0, 1.0, 1.0, 1.0)
# The paper does not give the centre of the motion; here 0, for the insertion its home, which is within limits.
CENTRE = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])
FRAME = 0.033  # interval between stereo pairs [s]
TIMED = 0.5  # simulated time of one timing [s]
SWING = 0.02  # motion during timing, as a fraction of the joint range or of 1 rad: the arms do not collide


@dataclass(frozen=True)
class Sinusoids:
    """Amplitude of the joints [rad, m], and the use of joint limits in the engine."""

    name: str
    amplitude: tuple[float, ...]
    limits: bool

    @property
    def remark(self) -> str:
        limits = "on" if self.limits else "off"
        return f"amplitude {self.amplitude[0]:g} rad, {self.amplitude[2]:g} m, joint limits {limits}"


CASES = (
    Sinusoids("as published", (1.0, 1.0, 0.1, 1.0, 1.0, 1.0, 0.0), limits=False),  # the pitch limit is 0.925 rad
    Sinusoids("within limits", (0.9, 0.9, 0.1, 0.9, 0.9, 0.9, 0.0), limits=True),
)


@dataclass(frozen=True)
class Tracking:
    """A run of one case."""

    case: Sinusoids
    recording: Recording

    @property
    def error(self) -> Array:
        """Commanded minus simulated position (N, 6) [rad, m]."""
        return (self.recording.commands["q"] - self.recording.q)[:, :6]

    @property
    def rms(self) -> Array:
        """RMS error (6,) after the first period, which starts with a velocity step [rad, m]."""
        return np.sqrt(np.mean(self.error[self.recording.t * FREQUENCY >= 1.0 - 1e-9] ** 2, axis=0))

    @property
    def growth(self) -> Array:
        """Ratio (6,) of the RMS of the last period to that of the one before."""
        period = np.floor(self.recording.t * FREQUENCY + 1e-9)
        before, last = (np.mean(self.error[period == period[-1] - k] ** 2, axis=0) for k in (1, 0))
        return np.sqrt(last / before)


def in_joint_space(arm: Arm) -> Arm:
    """The arm as modelled in Gazebo: a motor on every joint, control every millisecond."""
    return replace(
        arm,
        motors=replace(arm.motors, coupling=np.eye(arm.n)),
        gains=replace(arm.gains, kp=KP, ki=KI, kd=KD, rate=1.0 / TIMESTEP),
    )


def track(case: Sinusoids, periods: float = PERIODS) -> Tracking:
    """Follow the sinusoid with the gains of Table 8, the CAD masses and damping, under gravity."""
    sim = Simulator("PSM", SET, timestep=TIMESTEP, limits=case.limits, contacts=False)
    sim.reset(CENTRE)
    reference = sinusoid(CENTRE, case.amplitude, FREQUENCY)
    return Tracking(case, simulate(sim, JointPID(in_joint_space(sim.arm)), reference, periods / FREQUENCY, every=10))


def tracking_claim(tracking: Tracking) -> Claim:
    """The claim that every joint tracks stably: the paper's words."""
    stable = int(np.sum(tracking.growth <= STEADY))
    fields = {"run": tracking.case.name, "remark": tracking.case.remark}
    return TABLE.claim("fig 10 {run}/stable joints", stable, growth=STEADY - 1, **fields)


@style()
def tracking_figure(tracking: Tracking) -> Figure:
    """Like Fig. 10: commanded and simulated motion on the left, the error on the right."""
    recording = tracking.recording
    figure, grid = panels((10.0, 11.0), 6, 2, sharex=True)
    figure.suptitle(f"{tracking.case.name}: {tracking.case.remark}", x=0.98, ha="right", fontsize="medium")
    for j, (left, right) in enumerate(grid):
        unit = recording.joint_units[j]
        left.plot(recording.t, recording.commands["q"][:, j], color=COLOURS[0], label="commanded")
        left.plot(recording.t, recording.q[:, j], "--", color=COLOURS[1], label="simulated")
        left.set(ylabel=f"{recording.joints[j]} [{unit}]")
        right.plot(recording.t, tracking.error[:, j], color=COLOURS[2])
        right.set(ylabel=f"error [{unit}]")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    for axes in grid[-1]:
        axes.set(xlabel="t [s]")
    return figure


# -- Table 9 -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Configuration:
    """A configuration of Table 9: arms of the Classic cart, on set-up joints or fixed at the same places."""

    arms: tuple[str, ...]
    set_up: bool = False
    camera: bool = False

    def scene(self, parameters: str | None) -> Scene:
        """The arms at their places on the built-in cart, without collisions."""
        cart, arms = _cart(), {}
        for name in self.arms:
            place: dict[str, Any] = {"mount": name} if self.set_up else {"base": cart.T_world_base(name)}
            arm = cart.arms[name]
            arms[name] = SceneArm(arm=arm.arm.name, q=arm.q, parameters=parameters, **place)
        return Scene(arms, cart=cart.cart if self.set_up else None, timestep=TIMESTEP)


@cache
def _cart() -> Scene:
    """The built-in cart, the source of places and joints."""
    return load_scene("cart_classic")


CONFIGURATIONS = {
    "PSM": Configuration(("PSM1",)),
    "ECM": Configuration(("ECM",)),
    "2 PSM + ECM": Configuration(("PSM1", "PSM2", "ECM")),
    "3 PSMs": Configuration(("PSM1", "PSM2", "PSM3")),
    "SUJ + 3 PSM + ECM": Configuration(("PSM1", "PSM2", "PSM3", "ECM"), set_up=True),
    "SUJ + 3 PSM + ECM + Camera": Configuration(("PSM1", "PSM2", "PSM3", "ECM"), set_up=True, camera=True),
}


def real_time_factor(configuration: Configuration, duration: float) -> float:
    """Real-time factor of a configuration: simulated over elapsed time.

    Every arm follows a sinusoid under PID and is recorded. A camera renders a pair of images, 640 x 480, every 33 ms.
    """
    scene = configuration.scene(SET)
    run = _controlled(scene)
    camera = StereoEndoscope(scene, shadows=False) if configuration.camera else None
    if camera is not None:
        camera.pair()  # the first call initialises OpenGL
    start = time.perf_counter()
    while scene.time < duration - 1e-9:
        run(duration if camera is None else FRAME)
        if camera is not None:
            camera.pair()
    return scene.time / (time.perf_counter() - start)


def _controlled(scene: Scene) -> Callable[[float], object]:
    controllers, references = {}, {}
    for name, arm in scene.arms.items():
        swing = SWING * np.minimum(arm.arm.upper - arm.arm.lower, 1.0)
        centre = np.clip(arm.q, arm.arm.lower + swing, arm.arm.upper - swing)
        references[name] = sinusoid(centre, swing, FREQUENCY)
        gains = replace(arm.arm.gains, rate=1.0 / TIMESTEP)
        controllers[name] = JointPID(replace(arm.arm, gains=gains))
    return lambda duration: simulate(scene, controllers, references, duration)


def real_time_claims(context: Context, rounds: int = 3) -> list[Claim]:
    """Table 9, all configurations in turn in one run: the load of the machine changes between runs."""
    best: list[float | str] = [0.0] * len(CONFIGURATIONS)
    for k in range(rounds):
        for i, name in enumerate(CONFIGURATIONS):
            context.progress(f"Table 9, round {k + 1} of {rounds}: {name}")
            ours, before = _factor(name), best[i]
            best[i] = ours if isinstance(ours, str) or isinstance(before, str) else max(ours, before)
    without, drawn = best[-2:]
    known = not (isinstance(without, str) or isinstance(drawn, str))
    drawing = f"{max(0.0, 1.0 - float(drawn) / float(without)):.0%}" if known else "an unknown share"
    return TABLE.claims("table 9/{row}", best, rounds=rounds, drawing=drawing)


def _factor(name: str) -> float | str:
    """The real-time factor of a configuration, or the reason why images could not be rendered."""
    try:
        return real_time_factor(CONFIGURATIONS[name], TIMED)
    except TrocarError as error:
        if not CONFIGURATIONS[name].camera:
            raise
        return f"not run: {error}"
