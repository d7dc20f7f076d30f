"""Names of tasks on the command line."""

from __future__ import annotations

from trocar.errors import UnknownName


def task_name(text: str) -> str:
    """Name of a task, also from peg_transfer or peg-transfer."""
    from trocar_learning.envs.registration import ALL_TASKS

    spelt = {known.lower(): known for known in ALL_TASKS}
    plain = text.lower().replace("_", "").replace("-", "")
    if plain not in spelt:
        raise UnknownName("task", text, tuple(ALL_TASKS))
    return spelt[plain]
