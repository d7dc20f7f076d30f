"""Facts of the peg transfer for the page: rules, board, the boards of the first seeds, hands and their inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import trocar as tr
from trocar.batch.worlds.layout import FINGERS, wrist_layout
from trocar.batch.worlds.wrist_arrays import NEAR
from trocar.spatial import Array, inverse
from trocar_learning.contest import seeded_setting
from trocar_learning.contest.layouts import LAYOUTS, LEFT, RIGHT
from trocar_learning.contest.peg_board import CAMERA, HAND, LOOKED_AT, PEGS, VIEW, WAITING, ContestSetting, peg_on
from trocar_learning.contest.peg_grips import OPEN, SQUEEZE, touching
from trocar_learning.envs.tasks import peg_rules
from trocar_learning.envs.tasks.transfer_script import JAW_RATE, SPEED, TURN_SPEED

SEEDS = 32
PERIOD = 0.02  # between inputs of the hands [s]; the referee looks as often
# An input counts steps of a hand: of its tip [m], its orientation [rad] and its opening [rad].
WAY, TURN, JAW = 5e-5, 2e-3, 2e-3


def contest_facts() -> dict[str, Any]:
    """The part `contest` of the table."""
    arm = tr.Simulator("PSM").arm
    layout, wrist = LAYOUTS["contest"], wrist_layout(arm)
    arms = [{"name": name, "prefix": f"{name}/", "arm": "PSM", "start": WAITING.tolist()} for name in HAND.values()]
    limits = ("DURATION", "ASIDE", "ABOVE", "STILL", "MAX_TILT", "REST", "LOST", "MARGIN")
    rules = {name.lower(): getattr(peg_rules, name) for name in limits}
    return {
        "scene": {"title": "Peg transfer", "file": "peg_transfer/peg_transfer.xml", "arms": sorted(arms, key=_name)},
        "hands": {"left": HAND[LEFT], "right": HAND[RIGHT]},
        "fingers": sorted(FINGERS),
        "instrument": [body.name for body in arm.bodies if "roll" in arm.carriers(body.name)],
        "pegs": list(PEGS),
        "rules": rules,
        "board": {"plate": layout.plate.tolist(), "posts": layout.posts.tolist()},
        "objects": [objects(seeded_setting(seed)) for seed in range(SEEDS)],
        "camera": {"position": CAMERA.tolist(), "target": LOOKED_AT.tolist(), "angle": float(VIEW)},
        "wrist": {
            "T_tip_6": inverse(wrist.T_6_tip).tolist(),
            "offset": wrist.offset,
            "insertion": wrist.insertion,
            "roll": wrist.roll,
            "near": NEAR,
        },
        "input": {
            "period": PERIOD,
            "way": WAY,
            "turn": TURN,
            "jaw": JAW,
            "most": [round(fastest * PERIOD / step) for fastest, step in _RATES],
            "open": OPEN,
            "closed": touching(arm.jaw_length) - SQUEEZE,
        },
    }


_RATES = ((SPEED, WAY), (TURN_SPEED, TURN), (JAW_RATE, JAW))


def _name(arm: dict[str, Any]) -> str:
    return str(arm["name"])


def objects(setting: ContestSetting) -> dict[str, list[float]]:
    """Place of the board and of both pegs: position [m], and angle about the vertical [rad]."""
    places = {"board": np.asarray(setting.T_world_board)}
    places |= {name: np.asarray(peg_on(setting, name).pose) for name in PEGS}
    return {name: _place(T) for name, T in places.items()}


def _place(T: Array) -> list[float]:
    return [*T[:3, 3].tolist(), math.atan2(T[1, 0], T[0, 0])]
