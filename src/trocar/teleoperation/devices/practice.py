"""A small scene for practice: instruments and endoscope of the scene `dvrk`, and objects within reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trocar.errors import check_known
from trocar.mechanics.cart import Cart
from trocar.simulation import Scene, SceneArm, Solid, load_scene
from trocar.simulation.objects.solid import objects_below

TASKS = {"practice": "a plate with a block and a needle", "none": "nothing to touch"}
PSMS = ("PSM1", "PSM2", "PSM3")


def training_scene(arms: Sequence[str] = PSMS[:1], task: str = "practice", *, contacts: bool = True) -> Scene:
    """PSMs of a Classic cart, its ECM, and the objects of a task; the time step is that of the dVRK's controllers.

    Args:
        arms: names of the PSMs. task: a key of `TASKS`. contacts: False for a copy that is only rendered.
    """
    check_known("PSM", PSMS, *arms)
    check_known("task", TASKS, task)

    def objects(placed: Mapping[str, SceneArm], cart: Cart) -> tuple[Solid, ...]:
        tips = []
        for name in arms:
            q = placed[name].q
            tips.append(cart.T_world_tip(name, cart.arm(name).home if q is None else q)[:3, 3])
        return objects_below(np.array(tips), max(cart.arm(name).jaw_length for name in arms))

    return load_scene("dvrk", arms=(*arms, "ECM"), objects=() if task == "none" else objects, contacts=contacts)
