"""Palpate: find a stiff inclusion under a surface by touch."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation import Scene, SceneArm
from trocar.simulation.objects.solid import Box
from trocar.spatial import Array, Values, pose, rotation
from trocar_learning.envs.actions import TIP_SPEED
from trocar_learning.envs.arrays import length
from trocar_learning.envs.task import POINT, Memory, Policy, SceneOptions, Task, named
from trocar_learning.envs.tasks.phantom import Phantom, PlacedPhantom, StiffInclusion
from trocar_learning.envs.tasks.tip_script import Script, Tips, following
from trocar_learning.envs.world import PERIOD, RATE, World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

START = np.array([0.0, 0.0, 0.10, 0.0, 0.0, 0.0, 0.0])  # joints [rad, m]
SIZE = np.array([0.06, 0.06, 0.02])  # of the block [m]
AREA = 0.015  # largest distance of the inclusion from the middle of the face, along x and y [m]
BELOW, TILT = (5e-3, 9e-3), np.radians(5.0)  # of the face: distance below the jaws [m], largest tilt about x and y
YOUNG, RATIO = (1.5e4, 6e4), (5.0, 20.0)  # of the tissue [Pa]; of the inclusion over it
RADIUS, COVER = (3e-3, 8e-3), (1e-3, 3e-3)  # of the inclusion; tissue above it [m]
TOLERANCE, MAX_FORCE = 4e-3, 3.0  # [m], [N]
COLOUR = (0.80, 0.42, 0.38)
NOISE = 0.01  # of the force sensor per sigma [N]
# Of the scripted policies: force at which they stop pressing, and that counts as contact [N], speeds as a share of the
# largest, height above the face between two places [m].
PRESSED, TOUCHED, PRESSING, ABOVE = 0.7, 0.1, 0.25, 2.5e-3
SEARCHED = 0.9 * AREA * np.linspace(-1.0, 1.0, 4)  # places of the first search along each axis [m]
FAR = 0.01  # beyond this distance the next place may lie higher by more than the jaws are lifted [m]
AROUND, ROUNDS = 5e-3, 2  # the expert's further places: distance from its estimate [m], times
CANDIDATE = 1e-3  # distance of the centres that the expert compares [m]


class PalpateTask(Task):
    """Find a stiff ball below the face of an elastic block, with closed jaws, and declare its place.

    The ball (radius 3 to 8 mm, 1 to 3 mm below the face) is 5 to 20 times as stiff as the block (15 to 60 kPa). Height
    and tilt of the face (up to 5 degrees) are not known. The last numbers of an action are the estimated x and y from
    the start of the jaws, as shares of 15 mm, and a declaration if positive, which ends the episode.

    Success: the declared place is within 4 mm of the middle of the ball, seen from above, the force has never exceeded
    3 N, in 60 s. 3 N is below the force at which threads tear through artificial skin (3.3 N, Potter 2025); 4 mm is
    half the diameter of the indented area. No published benchmark of palpation with a criterion was found.
    """

    observed: ClassVar[tuple[str, ...]] = ("measured force", *named(POINT, "jaws"))
    duration: float = 60.0
    held: ClassVar[float] = 0.0
    extra: ClassVar[tuple[str, ...]] = ("x", "y", "declare")
    varies: ClassVar[bool] = True
    batched: ClassVar[bool] = False

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        arm = SceneArm(arm="PSM", base=np.eye(4), q=START, **options["PSM"])
        mechanism, _ = arm.loaded()
        lowest = mechanism.forward_kinematics(START) @ [0.0, 0.0, mechanism.arm.jaw_length, 1.0]
        x, y = rng.uniform(-AREA, AREA, 2).tolist()
        ball = StiffInclusion(
            centre=(x, y),
            radius=rng.uniform(*RADIUS),
            cover=rng.uniform(*COVER),
            ratio=float(np.exp(rng.uniform(*np.log(RATIO)))),
            young=float(np.exp(rng.uniform(*np.log(YOUNG)))),
            thickness=float(SIZE[2]),
        )
        R = rotation("x", rng.uniform(-TILT, TILT)) @ rotation("y", rng.uniform(-TILT, TILT))
        T_face = pose(R, lowest[:3] - [0.0, 0.0, rng.uniform(*BELOW)])
        shape = Box((0.0, 0.0, -SIZE[2] / 2), SIZE)
        block = Phantom(
            "tissue", shape, T_face, colour=COLOUR, inclusion=ball, arm="PSM", reach=mechanism.arm.jaw_length
        )
        self.place = (R @ [x, y, 0.0])[:2]
        return Scene({"PSM": arm}, objects=[block], timestep=PERIOD)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        own = np.random.default_rng(int(rng.integers(2**31)))
        world.scene.reset()
        noise = NOISE * sigma * own.standard_normal(round(self.duration * RATE))  # of every control period [N]
        touch = {"force": 0.0, "measured": 0.0, "strongest": 0.0, "noise": noise, "sigma": NOISE * sigma}
        return touch | {"place": self.place, "estimate": np.zeros(2), "declared": False}

    def act(self, world: World, extra: Array) -> None:
        if not world.value("declared"):
            world.memory["estimate"][0], world.memory["declared"][0] = AREA * extra[:2], extra[2] > 0.0

    def after_period(self, worlds: Worlds) -> None:
        memory, touch = worlds.memory, worlds.each(_touch)
        memory["force"], memory["strongest"] = touch[:, 0], touch[:, 1]
        memory["measured"] = memory["force"] + memory["noise"][np.arange(worlds.n), worlds.elapsed - 1]

    def details(self, worlds: Worlds) -> dict[str, Values]:
        return {"peak_force": worlds.memory["strongest"]}

    def errors(self, worlds: Worlds) -> Values:
        """Distances (n,) of the estimate from the middle of the ball, seen from above [m]."""
        return length(worlds.memory["estimate"] - worlds.memory["place"])

    def observation(self, worlds: Worlds) -> Values:
        """Measured force, end of the jaws from its start in world axes."""
        return np.concatenate([worlds.memory["measured"][:, None], worlds.each(self.end)], -1)

    def end(self, world: World) -> Array:
        """End of the jaws (3,) from its place at the start, in world axes [m]: measured."""
        reach = world.arms["PSM"].arm.jaw_length
        return np.asarray((world.T_world_measured("PSM") @ [0.0, 0.0, reach, 1.0])[:3] - self.middle(world))

    def middle(self, world: World) -> Array:
        """Place (3,) of the end of the jaws at the start, above the middle of the face [m]."""
        tip = world.kinematics["PSM"].pose(START[:6])
        return np.asarray((tip @ [0.0, 0.0, world.arms["PSM"].arm.jaw_length, 1.0])[:3])

    def privileged(self, worlds: Worlds) -> Values:
        ball = worlds.each(_ball)
        return np.concatenate([worlds.memory["force"][:, None], worlds.memory["place"], ball], -1)

    def solved(self, worlds: Worlds) -> Values:
        gentle = worlds.memory["strongest"] <= MAX_FORCE
        return worlds.memory["declared"] & (self.errors(worlds) <= TOLERANCE) & gentle

    def failed(self, worlds: Worlds) -> Values:
        wrong = worlds.memory["declared"] & ~self.solved(worlds)
        return (worlds.memory["strongest"] > MAX_FORCE) | wrong

    def reward(self, worlds: Worlds) -> Values:
        """Up to -1 for the distance of the estimate, -10 for too much force."""
        missed = np.minimum(self.errors(worlds) / AREA, 1.0)
        return np.where(worlds.memory["strongest"] > MAX_FORCE, -10.0, -missed)

    def expert(self, env: TaskEnv) -> Policy:
        """Stiffness at 16 places and around the best fit of an inclusion, then its centre."""
        return following(self._searching(env))

    def pid(self, env: TaskEnv) -> Policy:
        """The same first places with a set force; declares the highest one, where the jaws sink in least."""
        return following(self._comparing(env))

    def _searching(self, env: TaskEnv) -> Script:
        press = _Presses(self, env)
        for place in _snake():
            yield from press.at(place)
        for turn in range(ROUNDS):
            centre = _best_centre(press.places, press.stiffness)
            for angle in np.pi / 2 * (np.arange(4) + 0.5 * turn):
                place = centre + AROUND * np.array([np.cos(angle), np.sin(angle)])
                yield from press.at(np.clip(place, -1.2 * AREA, 1.2 * AREA))
        yield from press.declare(_best_centre(press.places, press.stiffness))

    def _comparing(self, env: TaskEnv) -> Script:
        press = _Presses(self, env)
        for place in _snake():
            yield from press.at(place)
        yield from press.declare(press.places[int(np.argmax(press.heights))])


def _block(world: World) -> PlacedPhantom:
    block = world.scene.objects["tissue"]
    assert isinstance(block, PlacedPhantom)
    return block


def _touch(world: World) -> tuple[float, float]:
    """Force of the block on the jaws, and the largest so far [N]."""
    return _block(world).force, _block(world).peak


def _ball(world: World) -> tuple[float, ...]:
    phantom = _block(world).thing
    assert isinstance(phantom, Phantom)
    assert phantom.inclusion is not None
    ball = phantom.inclusion
    return ball.radius, ball.cover, ball.ratio, ball.young / 1e4


class _Presses:
    """Presses of the closed jaws on a face, and what they found.

    Attributes:
        places: (x, y) [m]. stiffness: [N/m] and heights: [m] of the jaws at the set force, by press.
    """

    def __init__(self, task: PalpateTask, env: TaskEnv) -> None:
        self._task, self._env, self._tips = task, env, Tips(env)
        self._tips.opening["PSM"] = 0.0
        self._tops = [0.0]  # heights of the jaws at which places were touched [m]
        self.places: list[Array] = []
        self.stiffness: list[float] = []
        self.heights: list[float] = []

    def _move(self, to: Array, speed: float) -> Script:
        """Move the end of the jaws to a place (3,) from the start [m]."""
        T = self._tips.T["PSM"].copy()
        T[:3, 3] += to - self._commanded
        for action in self._tips.move("PSM", T, speed):
            yield _undeclared(action)

    @property
    def _commanded(self) -> Array:
        reach = self._env.world.arms["PSM"].arm.jaw_length
        end = (self._tips.T["PSM"] @ [0.0, 0.0, reach, 1.0])[:3]
        return np.asarray(end - self._task.middle(self._env.world))

    def at(self, place: Array) -> Script:
        """Press at a place (x, y) [m] until the set force, and lift the jaws again."""
        task, env = self._task, self._env
        far = float(np.linalg.norm(place - self._commanded[:2])) > FAR
        high = max(float(self._commanded[2]), (max(self._tops[1:], default=0.0) if far else self._tops[-1]) + ABOVE)
        yield from self._move(np.array([*self._commanded[:2], high]), 1.0)
        yield from self._move(np.array([*place, high]), 0.8)
        heights, forces = [], []
        down = np.array([0.0, 0.0, -PRESSING * TIP_SPEED * env.period])
        while env.world.value("measured") < PRESSED:
            yield from self._move(self._commanded + down, 1.0)
            heights.append(float(task.end(env.world)[2]))
            forces.append(float(env.world.value("measured")))
        touched = np.array(forces) > TOUCHED + 3.0 * env.world.value("sigma")
        slope = -np.polyfit(np.array(heights)[touched], np.array(forces)[touched], 1)[0] if touched.sum() > 2 else 0.0
        self.places.append(task.end(env.world)[:2])
        self.stiffness.append(float(slope))
        self.heights.append(heights[-1])
        self._tops.append(heights[int(np.argmax(touched))])
        yield from self._move(np.array([*self._commanded[:2], self._tops[-1] + ABOVE]), 1.0)

    def declare(self, place: Array) -> Script:
        """Declare a place (x, y) [m]."""
        action = next(self._tips.rest())
        while True:
            yield np.concatenate([action, np.clip(place / AREA, -1.0, 1.0), [1.0]])


def _undeclared(action: Array) -> Array:
    return np.concatenate([action, [0.0, 0.0, -1.0]])


def _snake() -> list[Array]:
    """Places (x, y) [m] of the first search, row by row to and fro."""
    rows = [[np.array([x, y]) for x in SEARCHED] for y in SEARCHED]
    return [place for k, row in enumerate(rows) for place in (row[::-1] if k % 2 else row)]


def _best_centre(places: list[Array], stiffness: list[float]) -> Array:
    """Centre (x, y) [m] of the inclusion whose stiffness fits best: base and contrast by least squares, for shapes of
    small, middle and large balls."""
    P, k = np.array(places), np.array(stiffness)
    axis = np.arange(-AREA, AREA + CANDIDATE / 2, CANDIDATE)
    centres = np.array(list(product(axis, axis)))
    distance = np.linalg.norm(P[None] - centres[:, None], axis=-1)
    best, least = np.zeros(2), np.inf
    for radius in np.linspace(*RADIUS, 3):
        ball = StiffInclusion((0.0, 0.0), float(radius), float(np.mean(COVER)), 10.0, 1.0, thickness=float(SIZE[2]))
        shape = ball.stiffness(distance) / float(ball.stiffness(np.array(1.0))) - 1.0
        mean_shape, mean_k = shape.mean(axis=1, keepdims=True), k.mean()
        contrast = ((shape - mean_shape) * (k - mean_k)).sum(axis=1) / ((shape - mean_shape) ** 2).sum(axis=1)
        contrast = np.maximum(contrast, 0.0)
        misfit = ((k - mean_k - contrast[:, None] * (shape - mean_shape)) ** 2).sum(axis=1)
        if misfit.min() < least:
            best, least = centres[int(misfit.argmin())], float(misfit.min())
    return np.asarray(best)
