"""Players that `trocar score` scores: the expert, a policy by name, file, folder or address, or a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trocar.commands.options import pixels
from trocar.errors import TrocarError, check_known
from trocar_learning.commands.task_names import task_name

if TYPE_CHECKING:
    from trocar_learning.envs.episode import Episode, Observer, PolicyOf
    from trocar_learning.envs.task_env import TaskEnv

OUTSIDE = ("rate", "steps", "timeout", "pictures")  # settings of a server, a LeRobot policy or a client
WRIST = ("wrist", "compensation")  # settings of the environment
NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Player:
    """A player and its task.

    Attributes:
        name: as the result names it: expert, random, pid, or the text of the policy or the client.
        client: command of a client in ROS 2; None for a policy. settings: values of --set by key.
    """

    task: str
    name: str
    level: str
    client: str | None
    settings: Mapping[str, Any]

    @classmethod
    def chosen(
        cls,
        tasks: Sequence[str],
        expert: bool,
        policies: Sequence[str],
        client: str | None,
        levels: Sequence[str],
        settings: Mapping[str, Any],
    ) -> Player:
        """The one player of the command line."""
        from trocar_learning.envs import LEVELS

        if expert + len(policies) + (client is not None) != 1:
            raise TrocarError("choose one of --expert, --policy POLICY and --client COMMAND; several with --table")
        if len(tasks) != 1 or len(levels) > 1:
            raise TrocarError("score one task at one level; several with --table")
        level = levels[0] if levels else "nominal"
        check_known("level of randomisation", LEVELS, level)
        name = "expert" if expert else client or policies[0]
        return cls(task=task_name(tasks[0]), name=name, level=level, client=client, settings=settings)


def settings_of(texts: Sequence[str] | None) -> dict[str, Any]:
    """Values of --set by key; pictures are a size in pixels, or None for none; wrist and compensation are texts."""
    values: dict[str, Any] = {}
    for text in texts or ():
        key, sign, value = text.partition("=")
        check_known("setting", (*OUTSIDE, *WRIST), key)
        if not sign:
            raise TrocarError(f"--set takes KEY=VALUE, such as rate=30, got {text!r}")
        if key in WRIST:
            values[key] = value
            continue
        try:
            values[key] = _pictures(value) if key == "pictures" else int(value) if key == "steps" else float(value)
        except ValueError as error:
            if isinstance(error, TrocarError):
                raise
            raise TrocarError(f"--set {key} takes a number, got {value!r}") from None
    return values


def wrist_options(settings: Mapping[str, Any]) -> dict[str, str]:
    """The settings that are options of the environment."""
    return {name: settings[name] for name in WRIST if name in settings}


def _pictures(value: str) -> tuple[int, int] | None:
    return None if value == NONE else pixels("--set pictures", value)


# Plays the episode of a seed and reports its progress, from 0 to 1, to a function; observers follow policies only.
Play = Callable[..., "Episode"]


def opened_play(running: ExitStack, player: Player) -> Play:
    """The function that plays the episodes of a player, closed with `running`."""
    if player.client is not None:
        return _client_play(player, player.client)
    from trocar_learning.envs.episode import play

    env, policy_of = opened_player(running, player)

    def run(seed: int, progress: Callable[[float], None], *observers: Observer) -> Episode:
        return play(env, policy_of, seed, lambda step: progress(step.env.steps / env.task.periods), *observers)

    return run


def _client_play(player: Player, client: str) -> Play:
    """Runs of a client in ROS 2."""
    from trocar.commands.serve import checked_domain
    from trocar_learning.commands.contest import client_trial

    check_known("task of a client", ("PegTransfer",), player.task)
    check_known("level of a client", ("nominal",), player.level)
    if wrist_options(player.settings):
        raise TrocarError("a client plays on rigid wrists; leave out --set wrist and compensation")
    domain = checked_domain(None, "lo")
    return lambda seed, progress: client_trial(client, seed, domain, player.settings, progress)


def opened_player(running: ExitStack, player: Player) -> tuple[TaskEnv, PolicyOf]:
    """Environment and policy of a player, closed with `running`."""
    from trocar_learning.envs.policies import POLICIES, environment_options, policy_of
    from trocar_learning.envs.registration import make_task
    from trocar_learning.episodes.outside import check_policy, is_file

    wrist = wrist_options(player.settings)
    inside = player.name in POLICIES or is_file(player.name)
    if len(player.settings) > len(wrist) and inside:
        raise TrocarError(f"--set goes with a server, a LeRobot policy or a client, except for {' and '.join(WRIST)}")
    if player.name not in POLICIES:
        check_policy(player.name)
    if not inside:
        return _driven(running, player)
    policy = policy_of(player.name)
    return make_task(player.task, level=player.level, **environment_options(policy), **wrist), policy


def _driven(running: ExitStack, player: Player) -> tuple[TaskEnv, PolicyOf]:
    """A policy of tips: of a server, or of LeRobot."""
    from trocar_learning.episodes.evaluation import DrivenPolicy, Driving, driven_env
    from trocar_learning.episodes.outside import ANSWER_TIMEOUT, open_policy

    wrist = wrist_options(player.settings)
    chosen: Any = {name: value for name, value in player.settings.items() if name not in wrist}
    timeout = chosen.pop("timeout", ANSWER_TIMEOUT)
    if (size := chosen.pop("pictures", None)) is not None:
        chosen["size"] = size
    driving = Driving(**chosen)
    policy = open_policy(player.name, timeout)
    running.callback(policy.close)
    return driven_env(player.task, player.level, **wrist), DrivenPolicy(policy, driving, player.name)
