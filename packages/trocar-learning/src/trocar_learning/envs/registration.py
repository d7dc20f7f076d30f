"""Names of the tasks, and their registration with Gymnasium."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trocar.errors import TrocarError, check_known

if TYPE_CHECKING:
    from trocar_learning.envs.task import Task

# Module of every task in `trocar_learning.envs.tasks`.
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
# Parts of tasks, for learning; the benchmark does not have them.
SUBTASKS = MappingProxyType({"PegLift": "peg_lift"})
ALL_TASKS = MappingProxyType({**TASKS, **SUBTASKS})


def register() -> None:
    """Register every task and subtask as `trocar/<Task>-v0`; a second call changes nothing."""
    import gymnasium

    for name in ALL_TASKS:
        identifier = f"trocar/{name}-v0"
        if identifier not in gymnasium.registry:
            gymnasium.register(
                id=identifier,
                entry_point="trocar_learning.envs.registration:make_task",
                vector_entry_point="trocar_learning.envs.registration:make_tasks",
                kwargs={"task": name},
            )


def batched_tasks() -> tuple[str, ...]:
    """Names of the tasks that run as worlds of a `SceneBatch`."""
    return tuple(name for name in ALL_TASKS if task_kind(name).batched)


def task_kind(task: str) -> type[Task]:
    """The class of a named task."""
    check_known("task", ALL_TASKS, task)
    kind: type[Task] = getattr(import_module(f"trocar_learning.envs.tasks.{ALL_TASKS[task]}"), f"{task}Task")
    return kind


def make_tasks(task: str, num_envs: int = 1, backend: str = "environments", **options: Any) -> Any:
    """Several environments of a task at once, as `gymnasium.make_vec` returns them.

    Args:
        backend: "environments", one `TaskEnv` each with its options, stepped in threads; or "threads" or "warp", worlds
            of one `batch.SceneBatch` with the options of `DrawnVectorEnv`: faster, for rigid tasks and plain states.
    """
    check_known("backend of several environments", ("environments", "threads", "warp"), backend)
    if backend == "environments":
        from trocar_learning.envs.vector_env import ThreadedVectorEnv

        return ThreadedVectorEnv(task, num_envs, **options)
    from trocar_learning.envs.worlds.vector_worlds import DrawnVectorEnv

    return DrawnVectorEnv(task, num_envs, backend, **options)


def make_task(task: str, **options: Any) -> Any:
    """The environment of a named task; see `TaskEnv` for the options. A `variant` is that of the task."""
    from trocar_learning.envs.task_env import TaskEnv

    kind = task_kind(task)
    if "variant" in options and kind.__init__ is object.__init__:
        raise TrocarError(f"{task} has no variants; leave out variant")
    own = {"variant": options.pop("variant")} if "variant" in options else {}
    return TaskEnv(kind(**own), **options)
