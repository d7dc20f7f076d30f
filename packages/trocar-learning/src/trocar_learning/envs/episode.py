"""One episode of a policy: its control periods, which observers follow, and its result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from trocar.errors import TrocarError, shown
from trocar.files import Json
from trocar.spatial import Array
from trocar_learning.envs.task import Policy
from trocar_learning.envs.task_env import TaskEnv
from trocar_learning.envs.world import Info, Observation

COMMON = ("is_success", "first_success", "time", "path", "peak_force", "drops", "saturation", "clipped")

PolicyOf = Callable[[TaskEnv], Policy]  # called after every reset


class PolicyFailure(TrocarError):
    """A policy that fails in an episode, or gives an answer that cannot be carried out."""


@dataclass(frozen=True)
class Step:
    """A control period; the first one of an episode is its start, without an action.

    Attributes:
        env: after the period. info: of the environment. over: the episode has ended.
    """

    env: TaskEnv
    info: Info
    action: Array | None = None
    reward: float = 0.0
    over: bool = False


Observer = Callable[[Step], None]


@dataclass(frozen=True, kw_only=True)
class Episode:
    """Result of an episode, or of a run of a client or a person.

    Attributes:
        held, first: the success condition has held for its time, was met once. steps: control periods.
        seconds: processor time without the reset [s]. time: [s] by the simulation's clock.
        path: length of all tips' paths [m]; NaN if it was not measured. peak_force: [N].
        details: figures of the task, such as points. ended: reason for which a run ended early; "" if there is none.
        task, policy, level: names. wrist: options of the arms' wrists in words; "" for those of the level.
    """

    task: str = ""
    policy: str = ""
    level: str = ""
    seed: int
    held: bool
    first: bool
    steps: int = 0
    seconds: float = 0.0
    time: float
    path: float = math.nan
    peak_force: float
    drops: int
    wrist: str = ""
    ended: str = ""
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, seed: int, info: Info, **others: Any) -> Episode:
        """The episode that its last `info` describes; others: remaining attributes."""
        return cls(
            seed=seed,
            held=bool(info["is_success"]),
            first=bool(info["first_success"]),
            time=float(info["time"]),
            path=float(info["path"]),
            peak_force=float(info["peak_force"]),
            drops=int(info["drops"]),
            details={name: value for name, value in info.items() if name not in COMMON},
            **others,
        )

    @classmethod
    def read(cls, entries: Json) -> Episode:
        """The episode of `entries`."""
        own = {column.name for column in fields(cls)} - {"details"}
        details = {name: value for name, value in entries.items() if name not in own}
        return cls(**{name: value for name, value in entries.items() if name in own}, details=details)

    def entries(self) -> Json:
        """Attributes by name, figures of the task among them."""
        return {name: value for name, value in vars(self).items() if name != "details"} | dict(self.details)


def steps(env: TaskEnv, policy_of: PolicyOf, begun: tuple[Observation, Info]) -> Iterator[Step]:
    """The start and the control periods of an episode, until it is over.

    Args:
        begun: what `env.reset` has returned.

    Raises PolicyFailure if the policy raises an error or leaves.
    """
    observation, info = begun
    act, over = policy_of(env), False
    yield Step(env, info)
    while not over:
        try:
            action = act(observation)
        except (Exception, SystemExit) as error:  # a policy that leaves has failed, too
            reason = str(error) if isinstance(error, TrocarError) else described(error)
            place = f"{info['time']:.2f} s of seed {env.np_random_seed}"
            raise PolicyFailure(f"the policy failed at {place}: {reason}") from error
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        yield Step(env, info, np.asarray(action, dtype=float), reward, over)


def play(env: TaskEnv, policy_of: PolicyOf, seed: int, *observers: Observer) -> Episode:
    """Play the episode of a seed; the observers are called with its start and every control period."""
    return played(seed, steps(env, policy_of, env.reset(seed=seed)), *observers)


def played(seed: int, run: Iterator[Step], *observers: Observer) -> Episode:
    """The result of the steps of an episode, which observers follow."""
    begin, count = time.process_time(), -1
    for step in run:
        count += 1
        for observe in observers:
            observe(step)
    return Episode.of(seed, step.info, steps=count, seconds=time.process_time() - begin)


def described(error: BaseException) -> str:
    """Type, message and the last line of a file of an error, for one line."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        place, trace = f" (line {trace.tb_lineno} of {Path(trace.tb_frame.f_code.co_filename).name})", trace.tb_next
    return f"{type(error).__name__}: {shown(str(error), 200)}{place}"
