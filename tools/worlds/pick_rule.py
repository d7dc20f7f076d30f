"""A rule without memory that grips an object and lifts it, for cloning: features of the observation decide actions."""

from __future__ import annotations

from typing import Any

import torch

from tools.worlds.lift_settings import LiftSetting
from trocar_learning.envs.actions import TIP_SPEED, TURN_SPEED, jaw_action
from trocar_learning.envs.arrays import length
from trocar_learning.envs.policy_features import GripFeatures
from trocar_learning.envs.world import RATE

ABOVE, AT_GRIP, IN_JAWS = 0.02, 1.5e-3, 4e-3  # height of the waypoint, distances from the grip [m]
TURNED = 0.1  # largest sine of the rotation to the grip
SPEED, TURN = 0.6, 0.8  # shares of the largest speeds


def pick_rule(setting: LiftSetting, features: GripFeatures, observation: Any) -> Any:
    """Actions (n, 7): over the grip, down once aligned, close there, then along the way to the goal."""
    way, spin = features.error(observation)
    d, turned, aside = length(way), length(spin), length(way[:, :2])
    closed = (observation[:, 6] < setting.closed) & (d < IN_JAWS)
    there = closed | ((d < AT_GRIP) & (turned < 0.8 * TURNED))
    high = torch.where((aside > AT_GRIP) | (turned > TURNED), ABOVE, 0.0)
    over = way + torch.stack([torch.zeros_like(high), torch.zeros_like(high), high], -1)
    move = torch.where(closed[:, None], observation[:, 35:38] - observation[:, 28:31], over) * (RATE / TIP_SPEED)
    move = move * (SPEED / (length(move)[:, None] + 1e-9)).clip(None, 1.0)
    turn = torch.where(closed[:, None], 0.0, (spin * (RATE / TURN_SPEED)).clip(-TURN, TURN))
    jaw = torch.where(there, jaw_action(setting.squeezed), jaw_action(setting.opening))[:, None]
    return torch.concatenate([move, turn, jaw], -1)
