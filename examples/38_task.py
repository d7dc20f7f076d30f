"""A task as a Gymnasium environment: its expert, a policy of one's own, and a robot that differs from its model."""

import gymnasium
import numpy as np

import trocar_learning.envs


def run(env, policy_of):
    """Play an episode and return its last `info`."""
    observation, info = env.reset(seed=7)
    policy, over = policy_of(env), False
    while not over:
        observation, _, terminated, truncated, info = env.step(policy(observation))
        over = terminated or truncated
    return info


def push_towards_goal(env):
    """A policy of one's own: the last six numbers of the observation are tip and goal; the first three joints push."""

    def policy(observation):
        tip, goal = observation[-6:-3], observation[-3:]
        x, y, z = goal - tip
        return np.clip([4.0 * x, -4.0 * y, -6.0 * z, 0.0, 0.0, 0.0, 0.0], -1.0, 1.0)

    return policy


for level in ("nominal", "3sigma"):
    env = gymnasium.make("trocar/Reach-v0", level=level)
    for name, policy_of in (("expert", trocar_learning.envs.expert), ("own", push_towards_goal)):
        info = run(env, policy_of)
        outcome = "success" if info["is_success"] else "no success"
        print(f"{level}, {name}: {outcome} after {info['time']:.2f} s, path {info['path']:.3f} m")
