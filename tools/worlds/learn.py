"""NeedlePick learned on a GPU: `python -m tools.worlds.learn STARTS OUT [WORLDS SECONDS SEED DEVICE START]`.

STARTS is a file of `tools.worlds.starts`. START: "clone", a network that imitates `needle_rule` in states that it and
the rule visit, or "random" weights. PPO (rsl_rl) goes on from there, with a reward that leads through the stages of a
grasp; the policy is scored without it. Writes needle_pick_SEED.npz and curve_SEED.json.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from rsl_rl.algorithms import PPO

from tools.worlds.needle_rule import needle_rule
from trocar.envs.network_policy import NetworkPolicy
from trocar.envs.policy_features import GripFeatures
from trocar.envs.tasks.needle_pick import HEIGHT
from trocar.envs.worlds import Episodes, TaskWorlds
from trocar.envs.worlds.rigid_tasks import length
from trocar.envs.worlds.rsl_worlds import RslWorlds

STEPS, PERIODS = 16, 220  # control periods of a rollout, and of a training episode
OPEN, CLOSED = 0.6, 0.17  # opening of the jaws at the start, and around the wire [rad]
ROUNDS = 6  # of cloning
LIFTED = 0.02  # way of the needle to its goal [m]
SAVED = 30.0  # seconds between two files of the policy
# of the worlds: 22 contacts of the needle with its rails, and those of the jaws
MEMORY: dict[str, Any] = {"max_contacts": 40, "max_constraints": 176}


def config() -> dict[str, Any]:
    """Settings of rsl_rl."""
    hidden = {"class_name": "rsl_rl.models:MLPModel", "hidden_dims": [128, 128], "activation": "elu"}
    gaussian = {"class_name": "rsl_rl.modules.distribution:GaussianDistribution", "init_std": 0.35, "std_type": "log"}
    return {
        "algorithm": {
            "class_name": "rsl_rl.algorithms:PPO",
            "learning_rate": 1e-3,
            "gamma": 0.98,
            "lam": 0.95,
            "entropy_coef": 0.001,
            "num_learning_epochs": 5,
            "num_mini_batches": 4,
            "desired_kl": 0.02,
        },
        "actor": {**hidden, "distribution_cfg": gaussian},
        "critic": dict(hidden),
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "num_steps_per_env": STEPS,
        "multi_gpu": None,
    }


class StagedReward:
    """Reward of progress through the stages of a grasp: come to the grip, align, close there, hold, lift to the goal.

    The reward of a control period is the growth of a potential, so that no stage can be repeated for more, and a share
    of the last stages themselves, so that they are kept.
    """

    def __init__(self, features: GripFeatures, worlds: TaskWorlds) -> None:
        self._features, self._before = features, torch.full((worlds.n,), torch.nan, device=worlds.elapsed.device)

    def __call__(self, worlds: TaskWorlds, observation: Any, info: dict[str, Any], done: Any) -> Any:
        """Rewards (n,); where an episode is done, the next one starts without a potential."""
        way, spin = self._features.error(observation)
        d, angle = length(way), length(spin)
        near = torch.exp(-((d / 3e-3) ** 2) - (angle / 0.25) ** 2)
        closing = ((OPEN - observation[:, 6]) / (OPEN - CLOSED)).clip(0.0, 1.0)
        held = worlds.held("PSM", "needle").float()
        left = length(observation[:, 35:38] - observation[:, 28:31])
        kept = held * (1.0 + 2.0 * (1.0 - left / LIFTED).clip(0.0, 1.0)) + info["solved"].float()
        potential = -d / 5e-3 - angle / 0.15 + 2.0 * near + 3.0 * closing * (2.0 * near - 1.0) + 3.0 * kept
        reward = torch.nan_to_num(potential - self._before) + 0.1 * kept
        self._before = torch.where(done, torch.nan, potential)
        return torch.where(info["diverged"] | fallen(observation), -2.0, reward.clip(-2.0, 2.0))


def fallen(observation: Any) -> Any:
    """Worlds (n,) whose needle has left its rails."""
    return observation[:, 30] < HEIGHT - 0.01


def policy_of(learner: PPO, **notes: Any) -> NetworkPolicy:
    """The actor's mean action as a file for `trocar score --policy`."""
    layers = [layer for layer in learner.actor.mlp.modules() if isinstance(layer, torch.nn.Linear)]
    arrays = [[x.detach().cpu().double().numpy() for x in (layer.weight, layer.bias)] for layer in layers]
    zeros = torch.zeros(GripFeatures.size, dtype=torch.float64).numpy()
    return NetworkPolicy(
        task="NeedlePick",
        mode="tip_increment",
        observation="state",
        weights=tuple(W for W, _ in arrays),
        biases=tuple(b for _, b in arrays),
        mean=zeros,
        std=zeros + 1.0,
        scale=torch.ones(7, dtype=torch.float64).numpy(),
        activation="elu",
        notes=notes,
        features="needle_grip",
    )


def clone(worlds: TaskWorlds, features: GripFeatures) -> Any:
    """A network that imitates the rule: a first round of its own episodes, then rounds in which it acts as well."""
    sizes, device = (GripFeatures.size, 128, 128, worlds.size), worlds.elapsed.device
    layers = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
    net = torch.nn.Sequential(layers[0], torch.nn.ELU(), layers[1], torch.nn.ELU(), layers[2]).to(device)
    seen, answers = [], []
    everywhere = torch.ones(worlds.n, dtype=torch.bool, device=device)
    for k in range(ROUNDS):
        observation = worlds.reset(everywhere)
        acts = torch.rand(worlds.n, 1, device=device) < (0.8 if k else 0.0)
        with torch.no_grad():
            for period in range(165):
                x, y = features(observation), needle_rule(features, observation).clip(-1.0, 1.0)
                if period % 2 == 0:
                    seen.append(x)
                    answers.append(y)
                observation, *_ = worlds.step(torch.where(acts, net(x), y) + 0.08 * torch.randn_like(y))
        x, y = torch.cat(seen), torch.cat(answers)
        optimiser = torch.optim.Adam(net.parameters(), lr=1e-3 * 0.6**k)
        for _ in range(700):
            rows = torch.randint(len(x), (8192,), device=device)
            loss = (net(x[rows]).clip(-1.2, 1.2) - y[rows]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(f"clone, round {k + 1} of {ROUNDS}: loss {loss.item():.4f}", flush=True)
    return net


def train(env: RslWorlds, seconds: float, out: Path, seed: int, taught: Any = None) -> PPO:
    """PPO for a time, from random weights or those of a network; policy and curve are written now and then."""
    settings = config()
    if taught is not None:  # small steps from a policy that works
        settings["algorithm"] |= {"learning_rate": 1e-4, "entropy_coef": 0.0, "desired_kl": 0.005}
        settings["actor"]["distribution_cfg"]["init_std"] = 0.12
    learner = PPO.construct_algorithm(env.get_observations(), env, settings, str(env.device))
    if taught is not None:
        learner.actor.mlp.load_state_dict(taught.state_dict())
    learner.train_mode()
    observed, start, steps, saved = env.get_observations(), time.perf_counter(), 0, 0.0
    curve: list[dict[str, float]] = []
    # episodes of different worlds end at different times
    env.episode_length_buf = torch.randint_like(env.episode_length_buf, PERIODS)
    while (now := time.perf_counter() - start) < seconds:
        env.ended, total = [0, 0, 0], torch.zeros((), device=env.device)
        with torch.inference_mode():
            for _ in range(STEPS):
                observed, reward, done, extras = env.step(learner.act(observed))
                learner.process_env_step(observed, reward, done, extras)
                total += reward.mean()
            learner.compute_returns(observed)
        learner.update()
        steps += STEPS * env.num_envs
        episodes, successes, diverged = env.ended
        row = {"s": now, "steps": steps, "reward": float(total) / STEPS, "episodes": episodes, "diverged": diverged}
        row["success"] = successes / max(1, episodes)
        curve.append(row)
        if now - saved > SAVED or len(curve) % 20 == 1:
            print({name: round(value, 3) for name, value in row.items()}, flush=True)
            (out / f"curve_{seed}.json").write_text(json.dumps(curve))
        if now - saved > SAVED:
            saved = now
            policy_of(learner, steps=steps, seconds=round(now)).save(out / f"needle_pick_{seed}.npz")
    (out / f"curve_{seed}.json").write_text(json.dumps(curve))
    notes = {"algorithm": "PPO (rsl_rl)", "steps": steps, "seconds": round(seconds), "worlds": env.num_envs}
    notes["start"] = "random" if taught is None else "clone of tools.worlds.needle_rule"
    policy_of(learner, **notes, seed=seed).save(out / f"needle_pick_{seed}.npz")
    return learner


def tested(worlds: TaskWorlds, features: Any, learner: PPO) -> dict[str, float]:
    """Share of one episode per world that succeeds, without noise."""
    observation, ever = worlds.reset(), torch.zeros(worlds.n, dtype=torch.bool, device=worlds.elapsed.device)
    lost = torch.zeros_like(ever)
    with torch.inference_mode():
        for _ in range(worlds.episodes.periods):
            observation, _, _, _, info = worlds.step(learner.actor.mlp(features(observation)))
            lost |= info["diverged"]
            ever |= info["is_success"] & ~lost
    return {"success": float(ever.float().mean()), "diverged": float(lost.float().mean())}


def main(
    starts: str,
    out: str,
    n: str = "2048",
    seconds: str = "135",
    seed: str = "0",
    device: str = "cuda:0",
    start: str = "clone",
) -> None:
    """Train on one set of starts, test on the other."""
    torch.manual_seed(int(seed))
    episodes: dict[str, Episodes] = pickle.loads(Path(starts).read_bytes())
    began, folder = time.perf_counter(), Path(out)
    worlds = TaskWorlds(episodes["train"], int(n), device=device, **MEMORY)
    arm = worlds.episodes.layout.arms["PSM"]
    assert arm.wrist is not None
    features = GripFeatures(torch, arm.wrist, arm.T_world_base)
    env = RslWorlds(
        worlds, features=features, reward=StagedReward(features, worlds), periods=PERIODS, through=True, lost=fallen
    )
    print(f"ready after {time.perf_counter() - began:.0f} s", flush=True)
    taught = clone(worlds, features) if start == "clone" else None
    learner = train(env, float(seconds), folder, int(seed), taught)
    del env, worlds
    test = TaskWorlds(episodes["test"], min(int(n), len(episodes["test"])), device=device)
    figures = tested(test, features, learner)
    print("test", figures, flush=True)
    (folder / f"test_{seed}.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
