"""The peg transfer of the page in MuJoCo: hands that follow counted inputs, for comparison with the page.

Like `reference`, it needs MuJoCo, NumPy and `trocar.laws` only. The game is the recorded expert's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

import mujoco
import numpy as np

from tools.site.inputs import unpacked
from tools.site.reference import GENERATED, MODELS, RunArm, step, stiff
from trocar.laws import offset_wrist
from trocar.laws.law import ScalarLaw
from trocar.laws.slip import TWISTS, slip_rate
from trocar.laws.sources.function_source import on_numbers

NAME = "peg_transfer"
SAMPLE = 10  # inputs between samples
CHANNELS = 7  # numbers of an input of a hand: way, turn, jaw
RATE = on_numbers(ScalarLaw(slip_rate, vectors=TWISTS))
NEAREST = on_numbers(ScalarLaw(offset_wrist.nearest_joints, vectors=offset_wrist.NEAREST))


def turned(counts: Sequence[int], step: float) -> np.ndarray:
    """The rotation (3, 3) of a number of small turns about the axes of the world."""
    x, y, z = (step * count for count in counts)
    angle = math.sqrt(x * x + y * y + z * z)
    if angle == 0.0:
        return np.eye(3)
    s, c = math.sin(angle), 1.0 - math.cos(angle)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / angle
    return np.asarray(np.eye(3) + s * K + c * (K @ K))


class Hand:
    """The commanded tip of an arm: its place in counted steps, and the joints that reach it."""

    def __init__(
        self, run: RunArm, contest: dict[str, Any], T_base: np.ndarray, T: np.ndarray, q: Sequence[float]
    ) -> None:
        self.arm, self.contest = run, contest
        self._base, self.start, self.R = np.linalg.inv(T_base), T[:3, 3].copy(), T[:3, :3].copy()
        self.counts, self.jaw = np.zeros(3, dtype=int), 0
        self.q = self.before = np.array(q, dtype=float)
        self._opening, joints = float(q[-1]), run.facts["joints"][:6]
        self._lower, self._upper = ([joint[side] for joint in joints] for side in ("lower", "upper"))

    @property
    def T(self) -> np.ndarray:
        """The commanded pose (4, 4) of the tip in the world."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self.R, self.start + self.contest["input"]["way"] * self.counts
        return T

    @property
    def opening(self) -> float:
        """The commanded opening of the jaws [rad]."""
        return self._opening + float(self.contest["input"]["jaw"]) * self.jaw

    def command(self, counts: Sequence[int]) -> None:
        """Take an input, and solve for the joints at its end."""
        self.counts = self.counts + np.array(counts[:3])
        self.R = turned(counts[3:6], self.contest["input"]["turn"]) @ self.R
        self.jaw += counts[6]
        wrist = self.contest["wrist"]
        T = self._base @ self.T @ np.array(wrist["T_tip_6"])
        axes = [float(T[row, column]) for column in range(4) for row in range(3)]
        lengths = wrist["offset"], wrist["insertion"], wrist["roll"], wrist["near"]
        *q, _ = NEAREST(*axes, *lengths, *self.q[:6].tolist(), *self._lower, *self._upper)
        self.before, self.q = self.q, np.array([*q, self.opening])


class Slip:
    """Rates at which solids brake slip, before every step; see `trocar.laws.slip`."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._fastest = 1.0 / model.opt.timestep
        marked = np.flatnonzero(model.pair_solreffriction[:, 0] < 0.0)
        bodies = model.geom_bodyid[np.stack([model.pair_geom1[marked], model.pair_geom2[marked]], axis=1)]
        reach = np.zeros(model.nbody)
        np.maximum.at(reach, model.geom_bodyid, np.linalg.norm(model.geom_pos, axis=1) + model.geom_rbound)
        self._pairs = [
            (marked[(bodies == pair).all(axis=1)], pair.tolist(), reach[pair].tolist())
            for pair in np.unique(bodies, axis=0)
        ]

    def set(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        for rows, bodies, reach in self._pairs:
            twists = [
                data.qvel[model.body_dofadr[b] :][:6].tolist() if model.body_dofnum[b] else [0.0] * 6 for b in bodies
            ]
            friction = float(model.pair_friction[rows[0], 0])
            model.pair_solreffriction[rows, 1] = -RATE(*twists[0], *twists[1], *reach, friction, self._fastest)


class ContestRun:
    """The scene under its hands, with exact sensors or with encoders."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        table: dict[str, Any],
        encoders: bool,
        step: Callable[[], None],
    ) -> None:
        self.model, self.data, self._step, self._encoders = model, data, step, encoders
        self._contest, self._rate = table["contest"], table["rate"]
        self.period = self._contest["input"]["period"]
        self._cycles = round(self.period * self._rate)
        self._still, self._cycle = mujoco.MjData(model), 0
        self._gravity_cycles = table["gravity_cycles"]
        self.hands: dict[str, Hand] = {}
        for each in self._contest["scene"]["arms"]:
            arm = RunArm(model, table["arms"][each["arm"]], each["prefix"], self._rate)
            tip, base = data.site(each["prefix"] + "tip"), data.body(each["prefix"] + "base")
            poses = (_pose(base.xmat, base.xpos), _pose(tip.xmat, tip.xpos))
            self.hands[each["name"]] = Hand(arm, self._contest, *poses, each["start"])

    def advance(self, inputs: Mapping[str, Sequence[int]]) -> None:
        """One period of inputs."""
        for name, hand in self.hands.items():
            hand.command(inputs[name])
        for k in range(self._cycles):
            for hand in self.hands.values():
                self._control(hand, (k + 1) / self._cycles)
            self._step()
            self._cycle += 1

    def _control(self, hand: Hand, share: float) -> None:
        arm, data = hand.arm, self.data
        s, ds = arm.measured(data, self._encoders)
        if arm.facts["compensates_gravity"] and (not arm.feed.size or self._cycle % self._gravity_cycles == 0):
            arm.feed = arm.holding(self.model, data, self._still, arm.A @ s)
        change = hand.q - hand.before
        rate = change / self.period
        data.ctrl[arm.u] = arm.efforts((hand.before + share * change).tolist(), rate.tolist(), s, ds)


def model_of(table: dict[str, Any]) -> mujoco.MjModel:
    """The model of the page, with the meshes of the cart."""
    text = (GENERATED / f"{NAME}.xml").read_text(encoding="utf-8")
    files = re.findall(r'<mesh file="([^"]+)"', text)
    assets = {f"assets/{file}": (MODELS / "cart_classic/assets" / file).read_bytes() for file in files}
    return stiff(mujoco.MjModel.from_xml_string(text, assets), table)


def samples(table: dict[str, Any], seconds: float, encoders: bool = False) -> list[list[float]]:
    """Joints of both arms and positions of both pegs [rad, m] in the expert's game."""
    contest, model = table["contest"], model_of(table)
    data = mujoco.MjData(model)
    game = parse_qs((GENERATED / "expert.txt").read_text(encoding="utf-8"))
    places = contest["objects"][int(game["seed"][0])]
    spots = {name: [*p, math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)] for name, (*p, angle) in places.items()}
    board = model.body("object/board").id
    model.body_pos[board], model.body_quat[board] = spots["board"][:3], spots["board"][3:]
    for name in contest["pegs"]:
        data.qpos[model.joint(int(model.body(f"object/{name}").jntadr[0])).qposadr[0] :][:7] = spots[name]
    for each in contest["scene"]["arms"]:
        arm = RunArm(model, table["arms"][each["arm"]], each["prefix"], table["rate"])
        data.qpos[arm.q] = arm.E @ each["start"]
    mujoco.mj_forward(model, data)
    slip = Slip(model)

    def advance() -> None:
        slip.set(model, data)
        step(model, data, table)

    run, rows = ContestRun(model, data, table, encoders, advance), []
    for k, row in enumerate(unpacked(game["inputs"][0], CHANNELS * len(run.hands))[: round(seconds / run.period)]):
        run.advance({name: row[CHANNELS * i :][:CHANNELS] for i, name in enumerate(run.hands)})
        if (k + 1) % SAMPLE == 0:
            joints = [value for hand in run.hands.values() for value in (hand.arm.D @ data.qpos[hand.arm.q]).tolist()]
            pegs = [data.qpos[-14:-11].tolist(), data.qpos[-7:-4].tolist()]
            rows.append([*joints, *pegs[0], *pegs[1]])
    return rows


def _pose(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R.reshape(3, 3), p
    return T
