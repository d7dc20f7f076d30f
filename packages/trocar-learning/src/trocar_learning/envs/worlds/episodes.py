"""Starts of episodes by seed: drawn by the single environment, kept as arrays for many worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from trocar import checks
from trocar.batch.worlds.layout import SceneLayout
from trocar.batch.worlds.torque_law import TorqueLaw
from trocar.errors import TrocarError, check_known
from trocar.spatial import Array, quaternion
from trocar_learning.envs.actions import MODES, JointEffort, ResidualEffort, TipIncrement
from trocar_learning.envs.levels import LEVELS, RIGID
from trocar_learning.envs.registration import batched_tasks, make_task, task_kind
from trocar_learning.envs.worlds.drawn_robots import DrawnRobots, is_drawn, robot_row

PLACES = ("body_pos", "body_quat")  # of fixed objects, which are placed by their poses
# Fields without effect on the motion: references of free objects, weights of muscles and of sleeping, boxes of the
# midphase, which is switched off.
REFERENCE = ("qpos0", "qpos_spring", "actuator_acc0", "dof_M0", "dof_length", "bvh_aabb")


@dataclass(frozen=True, eq=False)
class Episodes:
    """Starts of K episodes of a task. Numbers and arrays only, so that they travel to machines with a GPU.

    Attributes:
        task, mode: names of the task and of its action mode. layout: of the scene of the first episode.
        qpos, qvel: (K, nq), (K, nv) states at the start. commanded: (K, joints of all arms) commanded joints.
        places: poses (K, 7) of fixed objects by name. fields: values (K, ...) of MuJoCo's model that differ.
        numbers: what the task remembers at the start (K, ...), such as its goal. limits: efforts of an action of ones,
            by arm. law: inverse dynamics of the nominal model, of residual efforts. robots: those of a drawn level.
    """

    task: str
    mode: str
    layout: SceneLayout
    qpos: Array
    qvel: Array
    commanded: Array
    places: dict[str, Array]
    fields: dict[str, Array]
    numbers: dict[str, Array]
    limits: dict[str, Array]
    law: TorqueLaw | None = None
    robots: DrawnRobots | None = None

    def __len__(self) -> int:
        return len(self.qpos)

    @classmethod
    def drawn(
        cls,
        task: str,
        seeds: Iterable[int],
        progress: Callable[[int], Any] | None = None,
        *,
        level: str = "nominal",
    ) -> Episodes:
        """Draw the episodes of seeds, each by `TaskEnv.reset`: 20 ms for a needle.

        Args:
            level: nominal, 1sigma or 3sigma. Beyond nominal, every episode has a robot of its own, that of the single
                environment with the same seed: parameters, encoders, noise of currents, delay of actions.
        """
        if not task_kind(task).batched:
            known = ", ".join(batched_tasks())
            raise TrocarError(f"{task} needs scenes of its own: backend='environments'. Many worlds run {known}")
        check_known("level of randomisation", LEVELS, level)
        if LEVELS[level].wrist != RIGID:
            raise TrocarError(f"many worlds share one wrist; level {level} draws cables: use backend='environments'")
        seeds = list(seeds) if isinstance(seeds, Iterable) else [seeds]
        if not seeds:
            raise TrocarError("episodes need at least one seed")
        env = make_task(task, level=level)
        layout, rows, robots = None, [], []
        for count, seed in enumerate(seeds):
            env.reset(seed=checks.count("seed", seed, 0))
            scene = env.world.scene
            if layout is None:
                layout = SceneLayout.of(scene)
                fixed = [name for name, placed in layout.objects.items() if placed.q < 0]
            row = {"qpos": scene.data.qpos.copy(), "qvel": scene.data.qvel.copy()}
            row["commanded"] = np.concatenate([_commanded(mode) for mode in env.modes.values()])
            for name in fixed:
                T = scene.objects[name].pose
                row[f"place {name}"] = np.concatenate([T[:3, 3], quaternion(T[:3, :3])])
            for name, value in _changed(layout.model, scene.model, {o.body for o in layout.objects.values()}):
                row[f"field {name}"] = value
            row |= {f"number {name}": values[0] for name, values in env.world.memory.items()}
            rows.append(row)
            if is_drawn(level):
                own = SceneLayout.of(scene)
                layout.check_alike(own)
                robots.append(robot_row(env, own, env.task.periods))
            if progress is not None:
                progress(count + 1)
        assert layout is not None
        names = sorted({name for row in rows for name in row})
        table = {name: np.array([_value(row, name, layout.model) for row in rows]) for name in names}
        parts: dict[str, dict[str, Array]] = {
            part: {name.split(" ", 1)[1]: table.pop(name) for name in names if name.startswith(part + " ")}
            for part in ("place", "field", "number")
        }
        limits = {arm: mode.limits for arm, mode in env.modes.items() if isinstance(mode, JointEffort)}
        nominal = [mode.nominal for mode in env.modes.values() if isinstance(mode, ResidualEffort)]
        return cls(
            task,
            env.mode,
            layout,
            table["qpos"],
            table["qvel"],
            table["commanded"],
            parts["place"],
            parts["field"],
            parts["number"],
            limits,
            law=TorqueLaw.of(nominal[0], friction=True) if nominal else None,
            robots=DrawnRobots.joined(robots, env.stepped.loop.sensors.resolution) if robots else None,
        )


def _commanded(mode: Any) -> Array:
    if isinstance(mode, TipIncrement):
        return mode.q.copy()
    if isinstance(mode, JointEffort):
        return np.zeros(mode.size)
    known = ", ".join(name for name, kind in MODES.items() if issubclass(kind, JointEffort | TipIncrement))
    raise TrocarError(f"many worlds are commanded by {known}; not by {type(mode).__name__}")


def _changed(first: mujoco.MjModel, other: mujoco.MjModel, objects: set[int]) -> list[tuple[str, Array]]:
    """Fields in which a model differs from the first one; places of objects are not among them."""
    fields = []
    for name in sorted(mujoco.batch.MODEL_FIELDS):
        if name.startswith("opt.") or name in REFERENCE:
            continue
        a, b = np.asarray(getattr(first, name)), np.asarray(getattr(other, name))
        if name in PLACES:
            others = [k for k in range(len(a)) if k not in objects]
            a, b = a[others], b[others]
        if not np.allclose(a, b, rtol=1e-9, atol=0.0):
            if name in PLACES:
                raise TrocarError(f"episodes whose arms differ in {name} cannot be worlds of one batch")
            fields.append((name, b.copy()))
    return fields


def _value(row: dict[str, Array], name: str, model: mujoco.MjModel) -> Array:
    """An entry of a row; a field that is missing there is that of the first model."""
    return row[name] if name in row else np.array(getattr(model, name.split(" ", 1)[1]))
