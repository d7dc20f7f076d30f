"""A policy on a task, episode after episode, in real time, with frames for a page."""

from __future__ import annotations

import threading

import numpy as np

from trocar.errors import TrocarError
from trocar.report.success_rate import clopper_pearson
from trocar.robot.description import SceneDescription
from trocar.robot.frames import scene_frame, simulated_arm
from trocar.spatial import Array
from trocar.view.paced_run import PacedRun
from trocar_learning.envs import TaskEnv
from trocar_learning.envs.episode import PolicyOf, Step, described, steps

PAUSE = 1.0  # real time between two episodes [s]


class PolicyRun(PacedRun):
    """Episodes of a policy.

    Attributes:
        env: the environment. seed: of the shown episode. marks: points (k, 3) of the task to draw [m].
        results: success by seed of the episodes that have ended.
    """

    def __init__(self, env: TaskEnv, policy_of: PolicyOf, seed: int = 0, speed: float = 1.0) -> None:
        super().__init__(speed, env.period, "trocar-policy-run")
        self.env, self._policy_of, self.seed = env, policy_of, seed
        self.results: dict[int, bool] = {}
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
        self._steps = steps(self.env, self._policy_of, self.env.reset(seed=self.seed))
        next(self._steps)
        self._scene = self.env.world.scene
        self._description = SceneDescription.of(self._scene)
        self._picture()

    def _picture(self) -> None:
        world = self.env.world
        self.marks: Array = np.array(self.env.task.marks(world)).reshape(-1, 3)
        arms = {name: simulated_arm(arm, world.time > 0.0) for name, arm in self._scene.arms.items()}
        self._latest = scene_frame(self._scene, self._description, arms, number=next(self._numbers))

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self._episode()
                self._skip.wait(PAUSE)
                self._skip.clear()
                if not self._closing.is_set():
                    self.seed += 1
                    self._begin()
        except TrocarError as error:  # the page reports it
            self.error = error
        except (Exception, SystemExit) as error:  # of the policy, which may also leave
            self.error = TrocarError(f"the policy failed: {described(error)}")

    def _episode(self) -> None:
        step: Step | None = None
        self.pace.restart()
        while (step is None or not step.over) and self.pace.wait(self._stopped):
            step = next(self._steps)
            if step.over:
                self.results[self.seed] = bool(step.info["is_success"])
            self._picture()

    def _stopped(self) -> bool:
        return self._closing.is_set() or self._skip.is_set()
