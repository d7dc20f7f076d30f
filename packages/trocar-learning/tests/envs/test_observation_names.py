"""The table of observations in docs/tasks.md has the names of every environment."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.support.repository import ROOT
from trocar_learning.envs.registration import ALL_TASKS, make_task


def short(names: tuple[str, ...], joints: tuple[str, ...]) -> str:
    """Names such as "tip x", "tip y", "tip z" as `tip x y z`, and those of all joints as `JOINTS`."""
    parts = []
    for first, group in groupby(names, lambda name: name.rpartition(" ")[0]):
        last = tuple(name.rpartition(" ")[2] for name in group)
        ends = ["JOINTS"] if last == joints else list(last)
        parts.append(f"`{' '.join(filter(None, [first, *ends]))}`")
    return ", ".join(parts)


@pytest.mark.parametrize("task", ALL_TASKS)
def test_the_documented_names_of_a_task_are_those_of_its_environment(task: str) -> None:
    env = make_task(task)
    env.reset(seed=0)
    joints = next(iter(env.world.arms.values())).arm.joint_names
    own = tuple(env.task.observed)
    assert env.names[len(env.names) - len(own) :] == own
    row = f"| `{task}` | {len(env.names)} | {short(own, joints)} |"
    assert row in (ROOT / "docs/tasks.md").read_text().splitlines(), f"expected in docs/tasks.md: {row}"
