"""trocar-learning: tasks of the da Vinci Research Kit as environments, policies, and data sets.

    import gymnasium, trocar_learning as tl

    env = gymnasium.make("trocar/Reach-v0", level="1sigma")    # registered by the import above
    observation, info = env.reset(seed=0)
    policy = tl.expert(env)                                    # action = policy(observation)

These are the most used names. `trocar_learning.envs` (tasks and environments), `trocar_learning.episodes` (data sets)
and `trocar_learning.contest` (the peg transfer of a competition) offer more.
"""

import sys
from importlib import import_module

from trocar.lazy_names import loaded, origins

_ORIGINS = origins(__file__)
__all__ = list(_ORIGINS)


if "trocar.cli" not in sys.modules or "gymnasium" in sys.modules:  # the command line must start quickly
    import_module("trocar_learning.envs")  # registers the tasks


def __getattr__(name: str) -> object:
    """Import names on first use."""
    return loaded(__name__, _ORIGINS, name)


def __dir__() -> list[str]:
    return sorted({*__all__, "__doc__"})
