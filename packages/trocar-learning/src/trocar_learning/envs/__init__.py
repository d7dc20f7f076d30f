"""Tasks of the da Vinci Research Kit as Gymnasium environments: `trocar/<Task>-v0`.

    import gymnasium, trocar_learning.envs

    env = gymnasium.make("trocar/Reach-v0", level="1sigma")
    observation, info = env.reset(seed=0)
    policy = trocar_learning.envs.expert(env)

`TaskEnv` runs a `Task` under the control loop of the live robot; `expert` and `pid` return its scripted policies.
`TASKS` lists the tasks, `LEVELS` the levels of randomisation.
"""

import gymnasium

from trocar.errors import TrocarError
from trocar_learning.envs.levels import LEVELS
from trocar_learning.envs.registration import TASKS, make_task, register
from trocar_learning.envs.task import Policy, Task
from trocar_learning.envs.task_env import TaskEnv


def expert(env: gymnasium.Env) -> Policy:
    """The scripted expert of an environment, also of a wrapped one, for the episode that `reset` has started."""
    return _task_env(env).expert()


def pid(env: gymnasium.Env) -> Policy:
    """The policy of fixed PID gains of an environment, also of a wrapped one, for the current episode."""
    return _task_env(env).pid()


def _task_env(env: gymnasium.Env) -> TaskEnv:
    inner = getattr(env, "unwrapped", env)
    if not isinstance(inner, TaskEnv):
        raise TrocarError(f"the environment is no task of trocar, got {type(inner).__name__}")
    return inner


register()

__all__ = ["LEVELS", "TASKS", "Policy", "Task", "TaskEnv", "expert", "make_task", "pid", "register"]
