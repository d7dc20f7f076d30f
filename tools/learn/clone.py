"""Behaviour cloning of NeedlePick: a network that imitates recorded episodes of the expert, with plain PyTorch."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tools.learn.expert_noise import noisy_episodes
from tools.learn.features import LinearFeatures
from trocar.files import write_whole
from trocar.spatial import Array
from trocar_learning.envs import make_task
from trocar_learning.envs.episode import play
from trocar_learning.envs.network_export import of_modules
from trocar_learning.envs.network_policy import NetworkPolicy
from trocar_learning.episodes import EpisodeRecipe, record
from trocar_learning.episodes import features as f
from trocar_learning.episodes.demonstration import read_npz

TASK = "NeedlePick"
EPISODES, RECOVERY = 200, 0.5  # count, share that begins after a disturbance
WAIT, HOLD = 8, 20  # control periods by which the network closes the jaws and lifts before the expert
NOISY, TOGETHER = 80, 10  # episodes with noise, and how many share a file
FIRST = 1_000_000  # seed of the first recorded episode
VALIDATION, JUDGED = 500, 10  # first seed and number of episodes of a point of the curve
EPOCHS, POINTS, BATCH, WIDTH = 40, 2, 256, 128
# Observation: 0 joints, 7 velocities, 14 efforts, 21 last action, 28 needle (position, quaternion), 35 goal.
# Velocities, the opening of the jaws and the last action are left out: a network that sees them repeats the last motion
# instead of reading what comes next from the place. The effort of the jaws tells that they hold something.
SIZE, JAW_EFFORT, NEEDLE, GOAL = 38, 20, 28, 35
USED = (*range(6), JAW_EFFORT, *range(NEEDLE, GOAL))
FEATURES = LinearFeatures(
    SIZE, [*((1.0, 0.0, (k,)) for k in USED), *((1.0, 0.0, (GOAL + k, NEEDLE + k)) for k in range(3))]
)
# Largest action; the expert's openings of the jaws are 0.33 and -0.45. Jaws that close further squeeze the needle out.
SCALE = np.array([*6 * [1.0], 0.46])
# Smallest standard deviations: a needle that tilts in the jaws must not look far away from the data.
LEAST = np.array([0.05, 0.05, 0.005, *3 * [0.05], 0.02, *3 * [5e-3], *4 * [0.1], *3 * [5e-3]])


def data_set(folder: Path) -> Path:
    """Record the expert's episodes, plain and with noise; interrupted recordings continue, finished ones are kept."""
    recipe = EpisodeRecipe(task=TASK, count=EPISODES, seed=FIRST, recovery=RECOVERY, format="npz")
    record(recipe, folder, workers=1)
    env = make_task(TASK)
    for first in range(FIRST + EPISODES, FIRST + EPISODES + NOISY, TOGETHER):
        path = folder / f"noisy_{first}.npz"
        if not path.exists():
            x, action = (np.concatenate(part) for part in zip(*noisy_episodes(env, first, TOGETHER), strict=True))
            buffer = io.BytesIO()
            np.savez_compressed(buffer, x=x, action=action)
            write_whole(path, buffer.getvalue())
    return folder


def samples(folder: Path) -> tuple[Array, Array]:
    """Features (N, k) and actions (N, n) of all successful episodes of a folder."""
    rows, actions = [], []
    for path in sorted(folder.glob("noisy_*.npz")):
        with np.load(path) as file:
            rows.append(file["x"] @ FEATURES.A.T + FEATURES.c)
            actions.append(file["action"])
    for path in sorted(folder.glob("episode_*.npz")):
        episode = read_npz(path)
        if not episode.about["success"]:
            continue
        frames = episode.frames
        action = frames[f.ENV_ACTION]
        last = np.vstack([np.zeros(action.shape[1]), action[:-1]])
        parts = [frames[f.POSITION], frames[f.VELOCITY], frames[f.EFFORT], last, frames[f.TASK_STATE]]
        rows.append(np.hstack(parts) @ FEATURES.A.T + FEATURES.c)
        actions.append(action)
    x, action = np.concatenate(rows), np.concatenate(actions)
    # The expert waits before it closes the jaws and before it lifts; without a clock, the median of its actions there
    # is to wait for ever. The network closes and lifts a little earlier.
    action[:-WAIT, 6] = np.minimum(action[:-WAIT, 6], action[WAIT:, 6])
    now, later = action[:-HOLD], action[HOLD:].copy()
    lifting = (now[:, 6] < 0.0) & (np.abs(now[:, 2]) < 0.15) & (later[:, 2] > 0.3)
    now[lifting, :6] = later[lifting, :6]
    return x, action


def train(folder: Path, seed: int, curve: Path, say: Callable[[str], None] = print) -> NetworkPolicy:
    """Train on the recorded episodes, write the curve (JSON lines) and return the policy of its best point."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    x, action = samples(folder)
    mean, std = x.mean(axis=0), np.maximum(x.std(axis=0), LEAST)
    inputs = torch.tensor((x - mean) / std, dtype=torch.float32)
    targets = torch.tensor(action / SCALE, dtype=torch.float32)
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(x.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 7)
    )
    steps = EPOCHS * (len(x) // BATCH)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    began, wall, env = time.process_time(), time.perf_counter(), make_task(TASK)
    best, policy, rows, taken = -1.0, None, [], 0
    while taken < steps:
        for chosen in torch.randperm(len(x)).split(BATCH):
            if len(chosen) < BATCH:
                continue
            loss = nn.functional.smooth_l1_loss(net(inputs[chosen]), targets[chosen], beta=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            taken += 1
        if taken % (steps // POINTS) < len(x) // BATCH:
            notes = {"library": "PyTorch", "seed": seed, "episodes": EPISODES, "steps": taken}
            own = of_modules([net], env, features=FEATURES.matrix, mean=mean, std=std, scale=SCALE, notes=notes)
            success = float(np.mean([play(env, own, VALIDATION + k).held for k in range(JUDGED)]))
            row = {"steps": taken, "cpu_s": time.process_time() - began, "wall_s": time.perf_counter() - wall}
            rows.append(row | {"loss": loss.item(), "score": success})
            write_whole(curve, "".join(json.dumps(entry) + "\n" for entry in rows))
            say(f"{TASK} seed {seed}: " + ", ".join(f"{name} {value:.4g}" for name, value in rows[-1].items()))
            if success >= best:
                best, policy = success, own
    assert policy is not None
    return policy
