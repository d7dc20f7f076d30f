"""Policies from outside by one text: an address of a server, a folder of a LeRobot policy, or a file of a policy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from trocar.errors import TrocarError, shown
from trocar.files import check_regular
from trocar_learning.envs.policies import LOADERS
from trocar_learning.episodes.lerobot_policy import WEIGHTS, LeRobotPolicy, policy_folder
from trocar_learning.episodes.policy_server import ANSWER_TIMEOUT, Needs, PolicyFrame, PolicyServer, TipGoal, is_address

KINDS = (
    "an address such as 127.0.0.1:5555, the folder of a LeRobot policy (config.json and model.safetensors), or a file "
    f"that ends in {' or '.join(LOADERS)}"
)


class TipPolicy(Protocol):
    """A policy that commands tips and jaws."""

    def needs(self) -> Needs: ...
    def reset(self) -> None: ...
    def goals(self, needs: Needs, frame: PolicyFrame, arms: Sequence[str]) -> list[dict[str, TipGoal]]: ...
    def close(self) -> None: ...


def is_file(policy: str) -> bool:
    """True for a file of a policy that gives the actions of an environment."""
    return Path(policy).suffix.lower() in LOADERS


def check_policy(policy: str) -> None:
    """Raise an error unless a text names a policy from outside."""
    if is_file(policy):
        if not Path(policy).is_file():
            raise TrocarError(f"the policy {policy} does not exist")
        return
    with suppress(OSError):
        if policy_folder(Path(policy)) is not None:
            return
    if not is_address(policy):
        raise TrocarError(f"a policy from outside is {KINDS}; got {shown(policy)}")


def open_policy(policy: str, timeout: float = ANSWER_TIMEOUT) -> TipPolicy:
    """The policy at an address or in a folder; timeout: for one answer [s]."""
    check_policy(policy)
    return PolicyServer(policy, timeout) if policy_folder(Path(policy)) is None else LeRobotPolicy(policy)


def fingerprint(policy: str) -> str:
    """A part of the checksum of the file or the weights of a policy; empty for an address."""
    path = Path(policy)
    if not is_file(policy):
        folder = policy_folder(path)
        if folder is None:
            return ""
        path = folder / WEIGHTS
    check_regular(path, "policy")
    with open(path, "rb") as stream:  # in pieces: weights can exceed the memory
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]
