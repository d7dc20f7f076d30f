"""Names of the tasks, and their registration with Gymnasium."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import Any

from trocar.errors import TrocarError, check_known

# Module of every task in `trocar.envs.tasks`.
TASKS = MappingProxyType(
    {
        "Reach": "reach",
        "Track": "track",
        "Payload": "payload",
        "FaultAdapt": "fault_adapt",
        "CameraCentre": "camera_centre",
        "ForceHold": "force_hold",
        "NeedlePick": "needle_pick",
        "PegTransfer": "peg_transfer",
        "NeedleHandover": "needle_handover",
        "Approach": "approach",
        "Place": "place",
        "Insert": "insert",
        "Regrasp": "regrasp",
        "Pullout": "pullout",
        "Retract": "retract",
        "Palpate": "palpate",
    }
)


def register() -> None:
    """Register every task as `trocar/<Task>-v0`; a second call changes nothing."""
    import gymnasium

    for name in TASKS:
        identifier = f"trocar/{name}-v0"
        if identifier not in gymnasium.registry:
            gymnasium.register(
                id=identifier,
                entry_point="trocar.envs.registration:make_task",
                vector_entry_point="trocar.envs.vector_env:ThreadedVectorEnv",
                kwargs={"task": name},
            )


def make_task(task: str, **options: Any) -> Any:
    """The environment of a named task; see `TaskEnv` for the options. A `variant` is that of the task."""
    from trocar.envs.task_env import TaskEnv

    check_known("task", TASKS, task)
    kind = getattr(import_module(f"trocar.envs.tasks.{TASKS[task]}"), f"{task}Task")
    if "variant" in options and kind.__init__ is object.__init__:
        raise TrocarError(f"{task} has no variants; leave out variant")
    own = {"variant": options.pop("variant")} if "variant" in options else {}
    return TaskEnv(kind(**own), **options)
