"""Scores of policies from outside: an episode is driven by the answers of a policy of tips."""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trocar import checks
from trocar.arms import load_arm
from trocar.errors import TrocarError
from trocar.spatial import Array
from trocar_learning.envs.actions import TipIncrement
from trocar_learning.envs.episode import Episode, PolicyFailure, play
from trocar_learning.envs.registration import make_task, task_kind
from trocar_learning.envs.task import Policy
from trocar_learning.envs.task_env import TaskEnv
from trocar_learning.envs.world import RATE
from trocar_learning.episodes import features as f
from trocar_learning.episodes.outside import TipPolicy
from trocar_learning.episodes.policy_server import FILMS, Needs, PolicyFrame, TipGoal
from trocar_learning.episodes.rollout import FrameReader, instruction_of

HOLD = 0.5  # time for which the arms hold after a failure of the policy [s]


@dataclass(frozen=True, kw_only=True)
class Driving:
    """Options of a policy that drives an environment.

    Attributes:
        steps: actions of an answer that are carried out before the next request.
        rate: of the policy's actions [Hz]; the control rate is 50 Hz.
        size: width and height of the pictures [pixels].
    """

    steps: int = 16
    rate: float = float(RATE)
    size: tuple[int, int] = (640, 480)

    def __post_init__(self) -> None:
        checks.count("steps", self.steps, 1, 1000)
        checks.number("rate", self.rate, 1.0, float(RATE), "Hz")
        object.__setattr__(self, "size", checks.picture_size("size", self.size))


def evaluate(
    task: str,
    policy: TipPolicy,
    count: int = 10,
    *,
    seed: int = 0,
    level: str = "nominal",
    driving: Driving | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Episode]:
    """Score a policy on a task: seeds `seed`, `seed + 1`, ...; the policy commands tips and jaws.

    Raises PolicyFailure, after the arms have held their place, if the policy fails.
    """
    checks.count("count", count)
    checks.count("seed", seed, 0)
    seeds = range(seed, seed + count)
    return list(driven_episodes(task, policy, seeds, level=level, driving=driving, progress=progress))


def driven_episodes(
    task: str,
    policy: TipPolicy,
    seeds: Sequence[int],
    *,
    level: str = "nominal",
    driving: Driving | None = None,
    progress: Callable[[float], None] | None = None,
) -> Iterator[Episode]:
    """The episodes of `evaluate`, one by one: those before a failure of the policy are not lost."""
    env, needs = driven_env(task, level), checked_needs(policy)
    for k, seed in enumerate(seeds):
        result = play(env, lambda env: driven(env, policy, needs, driving or Driving()), seed)
        yield replace(result, task=task, policy=getattr(policy, "name", "server"), level=level)
        if progress is not None:
            progress((k + 1) / len(seeds))


def driven_env(task: str, level: str, **options: Any) -> TaskEnv:
    """The environment of a task that a policy of tips can drive; options: of `TaskEnv`."""
    arms = task_kind(task).arms
    if not all(load_arm(kind).role == "PSM" for kind in arms.values()):
        raise TrocarError(f"the policy commands tips of PSMs; the task {task} has {', '.join(arms.values())}")
    env: TaskEnv = make_task(task, level=level, mode="tip_increment", **options)
    return env


def checked_needs(policy: TipPolicy) -> Needs:
    """Inputs of a policy; an error if it needs pictures that a task does not have."""
    needs = policy.needs()
    unknown = [name for name in needs.videos if name not in FILMS]
    if unknown:
        raise TrocarError(f"the policy needs the pictures {', '.join(unknown)}; there are {', '.join(FILMS)}")
    return needs


class DrivenPolicy:
    """A policy of tips as one of `rollout`: called after every reset, it returns action = f(observation).

    The policy is closed when nothing refers to this object any more.
    """

    def __init__(self, policy: TipPolicy, driving: Driving, name: str) -> None:
        self._policy, self._driving, self.name = policy, driving, name
        weakref.finalize(self, policy.close)
        self._needs = checked_needs(policy)

    def __call__(self, env: TaskEnv) -> Policy:
        return driven(env, self._policy, self._needs, self._driving)


def driven(env: TaskEnv, policy: TipPolicy, needs: Needs, driving: Driving) -> Policy:
    """Actions of a policy of tips in the current episode; before a failure is raised, the arms hold."""
    policy.reset()
    driver, steps = Driver(env, policy, needs, driving), 0

    def act(_observation: Any) -> Array:
        nonlocal steps
        try:
            action = driver.action()
        except PolicyFailure as failure:
            moved = hold(env)
            place = f"seed {env.np_random_seed}, step {steps}"
            raise PolicyFailure(f"{failure} ({place}); the arms held, moving {1e3 * moved:.2g} mm") from None
        steps += 1
        return action

    return act


def hold(env: TaskEnv) -> float:
    """Keep the commands for a while; the largest distance that a tip moves meanwhile [m]."""
    start = {arm: env.world.T_world_measured(arm)[:3, 3] for arm in env.world.arms}
    moved, over = 0.0, False
    for _ in range(round(HOLD * RATE)):
        if over:
            break
        resting = np.concatenate([*(mode.resting for mode in env.modes.values()), np.zeros(len(env.task.extra))])
        _, _, terminated, truncated, _ = env.step(resting)
        over = terminated or truncated
        moved = max(moved, *(math.dist(env.world.T_world_measured(arm)[:3, 3], p) for arm, p in start.items()))
    return moved


class Driver:
    """Actions of an environment from the answers of a policy of tips."""

    def __init__(self, env: TaskEnv, policy: TipPolicy, needs: Needs, driving: Driving) -> None:
        self._env, self._policy, self._needs, self._driving = env, policy, needs, driving
        self._reader = FrameReader(env)
        self._camera = env.camera(driving.size) if needs.videos else None
        depth = 1 - min(needs.video_frames)
        self._history: deque[dict[str, Array]] = deque(maxlen=depth)
        self._goals: list[dict[str, TipGoal]] = []
        self._passed, self._answered = 0.0, 0  # actions of the policy so far, and at its last answer

    def action(self) -> Array:
        """The action of the next period; asks the policy if all actions of its last answer are carried out."""
        self._look()
        now = int(self._passed + 1e-9)
        if not self._goals or now - self._answered >= min(self._driving.steps, len(self._goals)):
            self._goals, self._answered = self._asked(), now
        self._passed += self._driving.rate / RATE
        index = now - self._answered
        goal, parts = self._goals[index], []
        for label, mode in zip(self._reader.arms, self._env.modes.values(), strict=True):
            assert isinstance(mode, TipIncrement)
            parts.append(increment(mode, goal[label], self._env.period))
        return np.concatenate([*parts, np.zeros(len(self._env.task.extra))])

    def _look(self) -> None:
        if self._camera is not None:
            self._camera.look()
            pair = self._camera.images(("stereo",))
            self._history.append({f"endoscope_{eye}": picture for eye, picture in pair.items()})

    def _asked(self) -> list[dict[str, TipGoal]]:
        frames = [self._history[max(k - 1, -len(self._history))] for k in self._needs.video_frames if self._history]
        images = {name: [frame[name] for frame in frames] for name in self._needs.videos}
        features = self._reader.observed()
        frame = PolicyFrame(features[f.STATE], features, images, instruction_of(self._env.task))
        return self._policy.goals(self._needs, frame, self._reader.arms)


def increment(mode: TipIncrement, goal: TipGoal, period: float) -> Array:
    """The action (7,) that moves the commanded tip towards a goal, within the largest increments."""
    action = TipIncrement.towards(mode.T, goal.T, goal.jaw, period)
    for part in (action[:3], action[3:6]):
        part /= max(1.0, float(np.abs(part).max()))
    return action
