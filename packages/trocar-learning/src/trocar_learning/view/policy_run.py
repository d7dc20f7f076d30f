"""A policy on a task, episode after episode, in real time, with frames for a page."""

from __future__ import annotations

import threading
import time
from itertools import count

import numpy as np

from trocar.robot.description import SceneDescription
from trocar.spatial import Array
from trocar.view.paced_run import PacedRun
from trocar.view.scene_frame import scene_frame
from trocar_learning.envs import TaskEnv
from trocar_learning.envs.bench import clopper_pearson
from trocar_learning.envs.policies import PolicyOf

PAUSE = 1.0  # real time between two episodes [s]


class PolicyRun(PacedRun):
    """Episodes of a policy.

    Attributes:
        env: the environment. seed: of the shown episode. marks: points (k, 3) of the task to draw [m].
        results: success by seed of the episodes that have ended.
    """

    def __init__(self, env: TaskEnv, policy_of: PolicyOf, seed: int = 0, speed: float = 1.0) -> None:
        super().__init__(speed, "trocar-policy-run")
        self.env, self._policy_of, self.seed = env, policy_of, seed
        self.results: dict[int, bool] = {}
        self._numbers = count(1)
        self._skip = threading.Event()
        self._begin()

    def skip(self) -> None:
        """Go on with the next seed."""
        self._skip.set()

    def rate(self) -> tuple[int, int, float, float]:
        """Successes, episodes and the exact 95 % interval of the success rate."""
        results = list(self.results.values())
        return sum(results), len(results), *(clopper_pearson(sum(results), len(results)) if results else (0.0, 1.0))

    def _begin(self) -> None:
        self._observation, _ = self.env.reset(seed=self.seed)
        self._act = self._policy_of(self.env)
        self._scene = self.env.world.scene
        self._description = SceneDescription.of(self._scene)
        self._picture()

    def _picture(self) -> None:
        world = self.env.world
        self.marks: Array = np.array(self.env.task.marks(world)).reshape(-1, 3)
        options = {"playing": self.playing, "speed": self.speed, "factor": self.factor}
        self._latest = scene_frame(
            self._scene,
            self._description,
            stepped=world.time > 0.0,
            references={},
            number=next(self._numbers),
            **options,
        )

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self._episode()
                self._skip.wait(PAUSE)
                self._skip.clear()
                if not self._closing.is_set():
                    self.seed += 1
                    self._begin()
        except Exception as error:  # of the policy: the page reports it
            self.error = error

    def _episode(self) -> None:
        over, began = False, time.perf_counter()
        while not over and not self._closing.is_set() and not self._skip.is_set():
            if not self.playing:
                time.sleep(self.env.period)
                self._picture()
                continue
            self._observation, _, terminated, truncated, info = self.env.step(self._act(self._observation))
            over = terminated or truncated
            if over:
                self.results[self.seed] = bool(info["is_success"])
            rest = self.env.period / self.speed - (time.perf_counter() - began)
            if rest > 0.0:
                time.sleep(rest)
            now = time.perf_counter()
            self.factor += 0.05 * (self.env.period / (now - began) - self.factor)  # smoothed over a second
            began = now
            self._picture()
