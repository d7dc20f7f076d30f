"""A policy of LeRobot in a folder, as `save_pretrained` writes it, loaded by lerobot itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from trocar.errors import TrocarError, shown
from trocar.files import check_regular
from trocar.spatial import Array
from trocar_learning.envs.episode import PolicyFailure
from trocar_learning.episodes import features as f
from trocar_learning.episodes.policy_server import FILMS, Needs, PolicyFrame, TipGoal, goals

CONFIG, WEIGHTS = "config.json", "model.safetensors"
PRETRAINED = "pretrained_model"  # folder of a policy in a checkpoint of lerobot-train
NUMBERS = len(f.POSE) + 1  # of one arm in an action
INSTALL = "pip install lerobot (its own environment is best; Python 3.11 needs lerobot==0.4.4)"


def policy_folder(path: Path) -> Path | None:
    """The folder of a policy at a path, which may be a checkpoint of lerobot-train; None if there is none."""
    for folder in (path, path / PRETRAINED):
        if (folder / CONFIG).is_file() and (folder / WEIGHTS).is_file():
            return folder
    return None


class LeRobotPolicy:
    """A policy of LeRobot that was trained on a data set of trocar or Open-H: 16 numbers of tips and jaws.

    It gets the features that its configuration names, each as in the data set, and answers one action at a time; its
    own queue decides when it computes new ones.

    Args:
        path: folder with config.json, model.safetensors and the configurations of its processors, or a checkpoint.
    """

    def __init__(self, path: str | Path) -> None:
        folder = policy_folder(Path(path))
        if folder is None:
            raise TrocarError(f"{path} is no folder of a LeRobot policy: it has no {CONFIG} and {WEIGHTS}")
        for name in (CONFIG, WEIGHTS):
            check_regular(folder / name, "LeRobot policy")
        self.name = folder.parent.name if folder.name == PRETRAINED else folder.name
        self._torch: Any = _module("torch")
        _module("lerobot.policies")  # registers the configurations
        factory, configs = _module("lerobot.policies.factory"), _module("lerobot.configs.policies")
        try:
            config = configs.PreTrainedConfig.from_pretrained(folder, local_files_only=True)
            self._device = str(getattr(config, "device", None) or "cpu")
            kind = factory.get_policy_class(config.type)
            self._policy = kind.from_pretrained(folder, config=config, local_files_only=True)
            self._before, self._after = factory.make_pre_post_processors(config, pretrained_path=str(folder))
        except Exception as error:  # any exception of lerobot's own readers
            reason = str(error).partition("\n")[0][:300]
            raise TrocarError(f"lerobot cannot load the policy {folder}: {type(error).__name__}: {reason}") from None
        self._policy.eval()
        self._inputs: dict[str, Any] = dict(config.input_features)
        shape = tuple(config.output_features[f.ACTION].shape) if f.ACTION in config.output_features else ()
        if shape != (2 * NUMBERS,):
            raise TrocarError(f"the action of the policy {folder} has the shape {shape}, not ({2 * NUMBERS},)")
        films = {feature: short for short, feature in FILMS.items()}
        self._films = {name: films.get(name, "") for name, kind in self._inputs.items() if _is_picture(kind)}
        if unknown := [name for name, short in self._films.items() if not short]:
            raise TrocarError(f"the policy needs the pictures {shown(unknown)}; there are {', '.join(films)}")

    def needs(self) -> Needs:
        """Names of its pictures."""
        return Needs(videos=tuple(self._films.values()))

    def reset(self) -> None:
        """Begin an episode."""
        self._policy.reset()

    def goals(self, needs: Needs, frame: PolicyFrame, arms: Sequence[str]) -> list[dict[str, TipGoal]]:
        """Commanded tips by arm, one action."""
        action = self._action(self._batch(frame))
        parts: dict[str, Array] = {}
        for arm in arms:
            start = NUMBERS * (int(arm.removeprefix("psm")) - 1)
            own = action[None, start : start + NUMBERS]
            parts |= {f"{arm}_pose": own[:, :-1], f"{arm}_gripper": own[:, -1:]}
        return goals(parts, arms)

    def _batch(self, frame: PolicyFrame) -> dict[str, Any]:
        torch, batch = self._torch, {"task": frame.instruction}
        for name, kind in self._inputs.items():
            if name in self._films:
                image = np.moveaxis(frame.images[self._films[name]][-1], -1, 0) / np.float32(255.0)
                batch[name] = torch.from_numpy(np.ascontiguousarray(image, dtype=np.float32))
                continue
            values = frame.features.get(name)
            if values is None or values.shape != tuple(kind.shape):
                size = "does not exist" if values is None else f"has the shape {values.shape}"
                raise TrocarError(f"the policy needs {shown(name)} with the shape {tuple(kind.shape)}; here it {size}")
            batch[name] = torch.from_numpy(values.astype(np.float32))
        return batch

    def _action(self, batch: dict[str, Any]) -> Array:
        try:
            with self._torch.no_grad():
                answer = self._after(self._policy.select_action(self._before(batch)))
            return np.asarray(answer.cpu().numpy(), dtype=float).reshape(2 * NUMBERS)
        except Exception as error:  # any exception of a network
            reason = str(error).partition("\n")[0][:300]
            raise PolicyFailure(f"the policy {self.name} failed: {type(error).__name__}: {reason}") from None

    def close(self) -> None:
        """Nothing to end."""


def _is_picture(kind: Any) -> bool:
    return str(getattr(kind.type, "value", kind.type)) == "VISUAL"


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise TrocarError(f"a LeRobot policy needs {error.name}: {INSTALL}") from None
    except ImportError as error:
        raise TrocarError(f"lerobot is installed but cannot be imported: {error}") from None
