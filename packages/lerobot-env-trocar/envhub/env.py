"""Tasks of trocar for LeRobot's EnvHub: make_env("ORG/REPO:env.py", trust_remote_code=True)."""

from __future__ import annotations

from typing import Any

from trocar_learning.episodes.lerobot_task import lerobot_tasks

SUITE = "trocar"
TASKS = ("Reach", "NeedlePick", "PegTransfer", "NeedleHandover")


def make_env(n_envs: int = 1, use_async_envs: bool = False, cfg: Any = None) -> dict[str, dict[int, Any]]:
    """Vector environments by suite and task number; `cfg` may have `task` (default: `TASKS`) and `image_size`."""
    tasks = (cfg.task,) if getattr(cfg, "task", None) else TASKS
    size = getattr(cfg, "image_size", None)
    return {SUITE: {k: lerobot_tasks(n_envs, use_async_envs, task, size=size) for k, task in enumerate(tasks)}}
