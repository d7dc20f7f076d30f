"""Policies from files. `LOADERS` has a reader for every file ending; a package with another format adds its own."""

from __future__ import annotations

import hashlib
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trocar.errors import TrocarError, check_known, shown
from trocar_learning.envs.episode import PolicyOf, described
from trocar_learning.envs.network_policy import load_network
from trocar_learning.envs.task import Policy
from trocar_learning.envs.task_env import TaskEnv

NAME = "policy"  # function of a Python file
POLICIES = ("random", "pid", "expert")


def policy_of(name: str) -> PolicyOf:
    """The policy random, pid or expert, or that of a file."""
    if name in POLICIES:
        return _random if name == "random" else TaskEnv.pid if name == "pid" else TaskEnv.expert
    if Path(name).suffix.lower() not in LOADERS:
        check_known("policy", (*POLICIES, "a file of a policy"), name)
    return load_policy(Path(name))


def _random(env: TaskEnv) -> Policy:
    """Random actions that the seed of the episode determines."""
    env.action_space.seed(env.np_random_seed)
    return lambda observation: env.action_space.sample()


def file_name(path: Path) -> str:
    """Name of a policy in results, with a part of its checksum: a changed file does not continue the old row."""
    return f"{path.name}:{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"


def own_task(policy: object) -> str | None:
    """The only task of a policy; None if it runs on any."""
    task = getattr(policy, "task", None)
    return None if task is None else str(task)


def load_policy(path: Path) -> PolicyOf:
    """The policy of a file: a function that takes an environment after its reset and returns `action = f(observation)`.

    A Python file is executed. A network (.npz) is data; see `NetworkPolicy`.
    """
    suffix = path.suffix.lower()
    if suffix not in LOADERS:
        raise TrocarError(f"a policy is a file that ends in {' or '.join(LOADERS)}, got {shown(str(path))}")
    if not path.is_file():
        raise TrocarError(f"the policy {path} does not exist")
    return LOADERS[suffix](path)


def python_policy(path: Path) -> PolicyOf:
    """The function `policy(env)` of a Python file."""
    try:
        names = runpy.run_path(str(path), run_name=path.stem)
    except (Exception, SystemExit) as error:
        raise TrocarError(f"the policy {path} cannot be executed: {described(error)}") from error
    function = names.get(NAME)
    if not callable(function):
        raise TrocarError(f"{path} must define {NAME}(env), which returns a function: action = f(observation)")
    return _checked(function, path)


def _checked(function: Callable[[TaskEnv], Any], path: Path) -> PolicyOf:
    def policy_of(env: TaskEnv) -> Policy:
        try:
            act = function(env)
        except (Exception, SystemExit) as error:
            raise TrocarError(f"{NAME}(env) of {path} failed: {described(error)}") from error
        if not callable(act):
            raise TrocarError(
                f"{NAME}(env) of {path} must return a function: action = f(observation), got {shown(act)}"
            )
        return act

    return policy_of


def environment_options(policy: object) -> dict[str, str]:
    """Options of `make_task` that a policy needs: those on which a network was trained. Default: the task's own."""
    return dict(getattr(policy, "options", {}))


LOADERS: dict[str, Callable[[Path], PolicyOf]] = {".py": python_policy, ".npz": load_network}
