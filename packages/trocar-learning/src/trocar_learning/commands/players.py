"""Players that `trocar score` scores: the expert, a policy by name, file, folder or address, or a client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trocar.commands.options import pixels
from trocar.errors import TrocarError, check_known
from trocar_learning.commands.task_names import task_name

if TYPE_CHECKING:
    from trocar_learning.envs.policies import PolicyOf
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


def opened_player(running: ExitStack, player: Player) -> tuple[TaskEnv, PolicyOf]:
    """Environment and policy of a player, closed with `running`."""
    from trocar_learning.envs.bench import POLICIES, scripted_policy
    from trocar_learning.envs.policies import environment_options, load_policy
    from trocar_learning.envs.registration import make_task
    from trocar_learning.episodes.outside import check_policy, is_file

    wrist = wrist_options(player.settings)
    if len(player.settings) > len(wrist) and (player.name in POLICIES or is_file(player.name)):
        raise TrocarError(f"--set goes with a server, a LeRobot policy or a client, except for {' and '.join(WRIST)}")
    if player.name in POLICIES:
        scripted = make_task(player.task, level=player.level, **wrist)
        return scripted, lambda env: scripted_policy(env, player.name, int(env.np_random_seed or 0))
    check_policy(player.name)
    if not is_file(player.name):
        return _driven(running, player)
    policy_of = load_policy(Path(player.name))
    return make_task(player.task, level=player.level, **environment_options(policy_of), **wrist), policy_of


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
