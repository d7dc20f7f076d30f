"""Policies of training libraries as `NetworkPolicy`: Stable-Baselines3, rsl_rl and plain PyTorch modules.

No library is imported here: layers are read from the given objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.errors import TrocarError, shown
from trocar.files import Json
from trocar.spatial import Array
from trocar_learning.envs.network_policy import ACTIVATIONS, NetworkPolicy


def of_sb3(model: Any, env: Any, **options: Any) -> NetworkPolicy:
    """The deterministic policy of a model of Stable-Baselines3 (PPO, A2C, SAC or TD3 with an MlpPolicy).

    Args:
        env: the task's environment, also a wrapped one. options: of `of_modules`.
    """
    policy = model.policy
    if hasattr(policy, "mlp_extractor"):  # PPO, A2C: the environment clips
        return of_modules([policy.mlp_extractor.policy_net, policy.action_net], env, **options)
    if hasattr(policy, "actor") and hasattr(policy.actor, "latent_pi"):  # SAC
        return of_modules([policy.actor.latent_pi, policy.actor.mu], env, output="tanh", **options)
    if hasattr(policy, "actor"):  # TD3, DDPG: the last module is a tanh
        return of_modules([policy.actor.mu[:-1]], env, output="tanh", **options)
    raise TrocarError(f"only actors of PPO, A2C, SAC, TD3 and DDPG can be exported, got {type(model).__name__}")


def of_rsl_rl(actor: Any, env: Any, **options: Any) -> NetworkPolicy:
    """The mean action of an actor of rsl_rl (5.x, `MLPModel` with a Gaussian distribution), clipped.

    Args:
        env: the task's environment on this machine, also a wrapped one. options: of `of_modules`.
    """
    normalizer = actor.obs_normalizer
    if hasattr(normalizer, "eps"):
        options |= {"mean": _array(normalizer.mean), "std": _array(normalizer.std) + normalizer.eps}
    return of_modules([actor.mlp], env, **options)


def of_modules(
    modules: list[Any],
    env: Any,
    *,
    mean: Array | None = None,
    std: Array | None = None,
    features: tuple[Array, Array] | None = None,
    scale: Array | None = None,
    output: str = "clip",
    notes: Json | None = None,
) -> NetworkPolicy:
    """The policy of PyTorch modules in sequence: linear layers with the same activation between them.

    Args:
        env: the task's environment, also a wrapped one. mean, std: of the inputs. Default: 0 and 1.
        features: matrix A (k, m) and offset c (k,) if the inputs are A x + c of the observation x.
        scale: (n,) largest action; the network has an output for every number that is not 0. Default: 1.
        output: clip or tanh. notes: about the training.
    """
    inner = env.unwrapped
    layers, activation = _layers(modules)
    size = inner.action_space.shape[0]
    factors = np.ones(size) if scale is None else np.asarray(scale, dtype=float)
    weights, biases = [W for W, _ in layers], [b for _, b in layers]
    used = np.flatnonzero(factors)
    if len(biases[-1]) != len(used):
        raise TrocarError(f"the network has {len(biases[-1])} outputs, the action {len(used)} numbers")
    full = np.zeros((size, weights[-1].shape[1])), np.zeros(size)
    full[0][used], full[1][used] = weights[-1], biases[-1]
    weights[-1], biases[-1] = full
    inputs = weights[0].shape[1]
    centre = np.zeros(inputs) if mean is None else np.asarray(mean, dtype=float)
    spread = np.ones(inputs) if std is None else np.asarray(std, dtype=float)
    if features is not None:  # W (A x + c - mean) / std + b, as one layer on x
        A, c = features
        weights[0] = weights[0] / spread
        biases[0] = biases[0] + weights[0] @ (c - centre)
        weights[0] = weights[0] @ A
        centre, spread = np.zeros(A.shape[1]), np.ones(A.shape[1])
    return NetworkPolicy(
        task=type(inner.task).__name__.removesuffix("Task"),
        mode=inner.mode,
        observation=inner.observation_kind,
        weights=tuple(weights),
        biases=tuple(biases),
        mean=centre,
        std=spread,
        scale=factors,
        activation=activation,
        output=output,
        notes=notes or {},
    )


def _layers(modules: list[Any]) -> tuple[list[tuple[Array, Array]], str]:
    """Weights and biases of all linear layers, and the activation between them."""
    parts = [part for module in modules for part in (module if hasattr(module, "__iter__") else [module])]
    names = [type(part).__name__.lower() for part in parts]
    kinds = set(names[1::2])
    if len(names) % 2 == 0 or set(names[::2]) != {"linear"} or len(kinds) > 1 or not kinds <= set(ACTIVATIONS):
        raise TrocarError(
            f"a policy is a sequence of linear layers with one activation ({', '.join(ACTIVATIONS)}) between them, "
            f"got {shown(names)}"
        )
    return [(_array(part.weight), _array(part.bias)) for part in parts[::2]], kinds.pop() if kinds else "relu"


def _array(tensor: Any) -> Array:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=float)
