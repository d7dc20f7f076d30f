"""The checkers of Gymnasium and Stable-Baselines3 on every task, in all its rewards, and hindsight replay on one.

The same seed gives the same bits in every task: alone, pickled in the middle of an episode, in a vector environment and
in another process.

    make check-envs                                # in an environment of its own
    python -m tools.check_envs Reach Palpate       # with stable-baselines3 installed

Warnings are errors, except those about the scale of observations, which are in SI units.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import pickle
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from gymnasium.utils.env_checker import check_env

from trocar.errors import TrocarError
from trocar_learning.envs import TASKS, make_task
from trocar_learning.envs.vector_env import ThreadedVectorEnv

SEED, PERIODS = 5, 4  # of the comparison of bits
REPLAYED, STEPS = "Reach", 260  # task and steps of hindsight replay
ACCEPTED = "we recommend|render|not within"  # opinions of the checkers, not faults


def check(task: str, checker: Any) -> list[str]:
    """Check a task with its default reward and, if it has a goal, the goal-conditioned one; what was checked."""
    checked = []
    for reward in ("dense", "goal"):
        env = make_task(task, level="3sigma")
        if reward == "goal":
            if env.task.goal_tolerance is None:
                continue
            env = make_task(task, level="3sigma", reward="goal")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message=f".*({ACCEPTED}).*")
            check_env(env, skip_render_check=True)
            checker(env)
        if reward == "goal":
            _check_batch(env)
        checked.append(reward)
    return checked


def _check_batch(env: Any) -> None:
    """Rewards of a batch of goals are those of the single ones, also of goals that were achieved by chance."""
    env.reset(seed=0)
    rows = [env.step(env.action_space.sample())[0] for _ in range(3)]
    achieved, desired = (np.stack([row[name] for row in rows]) for name in ("achieved_goal", "desired_goal"))
    desired[1] = achieved[1]
    desired[2] = achieved[2] + 2.0 * env.task.goal_tolerance
    together = env.compute_reward(achieved, desired, [{}] * 3)
    single = [env.compute_reward(a, d, {}) for a, d in zip(achieved, desired, strict=True)]
    if list(together) != single or single[1:] != [0.0, -1.0]:
        raise TrocarError(f"rewards of a batch {list(together)} differ from {single}, or are wrong")


def check_bits(task: str) -> None:
    """Compare the observations of a seed in four ways."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        elsewhere = pool.submit(digest, task).result()
    digests = {"alone": digest(task), "pickled": digest(task, pickled=True), "vector": _vector_digest(task)}
    different = [name for name, value in digests.items() if value != elsewhere]
    if different:
        raise TrocarError(f"{task}: seed {SEED} gives other bits {', '.join(different)} than in another process")


def digest(task: str, pickled: bool = False) -> str:
    """Checksum of the observations of an episode of random actions."""
    env = make_task(task, level="3sigma")
    rows = [env.reset(seed=SEED)[0]]
    for k, action in enumerate(_actions(env)):
        if pickled and k == PERIODS // 2:
            env = pickle.loads(pickle.dumps(env))
        observation, _, terminated, truncated, _ = env.step(action)
        rows.append(observation)
        if terminated or truncated:
            break
    return _checksum(rows)


def _vector_digest(task: str) -> str:
    """The same of the second environment of a vector, while the first one rests."""
    vector = ThreadedVectorEnv(task, 2, 2, level="3sigma")
    rows = [vector.reset(seed=SEED - 1)[0][1].copy()]
    for action in _actions(vector.envs[0]):
        observations, _, terminated, truncated, _ = vector.step(np.stack([np.zeros_like(action), action]))
        rows.append(observations[1].copy())
        if terminated[1] or truncated[1]:
            break
    vector.close()
    return _checksum(rows)


def _actions(env: Any) -> Any:
    return np.random.default_rng(SEED).uniform(-1.0, 1.0, (PERIODS, *env.action_space.shape))


def _checksum(rows: list[Any]) -> str:
    return hashlib.sha256(b"".join(row.tobytes() for row in rows)).hexdigest()


def replay() -> float:
    """Train SAC with hindsight replay for a few steps; the share of successes in the last episodes."""
    from stable_baselines3 import SAC, HerReplayBuffer

    env = make_task(REPLAYED, reward="goal")
    model = SAC("MultiInputPolicy", env, replay_buffer_class=HerReplayBuffer, learning_starts=200, seed=0, device="cpu")
    model.learn(STEPS)
    return float(np.mean(model.ep_success_buffer or [0.0]))


def main() -> None:
    """Check the named tasks, or all."""
    try:
        from stable_baselines3.common.env_checker import check_env as checker
    except ImportError:
        raise SystemExit("tools.check_envs requires stable-baselines3: run make check-envs") from None
    for task in sys.argv[1:] or TASKS:
        check_bits(task)
        print(f"{task}: {', '.join(check(task, checker))}, same bits", flush=True)
    print(f"{REPLAYED}: {STEPS} steps of SAC with hindsight replay, success {100 * replay():.0f} %")


if __name__ == "__main__":
    main()
