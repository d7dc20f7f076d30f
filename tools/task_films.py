"""Films of the scripted experts of all tasks, for the gallery: docs/images/tasks/NAME.webp.

    python -m tools.task_films                   # all tasks; those that have a film already are left out
    python -m tools.task_films Reach Palpate     # these, again
    python -m tools.task_films --folder FOLDER Reach

Needs MuJoCo's renderer (MUJOCO_GL=egl without a display). Every film shows the first seed that the expert solves. Goals
are drawn as crosses.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from PIL import Image

from trocar.appearance import render, view
from trocar.appearance.films import Picture
from trocar.appearance.studio import Trace
from trocar.errors import TrocarError
from trocar.files import write_whole
from trocar.spatial import Array
from trocar_learning.envs import TASKS, TaskEnv, make_task

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "tasks"
SIZE = (320, 240)  # [pixels]
FRAMES, FPS = 40, 12.0  # at most so many pictures, shown at this rate
LAST = 6  # repetitions of the last picture
MAX_BYTES = 250_000
QUALITIES = (60, 45, 30, 20)  # of the compression, until the film is small enough
SEEDS = range(20)
GOAL, MARK = (0.85, 0.33, 0.10, 1.0), 3e-3  # colour and half length of a cross [m]


@dataclass(frozen=True)
class Shot:
    """A view: direction (azimuth, elevation) [deg], distance [m] and centre [m]; without them the whole arm.

    `duration`: of the film, if the episode is longer [s].
    """

    direction: tuple[float, float] = (146.0, -19.0)
    distance: float | None = None
    above: float = 0.0
    duration: float = 60.0


WHOLE = Shot()
CLOSE = Shot((130.0, -22.0), 0.12, 0.01)
SHOTS = {
    "Reach": WHOLE,
    "Track": WHOLE,
    "Payload": WHOLE,
    "FaultAdapt": WHOLE,
    "CameraCentre": WHOLE,
    "ForceHold": CLOSE,
    "NeedlePick": CLOSE,
    "PegTransfer": Shot((90.0, -35.0), 0.24, 0.0, 75.0),
    "NeedleHandover": Shot((180.0, -15.0), 0.13, 0.0),
    "Approach": CLOSE,
    "Place": Shot((-60.0, -28.0), 0.11, 0.0),
    "Insert": Shot((-60.0, -28.0), 0.10, 0.0),
    "Regrasp": Shot((-60.0, -28.0), 0.10, 0.0),
    "Pullout": Shot((-60.0, -28.0), 0.13, 0.01),
    "Retract": Shot((130.0, -15.0), 0.14, 0.0),
    "Palpate": Shot((130.0, -25.0), 0.14, 0.01),
}


def film(task: str) -> tuple[list[Picture], float]:
    """Pictures of a successful episode of the expert, and the simulated time between two of them [s]."""
    for seed in SEEDS:
        pictures, interval, success = _episode(task, seed, SHOTS[task])
        if success:
            return pictures, interval
    raise TrocarError(f"the expert of {task} solves none of the seeds {SEEDS.start} to {SEEDS.stop - 1}")


def _episode(task: str, seed: int, shot: Shot) -> tuple[list[Picture], float, bool]:
    """Pictures of an episode, the time between them [s], and its success."""
    env = make_task(task)
    observation, info = env.reset(seed=seed)
    policy, camera = env.expert(), _camera(env, shot)
    pictures, every, over = [_picture(env, camera)], 4, False
    for k in range(1, round(shot.duration / env.period) + 1):
        observation, _, terminated, truncated, info = env.step(policy(observation))
        over = terminated or truncated or info["is_success"]  # a contest goes on after success
        if k % every == 0 or over:
            pictures.append(_picture(env, camera))
        if len(pictures) > FRAMES and not over:
            pictures, every = pictures[::2], 2 * every  # a longer episode: half as many, twice as far apart
        if over:
            break
    return pictures, every * env.period, bool(info["is_success"])


def _camera(env: TaskEnv, shot: Shot) -> mujoco.MjvCamera:
    scene = env.world.scene
    camera = view(scene, shot.direction, SIZE)
    if shot.distance is not None:
        tips = [scene.T_world_tip(arm)[:3, 3] for arm in scene.arms]
        goals = _goals(env)
        camera.lookat = np.mean([*tips, *goals], axis=0) - [0.0, 0.0, shot.above]
        camera.distance = shot.distance
    return camera


def _goals(env: TaskEnv) -> list[Array]:
    """Places (3,) in the world to be marked."""
    world = env.world
    task: Any = env.task
    if hasattr(task, "target"):
        return [task.target(world.time)]
    if hasattr(task, "entry"):
        return [task.entry, task.exit]
    if hasattr(task, "ball"):
        return [(task.T_face @ [*task.ball.centre, 0.0, 1.0])[:3]]
    if task.has_reference:
        arm = world.scene.arms["PSM"]
        return [arm.mechanism.forward_kinematics(task.reference(world.time).q)[:3, 3]]
    return list(task.desired(world)) if task.goal_tolerance is not None else []


def _picture(env: TaskEnv, camera: mujoco.MjvCamera) -> Picture:
    size = MARK * max(1.0, camera.distance / 0.15)
    traces = [
        Trace(np.array([goal - size * axis, goal + size * axis]), GOAL) for goal in _goals(env) for axis in np.eye(3)
    ]
    return render(env.world.scene, camera, SIZE, traces=traces, shadows=False)


def webp(pictures: Sequence[Picture], milliseconds: int) -> bytes:
    """An animation of at most MAX_BYTES, as good as that allows."""
    images = [Image.fromarray(picture) for picture in pictures]
    for quality in QUALITIES:
        stream = io.BytesIO()
        images[0].save(
            stream,
            "WEBP",
            save_all=True,
            append_images=images[1:],
            duration=[milliseconds] * (len(images) - 1) + [LAST * milliseconds],
            loop=0,
            quality=quality,
            method=6,
        )
        if stream.tell() <= MAX_BYTES:
            break
    return stream.getvalue()


def main() -> None:
    """Write the films."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for task in options.tasks or TASKS:
        path = options.folder / f"{task}.webp"
        if path.exists() and not options.tasks:
            continue
        pictures, interval = film(task)
        content = webp(pictures, round(1000 / FPS))
        write_whole(path, content)
        print(
            f"{task}: {len(pictures)} pictures, {FPS * interval:.1f} x real time, {len(content) // 1000} kB", flush=True
        )


if __name__ == "__main__":
    main()
