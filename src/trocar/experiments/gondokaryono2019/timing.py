"""Gondokaryono et al. 2019, Table 9: real-time factors of six configurations."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from trocar.appearance.endoscope_camera import StereoEndoscope
from trocar.control import JointPID, sinusoid
from trocar.errors import TrocarError
from trocar.experiments.experiment import Context
from trocar.experiments.gondokaryono2019.frames import TABLE
from trocar.experiments.gondokaryono2019.tracking import FREQUENCY, SET, TIMESTEP
from trocar.report import Claim
from trocar.simulation import Scene, SceneArm, load_scene, simulate

FRAME = 0.033  # interval between stereo pairs [s]
SWING = 0.02  # motion during timing, as a fraction of the joint range or of 1 rad: the arms do not collide


@dataclass(frozen=True)
class Configuration:
    """A configuration of Table 9: arms of the Classic cart, on set-up joints or fixed at the same places."""

    arms: tuple[str, ...]
    set_up: bool = False
    camera: bool = False

    def scene(self, parameters: str | None) -> Scene:
        """The arms at their places on the built-in cart, without collisions."""
        cart = _cart()
        arms = {
            name: SceneArm(
                arm=cart.arms[name].arm.name,
                base=None if self.set_up else cart.T_world_base(name),
                mount=name if self.set_up else None,
                q=cart.arms[name].q,
                parameters=parameters,
            )
            for name in self.arms
        }
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


@dataclass(frozen=True)
class Timing:
    """Options of a timing: parameter set (None: the identified one), PID and recording of every arm, shadows."""

    parameters: str | None = SET
    control: bool = True
    shadows: bool = False

    @property
    def remark(self) -> str:
        remarks = {
            "identified parameters": self.parameters is None,
            "engine alone": not self.control,
            "shadows": self.shadows,
        }
        chosen = ", ".join(remark for remark, applies in remarks.items() if applies)
        return f" ({chosen})" if chosen else ""


TIMINGS = (Timing(), Timing(control=False), Timing(parameters=None), Timing(parameters=None, control=False))


def real_time_factor(configuration: Configuration, timing: Timing = TIMINGS[0], duration: float = 2.0) -> float:
    """Real-time factor of a configuration: simulated over elapsed time.

    With control, every arm follows a sinusoid under PID and is recorded; otherwise constant efforts hold it. A camera
    renders a pair of images, 640 x 480, every 33 ms.
    """
    scene = configuration.scene(timing.parameters)
    run = _controlled(scene) if timing.control else _held(scene)
    camera = StereoEndoscope(scene, shadows=timing.shadows) if configuration.camera else None
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


def _held(scene: Scene) -> Callable[[float], object]:
    tau = {
        name: arm.mechanism.gravity(arm.q) + arm.mechanism.friction(arm.q, np.zeros(arm.n))
        for name, arm in scene.arms.items()
    }

    def run(duration: float) -> None:
        for _ in range(round(duration / TIMESTEP)):
            scene.step(tau)

    return run


def real_time_claims(context: Context, duration: float = 2.0) -> list[Claim]:
    """Table 9: with the paper's masses and damping and with identified ones, with control and for the engine alone."""
    claims: list[Claim] = []
    for timing in TIMINGS:
        ours = [_factor(context, name, timing, duration) for name in CONFIGURATIONS]
        fields = {"how": timing.remark, "pid": ", PID and recording too" if timing.control else ""}
        claims += TABLE.claims("table 9/{row}{how}", ours, drawing=_drawing(*ours[-2:]), **fields)
    shadows = _factor(context, "SUJ + 3 PSM + ECM + Camera", Timing(shadows=True), duration)
    return [*claims, TABLE.claim("table 9/SUJ + 3 PSM + ECM + Camera (shadows)", shadows)]


def _drawing(without: float | str, drawn: float | str) -> str:
    """Share of the elapsed time spent on images, from the factors without and with them."""
    if isinstance(without, str) or isinstance(drawn, str):
        return "an unknown share"
    return f"{max(0.0, 1.0 - drawn / without):.0%}"


def _factor(context: Context, name: str, timing: Timing, duration: float) -> float | str:
    """The real-time factor of a configuration, or the reason why images could not be rendered."""
    context.progress(f"Table 9: {name}{timing.remark}")
    try:
        return real_time_factor(CONFIGURATIONS[name], timing, duration)
    except TrocarError as error:
        if not CONFIGURATIONS[name].camera:
            raise
        return f"not run: {error}"
