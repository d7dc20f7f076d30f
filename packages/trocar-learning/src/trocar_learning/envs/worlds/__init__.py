"""Rigid tasks as thousands of worlds at once: the environments of `trocar_learning.envs` on `batch.SceneBatch`.

    from trocar_learning.envs.worlds import Episodes, TaskWorlds

    episodes = Episodes.drawn("NeedlePick", range(1000))    # starts by the seeds of the single environment
    worlds = TaskWorlds(episodes, 4096, backend="warp")     # tensors stay on the GPU
    observation = worlds.reset()
    observation, reward, terminated, truncated, info = worlds.step(action)

`vector_worlds.WorldsVectorEnv` is the adapter for gymnasium.vector, `rsl_worlds.RslWorlds` that for rsl_rl.
"""

from trocar_learning.envs.worlds.episodes import Episodes
from trocar_learning.envs.worlds.task_worlds import TaskWorlds

__all__ = ["Episodes", "TaskWorlds"]
