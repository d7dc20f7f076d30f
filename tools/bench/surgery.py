"""Real-time factors of scenes of surgery on one core: simulated time over processor time, controllers included.

The parts of a step are in milliseconds: MuJoCo, the processes of objects, and the rest, which is the controller.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np

from trocar.simulation import Piercing, Scene, Thread, Tissue, engine
from trocar.simulation.skills import Hands, bite, handover_scene, suture_scene
from trocar.spatial import pose

ARM, EFFORT = "PSM1", 0.12  # [N m]


class Clock:
    """Processor time of MuJoCo's steps and of the processes of objects [s], while it is entered."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self.mujoco, self.objects = scene, 0.0, 0.0

    def __enter__(self) -> Clock:
        self._step, step = engine.mj_step, engine.mj_step

        def timed_step(*arguments: object) -> None:
            begin = time.thread_time()
            step(*arguments)
            self.mujoco += time.thread_time() - begin

        engine.mj_step = timed_step
        for placed in self._scene.objects.values():
            if placed.acts:
                placed.after_step = self._timed(placed.after_step)  # type: ignore[method-assign]
        return self

    def _timed(self, process: Callable[[], None]) -> Callable[[], None]:
        def timed() -> None:
            begin = time.thread_time()
            process()
            self.objects += time.thread_time() - begin

        return timed

    def __exit__(self, *failure: object) -> None:
        engine.mj_step = self._step
        for placed in self._scene.objects.values():
            placed.__dict__.pop("after_step", None)


def moving_needle() -> tuple[Scene, Callable[[], object]]:
    """Two PSMs, one of which moves a needle that it holds."""
    scene = handover_scene()
    hands = Hands(scene)
    hands.close(ARM, 0.05, 0.2)
    T = hands.tip(ARM)
    return scene, lambda: hands.move(ARM, T @ pose(p=[0.0, 0.0, -0.02]), 1.0)


def moving_thread() -> tuple[Scene, Callable[[], object]]:
    """A PSM that moves a needle with its thread."""
    scene = handover_scene()
    arms = {ARM: scene.arguments["arms"][ARM]}
    things = [*scene.arguments["objects"], Thread("thread", "needle")]
    scene = Scene(arms, objects=things, overlaps=True)
    hands = Hands(scene)
    hands.close(ARM, 0.05, 0.2)
    T = hands.tip(ARM)
    return scene, lambda: hands.move(ARM, T @ pose(p=[0.0, 0.0, -0.02]), 1.0)


def suturing() -> tuple[Scene, Callable[[], object]]:
    """A PSM that drives a needle with its thread through a tissue."""
    scene = suture_scene()
    hands = Hands(scene)
    hands.close(ARM, EFFORT, 0.3)
    return scene, lambda: bite(hands, ARM, angle=np.radians(150.0), rate=np.radians(80.0))


def two_tissues() -> tuple[Scene, Callable[[], object]]:
    """The same through one of two flaps of a wound, with points for both."""
    whole = suture_scene(cells=(3, 2, 2), size=(0.021, 0.030, 0.015), pose=pose(p=[-0.0115, 0.0, -0.0075]))
    things = list(whole.arguments["objects"])
    flap = things[-1]
    other = Tissue("right", flap.size, pose(p=[0.0115, 0.0, -0.0075]), (3, 2, 2), mesh=5e-3, piercing=Piercing())
    scene = Scene(**{**whole.arguments, "objects": [*things, other]})
    hands = Hands(scene)
    hands.close(ARM, EFFORT, 0.3)
    return scene, lambda: bite(hands, ARM, angle=np.radians(150.0), rate=np.radians(80.0))


SCENES = {
    "two PSMs with a needle": moving_needle,
    "PSM with a thread": moving_thread,
    "suturing": suturing,
    "suturing with two tissues": two_tissues,
}


def figures(rounds: int, progress: Callable[[float], None]) -> dict[str, float]:
    """Medians over `rounds` of the real-time factor and the parts of a step of every scene."""
    result: dict[str, float] = {}
    for k, (name, build) in enumerate(SCENES.items()):
        progress(k / len(SCENES))
        rows = []
        for _ in range(rounds):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scene, run = build()
                with Clock(scene) as clock:
                    begin, start = time.process_time(), scene.time
                    run()
                    spent, simulated = time.process_time() - begin, scene.time - start
            steps = simulated / scene.timestep / 1e3
            rest = spent - clock.mujoco - clock.objects
            rows.append((simulated / spent, clock.mujoco / steps, clock.objects / steps, rest / steps))
        parts = ("real-time factor", "MuJoCo, ms per step", "objects, ms per step", "controller and rest, ms per step")
        for part, value in zip(parts, np.median(rows, axis=0).tolist(), strict=True):
            result[f"{name}: {part}"] = value
    return result
