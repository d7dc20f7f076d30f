"""Episodes of tasks as data sets: LeRobot v3.0 and v2.1 (with Open-H's names), robomimic, npz.

    from trocar.episodes import EpisodeRecipe, load_episodes, record

    record(EpisodeRecipe(task="Reach", count=10), "reach")       # experts' episodes, LeRobot v3.0
    episodes = load_episodes("reach")                     # the same, or a data set of others, as Recordings

`record` continues an interrupted recording and overwrites nothing. `broken_rules` checks a folder by the rules of
Open-H's validator. `evaluate` scores a policy that answers at an address.
"""

from trocar.episodes.completion import with_effort, with_joints
from trocar.episodes.conversion import convert
from trocar.episodes.demonstration import Demonstration
from trocar.episodes.evaluation import Driving, evaluate
from trocar.episodes.loaded import EpisodeSet, LoadedEpisode
from trocar.episodes.open_h_rules import BrokenRule, broken_rules
from trocar.episodes.policy_messages import PolicyFailure
from trocar.episodes.policy_server import PolicyServer
from trocar.episodes.reading import load_episodes
from trocar.episodes.recipe import EpisodeRecipe
from trocar.episodes.recording_run import record

__all__ = ["BrokenRule", "Demonstration", "Driving", "EpisodeRecipe", "EpisodeSet", "LoadedEpisode"]
__all__ += ["PolicyFailure", "PolicyServer", "broken_rules", "convert", "evaluate", "load_episodes", "record"]
__all__ += ["with_effort", "with_joints"]
