"""`TaskEnv`: a task as a Gymnasium environment."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from trocar import checks
from trocar.appearance.camera_place import CameraPlace
from trocar.appearance.films import Picture
from trocar.arms.wrist_cables import WristCables
from trocar.errors import TrocarError, check_known, shown
from trocar.simulation import Scene
from trocar.spatial import Array, Values
from trocar_learning.envs.actions import MODES, ActionMode
from trocar_learning.envs.cameras import EpisodeCamera, ImageOptions, Images
from trocar_learning.envs.levels import LEVELS, RIGID, Draw, draw, lighting, wristed_arms
from trocar_learning.envs.task import Policy, Task, nominal_options
from trocar_learning.envs.world import FREQUENCY, RATE, Info, Observation, SteppedWorld, Transition, World

MAX_OBSERVED = 1e4  # any number of an observation [SI]: beyond all that an arm can reach
IMAGE_SIZE, PICTURE_SIZE = (320, 200), (640, 400)  # [pixels]
OBSERVATIONS = ("state", "privileged")
REWARDS = ("dense", "sparse", "goal")
NONE_LOST = np.zeros(1, dtype=bool)


class TaskEnv(gymnasium.Env):
    """A task under the control loop of the live robot.

    Observation: joints, joint velocities and mean efforts of every arm as its sensors report them, the last action and
    the numbers of the task, as float32. With `reward="goal"` a dictionary of observation, achieved_goal and
    desired_goal, and the method `compute_reward(achieved_goal, desired_goal, info)`, as hindsight replay needs them.

    `info` has `is_success` (the condition has held for the task's time, 0.5 s unless stated), `first_success` (it has
    been met once), `peak_force` [N], `path` (length of all tips' paths [m]), `drops`, `saturation` (share of control
    cycles with a motor at its limit) and `clipped` (share of actions cut at a limit of an arm).
    The episode terminates when `is_success` becomes true, and when the task cannot succeed any more.

    Args:
        task: the task. mode: action mode (joint_effort, residual_effort, joint_target, tip_increment). Default: the
            task's own.
        level: nominal, 1sigma, 3sigma or real; see `trocar_learning.envs.levels`.
        wrist: of every PSM: "rigid", "cables", a file or `WristCables`, as of `SceneArm`; or "drawn": cables of another
            instrument in every episode. The observation is that of the motors' encoders, success that of the true tip.
            Default: that of the level, "drawn" for real and otherwise "rigid".
        compensation: of every PSM, as of `SceneArm`: cables that the controller makes up for. Default: none.
        observation: state, or privileged, with numbers that no sensor gives.
        reward: dense, sparse (0 while the success condition is met, otherwise -1) or goal (sparse, goal-conditioned).
        images: of the task's stereo camera: stereo, depth, segmentation, or several of them. The observation is then a
            dictionary of state, left and right (height, width, 3), depth [m] and segmentation (height, width) of the
            left camera. Images show the state at the beginning of the last control period; see `envs.cameras`.
        image_size: (width, height) [pixels]. image_rate: largest number of new images per second; between them the
            observation repeats the last ones.
        duration: longest time of an episode [s]. Default: the task's own.

    Attributes:
        world: what the task reads. stepped: the same with the control loop that `step` advances.
        labels: names of the numbers of a segmentation.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": RATE}  # noqa: RUF012 - Gymnasium's own type

    def __init__(
        self,
        task: Task,
        *,
        mode: str | None = None,
        level: str = "nominal",
        wrist: str | Path | WristCables | None = None,
        compensation: str | Path | WristCables | None = None,
        observation: str = "state",
        reward: str = "dense",
        render_mode: str | None = None,
        images: str | Sequence[str] = (),
        image_size: tuple[int, int] = IMAGE_SIZE,
        image_rate: float = RATE,
        duration: float | None = None,
    ) -> None:
        self.task, self.mode, self.level = task, task.mode if mode is None else mode, level
        check_known("action mode", MODES, self.mode)
        check_known("level of randomisation", LEVELS, level)
        check_known("observation", OBSERVATIONS, observation)
        check_known("reward", REWARDS, reward)
        if reward == "goal" and task.goal_tolerance is None:
            raise TrocarError("this task has no goal to condition on; use reward='dense' or 'sparse'")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise TrocarError(f"render_mode must be None or 'rgb_array', got {shown(render_mode)}")
        if duration is not None:
            task.duration = checks.positive("duration", duration)
        self.observation_kind, self.reward_kind, self.render_mode = observation, reward, render_mode
        self.wrist, self.compensation = wrist, compensation
        self._cycles = FREQUENCY // RATE
        self._image_options = ImageOptions.of(images, image_size, image_rate) if images else None
        self._images: Images | None = None  # made when the first one is needed
        self._film: tuple[Scene, tuple[int, int], EpisodeCamera] | None = None  # the last one of `camera`
        self._fixed: Scene | None = None  # the nominal scene, if all episodes can share it
        self._begin(np.random.default_rng(0))
        size = len(self.task.extra) + sum(mode.size for mode in self._modes)
        self.action_space = spaces.Box(-1.0, 1.0, (size,), np.float32)
        self._last = np.zeros(size)
        self.observation_space = self._space(self._numbers())
        self._running = False
        if reward == "goal":
            # only then: trainers take any environment that has this method for a goal-conditioned one
            self.compute_reward = self._goal_reward

    def _space(self, value: Observation) -> spaces.Space:
        if isinstance(value, dict):
            entries: dict[str, spaces.Space] = {name: self._space(part) for name, part in value.items()}
            if self._image_options is not None:
                for name, (shape, kind, most) in self._image_options.shapes().items():
                    entries[name] = spaces.Box(0, most, shape, kind)
            return spaces.Dict(entries)
        return spaces.Box(-MAX_OBSERVED, MAX_OBSERVED, value.shape, np.float32)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers of the observation "state", in SI units: measured q, dq and mean effort of every joint,
        the last action, and what the task adds. With one arm, joints are not named after it."""
        joints = [
            f"{kind} {joint}" if len(self.world.arms) == 1 else f"{name} {kind} {joint}"
            for name, hardware in self.world.arms.items()
            for kind in ("q", "dq", "effort")
            for joint in hardware.arm.joint_names
        ]
        actions = [f"action {k}" for k in range(len(self._last))]
        return (*joints, *actions, *self.task.observed)

    @property
    def period(self) -> float:
        """Control period [s]."""
        return 1.0 / RATE

    @property
    def steps(self) -> int:
        """Control periods of the current episode so far."""
        return int(self.world.elapsed[0])

    @property
    def modes(self) -> Mapping[str, ActionMode]:
        """Action mode of every arm of the current episode, by name."""
        return dict(zip(self.task.arms, self._modes, strict=True))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Start an episode; `options` may name another `level`."""
        if seed is not None:
            seed = checks.count("seed", seed, 0)
        super().reset(seed=seed)
        if options is not None and not isinstance(options, Mapping):
            raise TrocarError(f"options must be a dictionary, got {shown(options)}")
        chosen = dict(options or {})
        check_known("option of reset", ("level",), *chosen)
        level = chosen.get("level", self.level)
        check_known("level of randomisation", LEVELS, level)
        self._begin(self.np_random, level)
        self._last = np.zeros(self.action_space.shape[0])  # type: ignore[index]
        self._running = True
        if self._image_options is not None:
            if self._images is None:
                self._images = Images(self._image_options)
            self._images.begin(self._camera(self._image_options.size))
        return self._observed(), self._info()

    def _begin(self, rng: np.random.Generator, level: str = "nominal") -> None:
        task = self.task
        self.draw: Draw = draw(level, task.arms, rng, self.wrist)
        self.stepped = world = SteppedWorld(self._scene(rng), self.draw.sensors)
        self.world: World = world
        world.begin(task.start(world, rng, LEVELS[level].sigma))
        # the sensors start where the task placed the arms; motors hold that place until the first action
        for hardware in world.arms.values():
            hardware.calibrate()
        world.loop.place(tuple(world.arms))
        world.forget()
        for name, hardware in world.arms.items():
            q = hardware.q.copy()
            q[-1] = task.gripped.get(name, q[-1])
            hardware.track(q, None)
        reference = task.reference if task.has_reference else None
        self._modes = [MODES[self.mode](world, arm, self.period, reference) for arm in task.arms]
        self._limits = np.concatenate([arm.arm.motors.effort for arm in world.arms.values()]) * (1.0 - 1e-9)
        # until the first action arrives, the arms stay where they are and keep what they hold
        resting = np.concatenate([*(mode.resting for mode in self._modes), np.zeros(len(task.extra))])
        self._pending: deque[Array] = deque([resting] * self.draw.delay)
        self._measure(world.loop.applied)
        self._tips = {arm: world.T_world_measured(arm)[:3, 3] for arm in world.arms}
        self._middle = _middle(world, task.marks(world))
        self._lighting = lighting(LEVELS[level].sigma, rng)
        self._saturated = self._clipped = 0
        self._success = False
        self._path = self._peak = 0.0

    def _scene(self, rng: np.random.Generator) -> Scene:
        options = nominal_options(self.task.arms)
        for name, parameters in self.draw.parameters.items():
            if parameters is not None:
                options[name]["parameters"] = parameters
        for name in wristed_arms(self.task.arms):
            options[name] |= {"wrist": self.draw.wrists.get(name, RIGID), "compensation": self.compensation}
        if self.task.varies or not self.draw.nominal:
            return self.task.scene(rng, options)
        if self._fixed is None:
            self._fixed = self.task.scene(rng, options)
        for arm in self._fixed.arms.values():
            arm.inject()
        return self._fixed

    def step(self, action: Values) -> Transition:
        """Apply an action for one control period; entries beyond [-1, 1] are clipped."""
        if not self._running:
            raise gymnasium.error.ResetNeeded("the episode has not started; call reset first")
        values = self._checked(action)
        world, task, modes = self.stepped, self.task, self._modes
        if self.world is not world:
            raise TrocarError("this environment follows another world, which its user steps; call judge")
        self._pending.append(values)
        acting = self._pending.popleft()
        place = 0
        for mode in modes:
            mode.accept(world, acting[place : place + mode.size])
            place += mode.size
        task.act(world, acting[place:])
        if self._images is not None:
            self._images.request(world.time)  # drawn while the period is simulated
        loop, force, applied = world.loop, 0.0, []
        for cycle in range(self._cycles):
            for mode in modes:
                mode.command(world)
            loop.act()
            applied.append(loop.applied)
            if task.force_arms and (cycle + 1) % task.force_cycles == 0:
                force = max(force, *(world.contact_force(arm) for arm in task.force_arms))
        efforts = np.array(applied)
        self._measure(np.add.reduce(efforts) / len(efforts))
        saturated = np.abs(efforts) >= self._limits
        if saturated.any():
            self._saturated += int(saturated.any(axis=1).sum())
        self._clipped += any(mode.clipped for mode in modes)
        return self._judged(values, force)

    def _judged(self, values: Array, force: float) -> Transition:
        """Result of a control period with the action `values`; force: largest contact force in it [N]."""
        world, task = self.world, self.task
        self._last, world.elapsed, world.forces = values, world.elapsed + 1, np.array([force])
        self._peak = max(self._peak, force)
        for arm in world.arms:
            tip = world.T_world_measured(arm)[:3, 3]
            self._path += math.dist(tip, self._tips[arm])
            self._tips[arm] = tip
        (solved,), (self._success,), (terminated,) = (flags.tolist() for flags in task.judged(world, NONE_LOST))
        observed = self._observed()
        if self.reward_kind == "goal":
            reward = self._goal_reward(observed["achieved_goal"], observed["desired_goal"], {})
        else:
            reward = task.reward(world)[0] if self.reward_kind == "dense" else float(solved) - 1.0
        truncated = self.steps >= task.periods
        self._running = not (terminated or truncated)
        return observed, float(reward), terminated, truncated, self._info()

    def follow(self, world: World) -> None:
        """Judge the episode in another world with the arms and objects of this one, which its user steps."""
        world.memory = self.world.memory
        self.world = world
        self._efforts = {arm: np.zeros(hardware.arm.n) for arm, hardware in world.arms.items()}

    def judge(self, action: Array, efforts: Mapping[str, Array], force: float) -> Transition:
        """Result of a control period that was simulated by the user of `follow`, as `step` returns it.

        Args:
            action: of the period. efforts: mean measured joint efforts (n,) in it, by arm. force: largest contact force
                in it [N].
        """
        self._efforts = dict(efforts)
        return self._judged(self._checked(action), force)

    def task_numbers(self) -> Array:
        """Numbers (k,) that the task observes in addition to joints, efforts and the last action."""
        return np.asarray(self.task.observation(self.world)[0])

    def mean_effort(self, arm: str) -> Array:
        """Mean measured joint efforts (n,) of an arm over the last control period [N m, N]."""
        return self._efforts[arm]

    def _measure(self, applied: Array) -> None:
        """Read the current sensors after mean actuator efforts."""
        self._efforts = {name: hardware.measured_efforts(applied) for name, hardware in self.stepped.arms.items()}

    def _checked(self, action: Values) -> Array:
        shape = self.action_space.shape
        if type(action) is np.ndarray and action.shape == shape and action.dtype.kind == "f":
            values = action.astype(float)
            if np.isfinite(values).all():
                return np.asarray(np.minimum(np.maximum(values, -1.0), 1.0))
        return np.clip(checks.finite("action", action, shape, f"{shape[0]} finite numbers in [-1, 1]"), -1.0, 1.0)  # type: ignore[index, arg-type]

    def _observed(self) -> Observation:
        numbers = self._numbers()
        return numbers if self._images is None else numbers | self._images.collect()

    def _numbers(self) -> Observation:
        """An observation without images."""
        world, parts = self.world, []
        for name, hardware in world.arms.items():
            parts += [hardware.q, hardware.dq, self._efforts[name]]
        parts += [self._last, self.task_numbers()]
        if self.observation_kind == "privileged":
            parts += [arm.q for arm in world.scene.arms.values()] + [arm.dq for arm in world.scene.arms.values()]
            parts += [np.array([self.draw.delay, self.draw.wrist_friction]), self.task.privileged(world)[0]]
        state = np.minimum(np.maximum(np.concatenate(parts), -MAX_OBSERVED), MAX_OBSERVED).astype(np.float32)
        if self.reward_kind != "goal":
            return state if self._image_options is None else {"state": state}
        achieved, desired = (
            np.asarray(x[0], dtype=np.float32) for x in (self.task.achieved(world), self.task.desired(world))
        )
        return {"observation": state, "achieved_goal": achieved, "desired_goal": desired}

    def _goal_reward(self, achieved_goal: Values, desired_goal: Values, info: Info) -> Values:
        """Sparse reward of goals (..., k), `compute_reward`: 0 within the task's tolerance, otherwise -1."""
        away = np.linalg.norm(np.asarray(achieved_goal, dtype=float) - np.asarray(desired_goal, dtype=float), axis=-1)
        reward = np.where(away <= self.task.goal_tolerance, 0.0, -1.0)
        return float(reward) if reward.ndim == 0 else reward

    def _info(self) -> Info:
        return {
            "is_success": self._success,
            "first_success": bool(self.world.value("first success")),
            "peak_force": self._peak,
            "path": self._path,
            "drops": int(self.task.drops(self.world)[0]),
            "saturation": self._saturated / max(1, self.steps * self._cycles),
            "clipped": self._clipped / max(1, self.steps),
            "time": self.world.time,
            **{name: figures[0].item() for name, figures in self.task.details(self.world).items()},
        }

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the numbers of a segmentation."""
        return () if self._images is None else self._images.labels

    def render(self) -> Picture | None:
        """A picture (height, width, 3) of the task's left camera, uint8; see `picture`."""
        return None if self.render_mode is None else self.picture()

    def picture(self, size: tuple[int, int] = PICTURE_SIZE) -> Picture:
        """A picture (height, width, 3) of the current state from the task's left camera. size: (width, height)."""
        camera = self.camera(size)
        camera.look()
        return camera.picture()

    def camera_place(self) -> CameraPlace:
        """Place of the task's stereo camera at this moment."""
        return self.task.camera(self.world, self._middle)

    def camera(self, size: tuple[int, int]) -> EpisodeCamera:
        """The task's stereo camera, for pictures drawn by the caller's thread. size: (width, height) [pixels].

        Episodes that share a scene share it: each has OpenGL resources of its own.
        """
        if self._film is None or self._film[0] is not self.world.scene or self._film[1] != size:
            self._film = self.world.scene, size, self._camera(size)
        return self._film[2]

    def _camera(self, size: tuple[int, int]) -> EpisodeCamera:
        scene, lighting = self.world.scene, self._lighting
        return EpisodeCamera(scene, self.camera_place, lambda: self.task.marks(self.world), size, lighting)

    def close(self) -> None:
        """End the thread of the images."""
        if self._images is not None:
            self._images.close()
            self._images = None

    def __getstate__(self) -> dict[str, Any]:
        """State without cameras, which are made again."""
        memory = None if self._images is None else self._images.memory()
        return {**vars(self), "_images": None, "_film": None, "image_memory": memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        memory = state.pop("image_memory")
        self.__dict__.update(state)
        if memory is not None:
            assert self._image_options is not None
            self._images = Images(self._image_options)
            self._images.resume(self._camera(self._image_options.size), memory)

    def expert(self) -> Policy:
        """The task's scripted policy for the current episode."""
        return self.task.expert(self)

    def pid(self) -> Policy:
        """The task's policy of fixed gains for the current episode."""
        return self.task.pid(self)


def _middle(world: World, marks: Array) -> Array:
    """Position (3,) between the tips and the objects, otherwise the marks, where a camera looks [m]."""
    scene = world.scene
    tips = [scene.T_world_tip(arm)[:3, 3] for arm in world.arms]
    others = [placed.pose[:3, 3] for placed in scene.objects.values()] or list(marks) or tips
    return np.asarray((np.mean(tips, axis=0) + np.mean(others, axis=0)) / 2)
