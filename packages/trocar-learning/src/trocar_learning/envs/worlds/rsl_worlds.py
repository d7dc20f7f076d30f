"""Many worlds of a task as an environment of rsl_rl; needs torch, tensordict and rsl_rl."""

from __future__ import annotations

from collections.abc import Callable

from trocar import checks
from trocar.errors import TrocarError
from trocar.spatial import Values
from trocar_learning.envs.world import Info
from trocar_learning.envs.worlds.task_worlds import TaskWorlds

try:
    import torch
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ModuleNotFoundError as missing:
    raise TrocarError(f"worlds for rsl_rl need {missing.name}: pip install rsl-rl-lib") from None


class RslWorlds(VecEnv):
    """Worlds whose tensors stay on their device; an episode that ends is followed by the next one.

    Args:
        worlds: with backend "warp". features: of observations (n, k), the network's input. Default: as they are.
        reward: (worlds, observation, info, done) -> (n,) for training. Default: the task's own.
        periods: control periods of an episode. Default: those of the task.
        through: continue an episode after success, so that the policy loses no reward by it.
        lost: observations -> worlds (n,) whose episode ends, in addition to the task's own failures.

    Attributes:
        ended: numbers of episodes that have ended, with success, and diverged, since the last time it was set.
        episode_length_buf: (n,) control periods of the current episodes. rsl_rl sets it to random numbers, so that the
            first episodes end at different times; the time of the task does not change.
    """

    def __init__(
        self,
        worlds: TaskWorlds,
        *,
        features: Callable[[Values], Values] | None = None,
        reward: Callable[[TaskWorlds, Values, Info, Values], Values] | None = None,
        periods: int | None = None,
        through: bool = False,
        lost: Callable[[Values], Values] | None = None,
    ) -> None:
        if worlds.batch.backend != "warp":
            raise TrocarError("rsl_rl needs worlds with tensors of torch; make them with backend='warp'")
        self._lost = lost
        self.worlds, self._features, self._reward, self._through = worlds, features, reward, through
        self.num_envs, self.num_actions = worlds.n, worlds.size
        self.max_episode_length = worlds.task.periods if periods is None else checks.count("periods", periods)
        self.device = torch.device(worlds.batch.worlds.device)
        self.cfg: Info = {"task": worlds.episodes.task}
        self.ended = [0, 0, 0]
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long, device=self.device)
        self._succeeded = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        self._observed = worlds.observation()

    def get_observations(self) -> Values:
        """The network's input as a TensorDict."""
        features = self._observed if self._features is None else self._features(self._observed)
        return TensorDict({"policy": features}, batch_size=[self.num_envs], device=self.device)

    def step(self, actions: Values) -> tuple[Values, Values, Values, Info]:
        """Step every world, and start the next episode where one has ended."""
        observed, reward, terminated, _, info = self.worlds.step(actions)
        self._succeeded |= info["is_success"]
        if self._through:
            terminated = terminated & ~info["is_success"] | info["diverged"]
        if self._lost is not None:
            terminated = terminated | self._lost(observed)
        periods = self.episode_length_buf + 1
        late = (periods >= self.max_episode_length) & ~terminated
        done = terminated | late
        if self._reward is not None:
            reward = self._reward(self.worlds, observed, info, done)
        counts = torch.stack([done, done & self._succeeded, done & info["diverged"]]).sum(1).tolist()
        self.ended = [a + b for a, b in zip(self.ended, counts, strict=True)]
        self._succeeded &= ~done
        self.episode_length_buf = torch.where(done, 0, periods)
        self._observed = self.worlds.reset(done)
        return self.get_observations(), reward, done.to(torch.long), {"time_outs": late}
