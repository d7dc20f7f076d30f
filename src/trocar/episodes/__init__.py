"""Episodes of tasks as data sets: LeRobot v3.0 and v2.1 (with Open-H's names), robomimic, npz.

    from trocar.episodes import Recipe, load_episodes, record

    record(Recipe(task="Reach", count=100), "reach")      # experts' episodes, LeRobot v3.0
    episodes = load_episodes("reach")                     # the same, or a data set of others, as Recordings

`record` continues an interrupted recording and overwrites nothing. `violations` checks a folder by the rules of
Open-H's validator. `evaluate` scores a policy that answers at an address.
"""

from trocar.episodes.completion import with_effort, with_joints
from trocar.episodes.demonstration import Demonstration
from trocar.episodes.loaded import EpisodeSet, LoadedEpisode
from trocar.episodes.open_h_rules import Violation, violations
from trocar.episodes.reading import load_episodes
from trocar.episodes.recipe import FORMATS, Recipe
from trocar.episodes.recording_run import record

__all__ = ["FORMATS", "Demonstration", "EpisodeSet", "LoadedEpisode", "Recipe", "Violation", "load_episodes"]
__all__ += ["record", "violations", "with_effort", "with_joints"]
