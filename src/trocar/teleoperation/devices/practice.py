"""A small scene for practice: instruments and endoscope of a Classic cart, and objects within reach."""

from __future__ import annotations

from collections.abc import Sequence

from trocar.errors import check_known
from trocar.mechanics.cart import load_cart
from trocar.robot.controller.constants import PERIOD
from trocar.simulation import Scene, SceneArm
from trocar.simulation.objects.practice import practice_objects

TASKS = {"practice": "a plate with a block and a needle", "none": "nothing to touch"}
# As in the scene `dvrk`: set-up joints [m, rad] and joints [rad, m].
SET_UP = {
    "PSM1": (0.007, -0.588, -0.757, -0.737, -0.309, -0.687),
    "PSM2": (0.059, -0.084, 2.310, -0.372, 0.386, -0.009),
    "PSM3": (-0.013, -1.589, 1.294, 0.847, 0.304, 0.520),
}
JOINTS = {
    "PSM1": (-0.089, -0.078, 0.176, 0.0, 0.0, 0.0, 0.5),
    "PSM2": (0.007, -0.326, 0.138, 0.0, 0.0, 0.0, 0.5),
    "PSM3": (-0.014, -0.017, 0.142, 0.0, 0.0, 0.0, 0.5),
}


def training_scene(arms: Sequence[str] = ("PSM1",), task: str = "practice", *, contacts: bool = True) -> Scene:
    """PSMs of a Classic cart, its ECM, and the objects of a task; the time step is that of the dVRK's controllers.

    Args:
        arms: names of the PSMs. task: a key of `TASKS`. contacts: False for a copy that is only rendered.
    """
    check_known("PSM", SET_UP, *arms)
    check_known("task", TASKS, task)
    cart = load_cart("Classic", q_setup=SET_UP)
    placed = {name: SceneArm(mount=name, q=JOINTS[name]) for name in arms} | {"ECM": SceneArm(mount="ECM")}
    objects = () if task == "none" else practice_objects(Scene(placed, cart=cart, timestep=PERIOD))
    return Scene(placed, cart=cart, timestep=PERIOD, objects=objects, contacts=contacts)
