from trocar_learning.envs import LEVELS, TASKS, Policy, Task, TaskEnv, expert, make_task, pid
from trocar_learning.episodes import EpisodeRecipe, load_episodes, record

__all__ = ["LEVELS", "TASKS", "EpisodeRecipe", "Policy", "Task", "TaskEnv", "expert", "load_episodes", "make_task"]
__all__ += ["pid", "record"]
