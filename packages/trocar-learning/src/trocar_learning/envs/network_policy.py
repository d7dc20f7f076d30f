"""A learned policy in one small file: the layers of a network as .npz, evaluated in NumPy and read without pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from trocar.errors import TrocarError, check_known, shown
from trocar.files import write_whole
from trocar.recording.formats import described_arrays
from trocar.spatial import Array
from trocar_learning.envs.actions import MODES
from trocar_learning.envs.policy_features import FEATURES
from trocar_learning.envs.registration import ALL_TASKS
from trocar_learning.envs.task import Policy
from trocar_learning.envs.task_env import OBSERVATIONS, TaskEnv

FORMAT = "trocar policy 1"
MAX_BYTES, MAX_LAYERS, MAX_WIDTH = 16 * 2**20, 8, 2048
MAX_VALUE, MIN_STD = 1e6, 1e-6  # of any number of the file; no network of such numbers overflows
NAMES = ("task", "mode", "observation", "activation", "output")  # entries of `about` that the policy needs
OPTIONAL = ("features",)  # entries that it may have


def _elu(x: Array) -> Array:
    return np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))


def _silu(x: Array) -> Array:
    return np.asarray(x * 0.5 * (1.0 + np.tanh(0.5 * x)))


Activation = Callable[[Array], Array]
ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {"relu": lambda x: np.maximum(x, 0.0), "tanh": np.tanh, "elu": _elu, "silu": _silu}
)
OUTPUTS: Mapping[str, Activation] = MappingProxyType({"tanh": np.tanh, "clip": lambda x: np.clip(x, -1.0, 1.0)})


@dataclass(frozen=True, eq=False)
class NetworkPolicy:
    """A multilayer perceptron from the observation of a task to its action: action = scale * output(network(z)).

    z = (x - mean) / std of the observation x, or of its features; `activation` follows every layer but the last.

    Attributes:
        task, mode, observation: of the environment on which it was trained.
        weights, biases: of every layer, (outputs, inputs) and (outputs,). mean, std: of x (m,).
        scale: of the action (n,). activation: relu, tanh, elu or silu. output: tanh or clip.
        notes: about the training; texts and numbers. features: name in `policy_features.FEATURES`; empty for none.
    """

    task: str
    mode: str
    observation: str
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    mean: Array
    std: Array
    scale: Array
    activation: str = "relu"
    output: str = "clip"
    notes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    features: str = ""

    def __post_init__(self) -> None:
        check_known("task", ALL_TASKS, self.task)
        check_known("action mode", MODES, self.mode)
        check_known("observation", OBSERVATIONS, self.observation)
        check_known("activation", ACTIVATIONS, self.activation)
        check_known("output", OUTPUTS, self.output)
        if self.features != "":
            check_known("features", FEATURES, self.features)
            task, _, size, _ = FEATURES[self.features]
            if task != self.task or self.mean.shape != (size,):
                raise TrocarError(f"features {self.features} are {size} numbers of {task}")
        if not 1 <= len(self.weights) <= MAX_LAYERS or len(self.biases) != len(self.weights):
            raise TrocarError(f"a network has 1 to {MAX_LAYERS} layers of weights and biases, got {len(self.weights)}")
        for name, value in self._arrays().items():
            # compared as 64-bit numbers: the limit is no half-precision number
            if value.dtype.kind != "f" or not (np.abs(value.astype(float)) <= MAX_VALUE).all():
                raise TrocarError(f"{name} must be finite numbers of at most {MAX_VALUE:g}")
        size = self.mean.shape[0] if self.mean.ndim == 1 else -1
        self._check_shape("std", self.std, (size,))
        if (self.std < MIN_STD).any():
            raise TrocarError(f"std must be at least {MIN_STD:g}")
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            self._check_shape(f"W{k}", W, (b.shape[0] if b.ndim == 1 else -1, size))
            size = len(b)
        self._check_shape("scale", self.scale, (size,))

    def _check_shape(self, name: str, value: Array, shape: tuple[int, ...]) -> None:
        if value.shape != shape or not all(0 < side <= MAX_WIDTH for side in shape):
            raise TrocarError(f"{name} has the shape {value.shape}, which does not fit the other layers")

    @cached_property
    def _layers(self) -> list[tuple[Array, Array]]:
        return [(W.astype(float), b.astype(float)) for W, b in self._pairs()]

    def _pairs(self) -> list[tuple[Array, Array]]:
        return list(zip(self.weights, self.biases, strict=True))

    def _arrays(self) -> dict[str, Array]:
        layers = {
            f"{letter}{k}": part
            for k, pair in enumerate(self._pairs())
            for letter, part in zip("Wb", pair, strict=True)
        }
        return layers | {"mean": self.mean, "std": self.std, "scale": self.scale}

    @property
    def options(self) -> dict[str, str]:
        """Options of `make_task` for its environment."""
        return {"mode": self.mode, "observation": self.observation}

    def action(self, observation: Array) -> Array:
        """The action (..., n) for an observation (..., m), or for its features."""
        x = (np.asarray(observation, dtype=float) - self.mean) / self.std
        function, (*hidden, (W, b)) = ACTIVATIONS[self.activation], self._layers
        for weights, bias in hidden:
            x = function(x @ weights.T + bias)
        return np.asarray(self.scale * OUTPUTS[self.output](x @ W.T + b), dtype=float)

    def __call__(self, env: TaskEnv) -> Policy:
        """The policy on an environment, which must be of its task, action mode and observation."""
        task = type(env.task).__name__.removesuffix("Task")
        if task != self.task:
            raise TrocarError(f"this policy was trained on {self.task}, not on {task}")
        for name, own, other in (
            ("mode", self.mode, env.mode),
            ("observation", self.observation, env.observation_kind),
        ):
            if own != other:
                raise TrocarError(f"this policy needs an environment with {name}='{own}', got '{other}'")
        sizes = (env.observation_space.shape, env.action_space.shape)
        inputs = FEATURES[self.features][1] if self.features else len(self.mean)
        if sizes != ((inputs,), (len(self.scale),)):
            raise TrocarError(
                f"this policy maps {inputs} numbers to {len(self.scale)}; the environment's spaces are "
                f"{sizes[0]} and {sizes[1]}"
            )
        if not self.features:
            return self.action
        features = FEATURES[self.features][3](env)
        return lambda x: self.action(features(np.asarray(x, dtype=float)[None])[0])

    def save(self, path: Path) -> Path:
        """Write the file."""
        about = {"format": FORMAT, **{name: getattr(self, name) for name in NAMES}, "notes": dict(self.notes)}
        about |= {name: getattr(self, name) for name in OPTIONAL if getattr(self, name)}
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {name: value.astype(np.float32) for name, value in self._arrays().items()}
        np.savez_compressed(buffer, about=np.array(json.dumps(about, allow_nan=False)), **arrays)
        return write_whole(path, buffer.getvalue())


def load_network(path: Path) -> NetworkPolicy:
    """Read a file that `NetworkPolicy.save` wrote."""
    arrays, about = described_arrays(path, "policy", MAX_BYTES)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise TrocarError(f"{path}: not a policy: 'about' must state the format {FORMAT!r}")
    if set(about) - set(OPTIONAL) != {"format", *NAMES, "notes"} or not isinstance(about["notes"], dict):
        raise TrocarError(f"{path}: not a policy: 'about' must hold {', '.join((*NAMES, 'notes'))}")
    layers = (len(arrays) - 3) // 2
    expected = {"mean", "std", "scale", *(f"{letter}{k}" for letter in "Wb" for k in range(layers))}
    if set(arrays) != expected:
        raise TrocarError(
            f"{path}: not a policy: entries must be mean, std, scale, W0, b0, ..., got {shown(sorted(arrays))}"
        )
    weights, biases = (tuple(arrays[f"{letter}{k}"] for k in range(layers)) for letter in "Wb")
    try:
        return NetworkPolicy(
            weights=weights,
            biases=biases,
            **{name: arrays[name] for name in ("mean", "std", "scale")},
            **{name: about[name] for name in (*NAMES, "notes")},
            **{name: about[name] for name in OPTIONAL if name in about},
        )
    except TrocarError as error:
        raise TrocarError(f"{path}: not a policy: {error}") from None
