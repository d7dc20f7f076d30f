"""One episode of a policy in an environment, recorded frame by frame."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from trocar.appearance.films import png
from trocar.arms.parameters import to_toml
from trocar.files import Json
from trocar.spatial import Array
from trocar_learning.envs.cameras import Moment
from trocar_learning.envs.episode import Episode, PolicyOf, Step, played, steps
from trocar_learning.envs.policies import policy_of
from trocar_learning.envs.task import Task
from trocar_learning.envs.task_env import TaskEnv
from trocar_learning.envs.world import RATE
from trocar_learning.episodes import features as f
from trocar_learning.episodes.demonstration import Demonstration

# Periods of a disturbance, and its size as a share of the largest action: 0.1 to 0.3 s, up to 7.5 mm or 30 % effort.
DISTURBED = (5, 15)
SHARES = {"tip_increment": 0.5, "joint_target": 0.5, "joint_effort": 0.3, "residual_effort": 1.0}

EYES = ("left", "right")


class FrameReader:
    """Reads the features of a frame from an environment.

    Attributes:
        arms: names of the arms in the features, in the order of the scene.
    """

    def __init__(self, env: TaskEnv) -> None:
        self.env, world = env, env.world
        self._names = tuple(world.arms)
        self.arms = f.labels(hardware.arm for hardware in world.arms.values())
        self._state: Array | None = None

    def features(self) -> f.Features:
        """Features without pictures."""
        env, world = self.env, self.env.world
        joints = [hardware.arm.joint_names for hardware in world.arms.values()]
        assert env.action_space.shape is not None
        return f.layout(self.arms, joints, len(env.task_numbers()), env.action_space.shape[0])

    def observed(self) -> dict[str, Array]:
        """Observations of the current state."""
        env, world = self.env, self.env.world
        hardware, simulated = world.arms.values(), world.scene.arms
        values = {
            f.STATE: self.state(),
            f.POSITION: np.concatenate([h.q for h in hardware]),
            f.VELOCITY: np.concatenate([h.dq for h in hardware]),
            f.EFFORT: np.concatenate([env.mean_effort(arm) for arm in self._names]),
            f.TIP_WRENCH: np.concatenate([simulated[arm].contact_wrench() for arm in self._names]),
            f.TROCAR_WRENCH: np.concatenate([simulated[arm].cannula_wrench() for arm in self._names]),
            f.CONTACT: np.array([simulated[arm].contact_force() for arm in self._names]),
        }
        if len(task_state := env.task_numbers()):
            values[f.TASK_STATE] = task_state
        return values

    def state(self) -> Array:
        """Measured tips and jaws, in Open-H's order."""
        world = self.env.world
        poses = [world.T_world_measured(arm) for arm in self._names]
        self._state = self._tips(poses, [hardware.q for hardware in world.arms.values()])
        return self._state

    def commanded(self) -> Array:
        """Commanded tip poses and jaws; the measured ones under effort control, as the dVRK reports them."""
        world = self.env.world
        setpoints = [hardware.setpoint() for hardware in world.arms.values()]
        tips = [world.kinematics[arm] for arm in self._names]
        poses = [
            world.T_world_base[arm] @ tip.pose(q[: tip.n])
            for arm, tip, q in zip(self._names, tips, setpoints, strict=True)
        ]
        return self._tips(poses, setpoints)

    def _tips(self, poses: list[Array], joints: list[Array]) -> Array:
        parts, first = [], 0
        for arm, T, q in zip(self.arms, poses, joints, strict=True):
            numbers = f.pose_numbers(T, None if self._state is None else self._state[first : first + 7])
            parts.append(np.append(numbers, q[-1]) if arm.startswith("psm") else numbers)
            first += len(parts[-1])
        return f.assembled(self.arms, parts)

    def tools(self) -> dict[str, str]:
        """Instrument of every arm, by feature."""
        arms = [hardware.arm for hardware in self.env.world.arms.values()]
        return {f"{f.TOOL}.{label}": str(arm.instrument) for label, arm in zip(self.arms, arms, strict=True)}


class FrameLog:
    """An observer that records the rows of an episode, with pictures of the task's stereo camera if a size is given."""

    def __init__(self, env: TaskEnv, size: tuple[int, int] | None, kind: str) -> None:
        self.reader, self.kind = FrameReader(env), kind
        self.features = self.reader.features()
        self._camera = None if size is None else env.camera(size)
        self._seen: list[Moment] = []  # of pictures that are drawn later
        self._rows: dict[str, list[Any]] = {}
        self._final: dict[str, Array] = {}
        self.images: dict[str, list[Any]] = {}  # arrays of a film, PNG files otherwise
        for eye in () if size is None else EYES:
            name, feature = f.picture_feature(eye, size, kind, RATE)  # type: ignore[arg-type]
            self.features[name] = feature
            self.images[name] = []

    def __len__(self) -> int:
        return len(self._rows.get(f.ACTION, ()))

    def __call__(self, step: Step) -> None:
        if step.action is not None:
            self.act(step.action, step.reward, step.over, bool(step.info["is_success"]))
        if not step.over:
            self.observe()

    def observe(self, draw: bool = True) -> None:
        """Add the observations of a row. Without `draw`, its pictures are drawn by `draw_pictures`."""
        self._add(self.reader.observed())
        if self._camera is not None:
            self._seen.append(self._camera.moment())
            if draw:
                self.draw_pictures()

    def discard(self) -> None:
        """Remove the observations of the last row, whose pictures are not drawn yet and which has no action."""
        for rows in self._rows.values():
            if len(rows) > len(self):
                rows.pop()
        if self._seen:
            self._seen.pop()

    def draw_pictures(self) -> None:
        """Draw the pictures of all rows that have none yet."""
        for moment in self._seen:
            assert self._camera is not None
            self._camera.look(moment)
            for eye, picture in self._camera.images(("stereo",)).items():
                self.images[f"{f.IMAGES}.{eye}"].append(picture if self.kind == "mp4" else png(picture))
        self._seen.clear()

    def act(self, action: Array, reward: float, done: bool, success: bool) -> None:
        """Add the action of a row and its result."""
        self._add({f.ACTION: self.reader.commanded(), f.ENV_ACTION: action, f.REWARD: reward})
        self._add({f.DONE: done, f.SUCCESS: success})

    def _add(self, values: Json) -> None:
        for name, value in values.items():
            self._rows.setdefault(name, []).append(value)

    def films(self) -> dict[str, list[Array]]:
        """Images of the films by feature; empty without films."""
        return self.images if self.kind == "mp4" else {}

    def end(self) -> None:
        """Take the current state as the final observation, unless the episode has ended already."""
        if not self._final:
            observed = self.reader.observed().items()
            self._final = {name: np.asarray(value, dtype=np.float32) for name, value in observed}

    def finished(self, about: Json) -> Demonstration:
        """The recorded episode, with the state at `end`, by default the current one, as its final observation."""
        env, world = self.reader.env, self.reader.env.world
        self.end()
        places: Json = {
            "arms": list(self.reader.arms),
            "kinds": [hardware.arm.name for hardware in world.arms.values()],
            "bases": [world.T_world_base[arm].tolist() for arm in world.arms],
            "tools": self.reader.tools(),
            "task": type(env.task).__name__.removesuffix("Task"),
        }
        if self._camera is not None:
            places["T_world_camera"] = self._camera.T_world_middle.tolist()
        files = {} if self.kind == "mp4" else self.images
        return Demonstration(
            RATE, instruction_of(env.task), self.features, self.arrays(), self._final, places | dict(about), files
        )

    def arrays(self) -> dict[str, Array]:
        """All rows (N, ...) by feature, in the types of the features."""
        arrays = {}
        for name, feature in self.features.items():
            if name in self._rows:
                rows = np.array(self._rows[name], dtype=feature["dtype"])
                arrays[name] = rows.reshape(len(rows), *feature["shape"])
        return arrays


def instruction_of(task: Task) -> str:
    """The task in words: the first sentence of its description."""
    return (inspect.getdoc(type(task)) or "").partition("\n")[0].rstrip(".")


def rollout(
    env: TaskEnv,
    policy: str | PolicyOf,
    seed: int,
    *,
    disturbed: bool = False,
    size: tuple[int, int] | None = None,
    pictures: str = "mp4",
) -> tuple[Demonstration, dict[str, list[Array]]]:
    """Record one episode of a policy; returns it and the images of its films by feature.

    Args:
        policy: expert, pid or random, or a function that is called after the reset and returns action = f(observation).
        disturbed: begin after a disturbance, a short random action that is not recorded.
        size, pictures: as in `EpisodeRecipe`.
    """
    begun = env.reset(seed=seed)
    if disturbed:
        begun, disturbed = _disturbed(env, begun, seed)
    frames = FrameLog(env, size, pictures)
    name = policy if isinstance(policy, str) else str(getattr(policy, "name", "own"))
    result = played(seed, steps(env, policy_of(policy) if isinstance(policy, str) else policy, begun), frames)
    about = {"policy": name, "seed": seed, "kind": "recovery" if disturbed else "demonstration"}
    return frames.finished(about | outcome(env, result)), frames.films()


def _disturbed(env: TaskEnv, begun: Any, seed: int) -> tuple[Any, bool]:
    """What `reset` returns, after a random action of some periods; False if the episode would have ended in it."""
    rng = np.random.default_rng([seed, 1])
    assert env.action_space.shape is not None
    action = SHARES[env.mode] * rng.uniform(-1.0, 1.0, env.action_space.shape)
    for _ in range(rng.integers(*DISTURBED, endpoint=True)):
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return env.reset(seed=seed), False
        begun = observation, info
    return begun, True


def outcome(env: TaskEnv, result: Episode) -> Json:
    """Outcome of an episode and its drawn robot, as JSON-compatible values."""
    draw, sensors = env.draw, env.draw.sensors
    return {
        "success": result.held,
        "first_success": result.first,
        "peak_force": result.peak_force,
        "drops": result.drops,
        "level": env.level,
        "mode": env.mode,
        "delay": draw.delay,
        "wrist_friction": draw.wrist_friction,
        "sensor_seed": sensors.seed,
        "parameters": {arm: None if own is None else to_toml(own) for arm, own in draw.parameters.items()},
    }
