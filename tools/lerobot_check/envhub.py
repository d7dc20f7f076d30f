"""Runs in the environment of lerobot: makes the tasks of the EnvHub file by lerobot's make_env, and runs a policy.

    python envhub.py POLICY

The download from the Hub is replaced by the file of this repository.
"""

# mypy: ignore-errors
import sys
from pathlib import Path

import numpy as np
from train import stub_torchvision

FILE = Path(__file__).parents[2] / "packages" / "lerobot-env-trocar" / "envhub" / "env.py"
STEPS = 60


def main():
    stub_torchvision()
    import torch
    from lerobot.envs import factory
    from lerobot.envs.utils import add_envs_task, preprocess_observation
    from lerobot.policies.act.modeling_act import ACTPolicy
    from lerobot.policies.factory import make_pre_post_processors

    factory._download_hub_file = lambda *_: ("trocar/tasks", FILE.name, str(FILE), "main")
    env = factory.make_env("trocar/tasks:env.py", n_envs=2, trust_remote_code=True)["trocar"][0]
    policy = ACTPolicy.from_pretrained(sys.argv[1])
    before, after = make_pre_post_processors(policy.config, pretrained_path=sys.argv[1])
    observation, _ = env.reset(seed=[0, 1])
    first = observation["agent_pos"][:, :3].copy()
    policy.reset()
    for _ in range(STEPS):
        batch = add_envs_task(env, preprocess_observation(observation))
        with torch.no_grad():
            action = after(policy.select_action(before(batch))).numpy()
        observation, _, _, _, info = env.step(action)
    moved = np.linalg.norm(observation["agent_pos"][:, :3] - first, axis=1)
    assert (moved > 1e-3).all(), f"the tips moved {1e3 * moved} mm"
    assert "is_success" in info
    print(f"EnvHub: lerobot's make_env gives {env.num_envs} tasks; the policy moved the tips by {1e3 * moved} mm")


if __name__ == "__main__":
    main()
