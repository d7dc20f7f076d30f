"""Practice: a small scene with objects within reach of the instruments, and a device that plays a demonstration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trocar.errors import check_known
from trocar.mechanics.cart import Cart
from trocar.simulation import Scene, SceneArm, Solid, load_scene
from trocar.simulation.objects.solid import objects_below
from trocar.simulation.scene_file import named_scene
from trocar.teleoperation.devices.device import DEVICES, OPEN, DeviceKind, DeviceSample, PassiveDevice

# Tasks and their aims.
TASKS = {
    "practice": "touch the block and the needle on the plate, grip them and put them elsewhere",
    "suture": "pick the needle up from its tray, drive it through the tissue and pull its thread after it",
    "none": "move freely; there is nothing to touch",
}
ROUND = 16.0  # duration of the demonstration [s]
PSMS = ("PSM1", "PSM2", "PSM3")


def training_scene(
    arms: Sequence[str] = PSMS[:1], task: str = "practice", *, contacts: bool = True, seed: int = 0
) -> Scene:
    """PSMs of a Classic cart, its ECM, and the objects of a task; the time step is that of the dVRK's controllers.

    Args:
        arms: names of the PSMs; for suturing PSM1, PSM2 or both.
        task: a key of `TASKS`, or the name of another package's scene, which has all of its arms.
        contacts: False for a copy that is only rendered. seed: of a scene that is drawn at random.
    """
    check_known("PSM", PSMS, *arms)
    if (named := named_scene(task)) is not None:
        check_known(f"PSM of {task}", named.arms, *arms)
        return named.build(seed=seed, endoscope=True, contacts=contacts)
    check_known("task", TASKS, task)
    if task == "suture":
        return load_scene("suture", arms=(*arms, "ECM"), contacts=contacts)

    def objects(placed: Mapping[str, SceneArm], cart: Cart) -> tuple[Solid, ...]:
        tips = []
        for name in arms:
            q = placed[name].q
            tips.append(cart.T_world_tip(name, cart.arm(name).home if q is None else q)[:3, 3])
        return objects_below(np.array(tips), max(cart.arm(name).jaw_length for name in arms))

    return load_scene("dvrk", arms=(*arms, "ECM"), objects=() if task == "none" else objects, contacts=contacts)


class Scripted(PassiveDevice):
    """A device whose samples are a function of the time since its first reading [s]."""

    name = "script"
    begin = "wait"
    help = "plays by itself: pinch, circle, press on the plate, clutch, camera"

    def __init__(self, sample: Callable[[float], DeviceSample] | None = None) -> None:
        self._sample = sample or demonstration
        self._begun: float | None = None

    def read(self, t: float) -> DeviceSample:
        self._begun = t if self._begun is None else self._begun
        return self._sample(t - self._begun)


def demonstration(t: float) -> DeviceSample:
    """Pinch, circle of 40 mm, press on the plate, clutch, camera motion; repeats every 16 s."""
    s = t % ROUND
    gripper = OPEN * (0.5 + 0.5 * math.cos(2.0 * math.pi * s)) if s < 1.0 else OPEN
    turn, buttons = 2.0 * math.pi / 4.0, frozenset[str]()  # of the circle [rad/s]
    v = (0.0, 0.0, 0.0)
    if 1.0 <= s < 5.0:
        v = (0.02 * turn * math.cos(turn * (s - 1.0)), 0.02 * turn * math.sin(turn * (s - 1.0)), 0.0)
    elif 5.0 <= s < 11.0:
        v = (0.0, -0.042, 0.028) if s < 8.0 else (0.0, 0.042, -0.028)
    elif 11.0 <= s < 12.0:
        v, buttons = (0.05, 0.0, 0.0), frozenset({"clutch"})
    elif s >= 12.0:
        v, buttons = (0.03 if 13.0 <= s < 15.0 else -0.03, 0.0, 0.0), frozenset({"camera"})
    return DeviceSample(np.array([*v, 0.0, 0.0, 0.0]), gripper=gripper, buttons=buttons)


DEVICES["scripted"] = DeviceKind(lambda index: Scripted(), max_count=1)
