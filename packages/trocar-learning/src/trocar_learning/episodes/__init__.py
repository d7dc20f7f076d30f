"""Episodes of tasks as data sets: LeRobot v3.0 and v2.1 (with Open-H's names), robomimic, npz.

    from trocar_learning.episodes import EpisodeRecipe, load_episodes, record

    record(EpisodeRecipe(task="Reach", count=10), "reach")       # experts' episodes, LeRobot v3.0
    episodes = load_episodes("reach")                     # the same, or a data set of others, as Recordings

`record` continues an interrupted recording and overwrites nothing. `broken_rules` checks a folder by the rules of
Open-H's validator. `evaluate` scores a policy that answers at an address.
"""

from trocar_learning.envs.episode import PolicyFailure
from trocar_learning.episodes.completion import with_effort, with_joints
from trocar_learning.episodes.conversion import convert
from trocar_learning.episodes.demonstration import Demonstration
from trocar_learning.episodes.evaluation import Driving, evaluate
from trocar_learning.episodes.loaded import EpisodeSet, LoadedEpisode
from trocar_learning.episodes.open_h_rules import BrokenRule, broken_rules
from trocar_learning.episodes.policy_server import PolicyServer
from trocar_learning.episodes.reading import load_episodes
from trocar_learning.episodes.recipe import EpisodeRecipe
from trocar_learning.episodes.recording_run import record

__all__ = ["BrokenRule", "Demonstration", "Driving", "EpisodeRecipe", "EpisodeSet", "LoadedEpisode"]
__all__ += ["PolicyFailure", "PolicyServer", "broken_rules", "convert", "evaluate", "load_episodes", "record"]
__all__ += ["with_effort", "with_joints"]
