"""NeedlePick or PegLift learned on a GPU: `python -m tools.worlds.learn STARTS OUT`; see --help.

STARTS is a file of `tools.worlds.starts`, which names the task. A network first imitates `pick_rule` in states that it
and the rule visit, then PPO (rsl_rl) goes on from there, or from random weights, with a reward that leads through the
stages of a grasp; the policy is scored without it. Writes TASK_clone_SEED.npz, TASK_SEED.npz, curve_SEED.json and
test_SEED.json.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from rsl_rl.algorithms import PPO

from tools.worlds.lift_settings import SETTINGS, LiftSetting
from tools.worlds.pick_rule import pick_rule
from trocar_learning.envs.arrays import length
from trocar_learning.envs.network_policy import NetworkPolicy
from trocar_learning.envs.policy_features import GRIPS, GripFeatures
from trocar_learning.envs.worlds import Episodes, TaskWorlds
from trocar_learning.envs.worlds.rsl_worlds import RslWorlds

STEPS, PERIODS = 16, 220  # control periods of a rollout, and of a training episode
ROUNDS = 6  # of cloning
SAVED = 30.0  # seconds between two files of the policy


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

    def __init__(self, setting: LiftSetting, features: GripFeatures, worlds: TaskWorlds) -> None:
        self._setting, self._features = setting, features
        self._before = torch.full((worlds.n,), torch.nan, device=worlds.elapsed.device)

    def __call__(self, worlds: TaskWorlds, observation: Any, info: dict[str, Any], done: Any) -> Any:
        """Rewards (n,); where an episode is done, the next one starts without a potential."""
        setting, (way, spin) = self._setting, self._features.error(observation)
        d, angle = length(way), length(spin)
        near = torch.exp(-((d / 3e-3) ** 2) - (angle / 0.25) ** 2)
        closing = ((setting.opening - observation[:, 6]) / (setting.opening - setting.around)).clip(0.0, 1.0)
        held = worlds.held("PSM", setting.thing).float()
        left = length(observation[:, 35:38] - observation[:, 28:31])
        kept = held * (1.0 + 2.0 * (1.0 - left / setting.lift).clip(0.0, 1.0)) + info["solved"].float()
        potential = -d / 5e-3 - angle / 0.15 + 2.0 * near + 3.0 * closing * (2.0 * near - 1.0) + 3.0 * kept
        reward = torch.nan_to_num(potential - self._before) + 0.1 * kept
        self._before = torch.where(done, torch.nan, potential)
        return torch.where(info["diverged"] | fallen(setting, observation), -2.0, reward.clip(-2.0, 2.0))


def fallen(setting: LiftSetting, observation: Any) -> Any:
    """Worlds (n,) whose object has left the board or the rails."""
    return observation[:, 30] < setting.lowest


def policy_of(setting: LiftSetting, network: Any, **notes: Any) -> NetworkPolicy:
    """A network, such as the actor's mean action, as a file for `trocar score --policy`."""
    layers = [layer for layer in network.modules() if isinstance(layer, torch.nn.Linear)]
    arrays = [[x.detach().cpu().double().numpy() for x in (layer.weight, layer.bias)] for layer in layers]
    zeros = torch.zeros(GripFeatures.size, dtype=torch.float64).numpy()
    return NetworkPolicy(
        task=setting.task,
        mode="tip_increment",
        observation="state",
        weights=tuple(W for W, _ in arrays),
        biases=tuple(b for _, b in arrays),
        mean=zeros,
        std=zeros + 1.0,
        scale=torch.ones(7, dtype=torch.float64).numpy(),
        activation="elu",
        notes=notes,
        features=setting.features,
    )


def clone(setting: LiftSetting, worlds: TaskWorlds, features: GripFeatures, rounds: int, limit: float) -> Any:
    """A network that imitates the rule: a first round of its own episodes, then rounds in which it acts as well.

    limit: time after which no other round begins [s].
    """
    sizes, device = (GripFeatures.size, 128, 128, worlds.size), worlds.elapsed.device
    layers = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
    net = torch.nn.Sequential(layers[0], torch.nn.ELU(), layers[1], torch.nn.ELU(), layers[2]).to(device)
    seen, answers = [], []
    everywhere = torch.ones(worlds.n, dtype=torch.bool, device=device)
    began = time.perf_counter()
    for k in range(rounds):
        if k and time.perf_counter() - began > limit:
            break
        observation = worlds.reset(everywhere)
        acts = torch.rand(worlds.n, 1, device=device) < (0.8 if k else 0.0)
        with torch.no_grad():
            for period in range(setting.expert):
                x, y = features(observation), pick_rule(setting, features, observation).clip(-1.0, 1.0)
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
        spent = time.perf_counter() - began
        print(f"clone, round {k + 1} of {rounds}: loss {loss.item():.4f}, {spent:.0f} s", flush=True)
    return net


def train(setting: LiftSetting, env: RslWorlds, seconds: float, out: Path, seed: int, taught: Any = None) -> PPO:
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
    file = out / f"{setting.stem}_{seed}.npz"
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
            policy_of(setting, learner.actor.mlp, steps=steps, seconds=round(now)).save(file)
    (out / f"curve_{seed}.json").write_text(json.dumps(curve))
    notes = {"algorithm": "PPO (rsl_rl)", "steps": steps, "seconds": round(seconds), "worlds": env.num_envs}
    notes["start"] = "random" if taught is None else "clone of tools.worlds.pick_rule"
    policy_of(setting, learner.actor.mlp, **notes, seed=seed).save(file)
    return learner


def tested(worlds: TaskWorlds, features: Any, network: Any) -> dict[str, float]:
    """Share of one episode per world that succeeds, without noise."""
    observation, ever = worlds.reset(), torch.zeros(worlds.n, dtype=torch.bool, device=worlds.elapsed.device)
    lost = torch.zeros_like(ever)
    with torch.inference_mode():
        for _ in range(worlds.task.periods):
            observation, _, _, _, info = worlds.step(network(features(observation)))
            lost |= info["diverged"]
            ever |= info["is_success"] & ~lost
    return {"success": float(ever.float().mean()), "diverged": float(lost.float().mean())}


def main() -> None:
    """Train on one set of starts, test on the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("starts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--worlds", type=int, default=2048, help="number of worlds")
    parser.add_argument("--seconds", type=float, default=135.0, help="duration of PPO [s]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--start", choices=("clone", "random"), default="clone", help="weights with which PPO starts")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="number of rounds of cloning")
    parser.add_argument("--limit", type=float, default=120.0, help="start no round of cloning after [s]")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    episodes: dict[str, Episodes] = pickle.loads(options.starts.read_bytes())
    setting, began = SETTINGS[episodes["train"].task], time.perf_counter()
    options.out.mkdir(parents=True, exist_ok=True)
    worlds = TaskWorlds(episodes["train"], options.worlds, device=options.device, **setting.memory)
    arm = worlds.episodes.layout.arms["PSM"]
    assert arm.wrist is not None
    features = GripFeatures(torch, arm.wrist, arm.T_world_base, GRIPS[setting.features])
    env = RslWorlds(
        worlds,
        features=features,
        reward=StagedReward(setting, features, worlds),
        periods=PERIODS,
        through=True,
        lost=partial(fallen, setting),
    )
    print(f"ready after {time.perf_counter() - began:.0f} s", flush=True)
    count = min(options.worlds, len(episodes["test"]))
    test = TaskWorlds(episodes["test"], count, device=options.device, **setting.memory)
    figures: dict[str, Any] = {}
    taught = None
    if options.start == "clone":
        taught = clone(setting, worlds, features, options.rounds, options.limit)
        policy_of(setting, taught, seed=options.seed, algorithm="clone of tools.worlds.pick_rule").save(
            options.out / f"{setting.stem}_clone_{options.seed}.npz"
        )
        figures["clone"] = tested(test, features, taught)
        print("test of the clone", figures["clone"], flush=True)
    if options.seconds > 0.0:
        learner = train(setting, env, options.seconds, options.out, options.seed, taught)
        figures["ppo"] = tested(test, features, learner.actor.mlp)
        print("test", figures["ppo"], flush=True)
    (options.out / f"test_{options.seed}.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
