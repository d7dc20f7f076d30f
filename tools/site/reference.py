"""Scripted runs of the page's scenes in MuJoCo, for the comparison with the page.

The script is `site/test/scripts.json`: moves of the PID's setpoints and pushes. The run needs MuJoCo, NumPy and
`trocar.laws` only, so it also runs with another version of MuJoCo than that of trocar.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trocar.laws.dahl import dahl_effort, dahl_state
from trocar.laws.encoder import RESTED, encoder, rested_encoder
from trocar.laws.law import ScalarLaw
from trocar.laws.servo import PARAMETERS, servo
from trocar.laws.sources.function_source import on_numbers

ROOT = Path(__file__).parents[2]
MODELS, GENERATED = ROOT / "models", ROOT / "site/src/generated"
SAMPLE = 75  # periods between samples
SERVO, ENCODER, RESTED_ENCODER = (
    on_numbers(law) for law in (ScalarLaw(servo, PARAMETERS), ScalarLaw(encoder), ScalarLaw(rested_encoder))
)
DAHL_STATE, DAHL_EFFORT = on_numbers(ScalarLaw(dahl_state)), on_numbers(ScalarLaw(dahl_effort))
CONSTANTS = ("kp", "ki", "kd", "deadband", "output")


def stiff(model: mujoco.MjModel, table: dict[str, Any]) -> mujoco.MjModel:
    """A loaded model, with the timestep and the constraints of trocar's simulator."""
    scale = table["stiffening"]
    # constraints of the arms are as stiff as the timestep allows: twice the timestep is their time constant
    for constants in (model.eq_solref, model.jnt_solref, model.dof_solref, model.tendon_solref_fri):
        constants[constants[:, 0] == 2.0 * model.opt.timestep, 0] = 2.0 / table["rate"]
    model.opt.timestep = 1.0 / table["rate"]
    for weights in (model.body_invweight0, model.dof_invweight0, model.tendon_invweight0):
        weights[:] *= scale["all"]
    loops = (model.eq_type == mujoco.mjtEq.mjEQ_CONNECT) & (model.eq_objtype == mujoco.mjtObj.mjOBJ_SITE)
    anchors = np.unique(np.concatenate([model.eq_obj1id[loops], model.eq_obj2id[loops]]))
    model.body_invweight0[np.unique(model.site_bodyid[anchors])] *= scale["loops"]
    return model


def _loaded(name: str, file: str) -> mujoco.MjModel:
    """The model of a scene: that of `models/`, or that of the page where it has its own."""
    own, folder = GENERATED / f"{name}.xml", MODELS / Path(file).parent
    if not own.exists():
        return mujoco.MjModel.from_xml_path(str(MODELS / file))
    names = ["scene.xml", *(f"assets/{path.name}" for path in (folder / "assets").iterdir())]
    assets = {each: (folder / each).read_bytes() for each in names}
    assets[f"{folder.name}.xml"] = own.read_bytes()
    return mujoco.MjModel.from_xml_string(assets["scene.xml"].decode(), assets)


def step(model: mujoco.MjModel, data: mujoco.MjData, table: dict[str, Any]) -> None:
    """A step that is repeated without its warm start if the solver stopped short of the solution."""
    changed, time = (data.qpos, data.qvel, data.qacc_warmstart), data.time
    before = [values.copy() for values in changed]
    mujoco.mj_step(model, data)
    iterations, stall = int(data.solver_niter[0]), table["stall"]
    elliptic = model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    if not elliptic or not 0 < iterations <= stall["recorded"]:
        return
    if data.solver.gradient[iterations - 1] > stall["gradient"]:
        data.time = time
        for values, old in zip(changed, before, strict=True):
            values[:] = old
        flags = model.opt.disableflags
        model.opt.disableflags = flags | mujoco.mjtDisableBit.mjDSBL_WARMSTART
        mujoco.mj_step(model, data)
        model.opt.disableflags = flags


def setpoint(script: dict[str, Any], arm: int, start: list[float], t: float) -> tuple[list[float], list[float]]:
    """Positions and velocities of an arm's setpoint at a time: polynomials of degree 5 between the moves' goals."""
    q, dq = list(start), [0.0] * len(start)
    for move in script["moves"]:
        goal, x = move["q"][arm], (t - move["start"]) / move["duration"]
        if x >= 1.0:
            q = list(goal)
        elif x > 0.0:
            s, ds = x * x * x * (10.0 + x * (6.0 * x - 15.0)), 30.0 * x * x * (1.0 - x) * (1.0 - x) / move["duration"]
            dq = [(b - a) * ds for a, b in zip(q, goal, strict=True)]
            q = [a + (b - a) * s for a, b in zip(q, goal, strict=True)]
    return q, dq


class Dahl:
    """Friction with memory of an arm, as generalised forces on its part of the state."""

    def __init__(self, rows: list[dict[str, list[float]]], qpos: np.ndarray) -> None:
        self._rows = [
            (np.array(row["row"]), list(zip(row["F"], row["slope"], row["rate"], strict=True))) for row in rows
        ]
        self._s = [float(row @ qpos) for row, _ in self._rows]
        self._z = [[0.0] * len(elements) for _, elements in self._rows]

    def force(self, qpos: np.ndarray) -> np.ndarray:
        total = np.zeros(len(qpos))
        for k, (row, elements) in enumerate(self._rows):
            s = float(row @ qpos)
            path, self._s[k] = s - self._s[k], s
            self._z[k] = [DAHL_STATE(z, path, rate) for z, (_, _, rate) in zip(self._z[k], elements, strict=True)]
            efforts = (DAHL_EFFORT(z, s, F, slope) for z, (F, slope, _) in zip(self._z[k], elements, strict=True))
            total -= row * sum(efforts)
        return total


class RunArm:
    """One arm in a run: its part of the state, its encoders and its PID."""

    def __init__(self, model: mujoco.MjModel, facts: dict[str, Any], prefix: str, rate: float) -> None:
        self.facts, self.dt = facts, 1.0 / rate
        first = model.joint(prefix + facts["tree"][0]).id
        self.q = slice(first, first + len(facts["tree"]))
        u = model.actuator(prefix + facts["motors"][0]).id
        self.u = slice(u, u + len(facts["motors"]))
        self.E, D = np.array(facts["tree_from_joints"]), np.array(facts["joints_from_tree"])
        self.A, self.A_inv = np.array(facts["joints_from_motors"]), np.array(facts["motors_from_joints"])
        self.D, self.motors = D, self.A_inv @ D
        gains = facts["servo"]
        self.laws = [
            SERVO(*(gains[k][i] for k in CONSTANTS), limit, gains["cutoff"][i], gains["momentum"][i], self.dt)
            for i, limit in enumerate(facts["effort"])
        ]
        self.memory = [(0.0, 0.0, 0.0)] * len(self.laws)
        self.edges: list[tuple[float, ...]] = []
        self.feed = np.zeros(0)

    def measured(self, data: mujoco.MjData, encoders: bool) -> tuple[np.ndarray, np.ndarray]:
        s, ds = self.motors @ data.qpos[self.q], self.motors @ data.qvel[self.q]
        if not encoders:
            return s, ds
        resolution = self.facts["resolution"]
        if not self.edges:
            for x, r in zip(s.tolist(), resolution, strict=True):
                edge, count = RESTED_ENCODER(x, r)
                self.edges.append((count, x, edge, RESTED, 0.0))
        readings = [
            ENCODER(x, *edge, r, self.dt) for x, edge, r in zip(s.tolist(), self.edges, resolution, strict=True)
        ]
        self.edges = [
            (count, x, edge, age, rate) for x, (_, rate, count, edge, age) in zip(s.tolist(), readings, strict=True)
        ]
        return np.array([r[0] for r in readings]), np.array([r[1] for r in readings])

    def holding(self, model: mujoco.MjModel, data: mujoco.MjData, still: mujoco.MjData, q: np.ndarray) -> np.ndarray:
        """Efforts of the joints that hold the arm at q."""
        still.qpos[:] = data.qpos
        still.qpos[self.q] = self.E @ q
        for update in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_passive):
            update(model, still)
        force = np.zeros(model.nv)
        mujoco.mj_rne(model, still, 0, force)
        tau: np.ndarray = self.E.T @ (force - still.qfrc_passive)[self.q]
        return tau

    def efforts(self, q_ref: list[float], dq_ref: list[float], s: np.ndarray, ds: np.ndarray) -> np.ndarray:
        s_ref, ds_ref = (self.A_inv @ q_ref).tolist(), (self.A_inv @ dq_ref).tolist()
        steps = zip(self.laws, s_ref, ds_ref, s.tolist(), ds.tolist(), self.memory, strict=True)
        results = [law(a, b, c, d, *memory, 1.0) for law, a, b, c, d, memory in steps]
        self.memory = [result[2:] for result in results]
        tau = np.array([result[0] for result in results])
        if self.feed.size:
            tau += self.A.T @ self.feed
        return np.clip(tau, -np.array(self.facts["effort"]), self.facts["effort"])


def run(name: str, seconds: float | None = None, encoders: bool = False) -> list[list[float]]:
    """Joint positions of all arms [rad, m], every `SAMPLE` periods."""
    table = json.loads((GENERATED / "table.json").read_text(encoding="utf-8"))
    script = json.loads((ROOT / "site/test/scripts.json").read_text(encoding="utf-8"))[name]
    scene, rate = table["scenes"][name], table["rate"]
    model = stiff(_loaded(name, scene["file"]), table)
    data, still = mujoco.MjData(model), mujoco.MjData(model)
    arms = [RunArm(model, table["arms"][a["arm"]], a["prefix"], rate) for a in scene["arms"]]
    starts = [a["start"] for a in scene["arms"]]
    for arm, start in zip(arms, starts, strict=True):
        data.qpos[arm.q] = arm.E @ start
    mujoco.mj_forward(model, data)
    dahl = [Dahl(arm.facts["dahl"], data.qpos[arm.q]) for arm in arms]
    samples = []
    for cycle in range(round((script["seconds"] if seconds is None else seconds) * rate)):
        t = cycle / rate
        data.xfrc_applied[:] = 0.0
        for push in script["pushes"]:
            if push["start"] <= t < push["end"]:
                body, force = data.body(push["body"]), np.array(push["force"])
                r = body.xpos + body.xmat.reshape(3, 3) @ push["point"] - body.xipos
                data.xfrc_applied[body.id] += np.concatenate([force, np.cross(r, force)])
        for k, arm in enumerate(arms):
            s, ds = arm.measured(data, encoders)
            facts = arm.facts
            if facts["compensates_gravity"] and (not arm.feed.size or cycle % table["gravity_cycles"] == 0):
                arm.feed = arm.holding(model, data, still, arm.A @ s)
            data.ctrl[arm.u] = arm.efforts(*setpoint(script, k, starts[k], t), s, ds)
            data.qfrc_applied[arm.q] = dahl[k].force(data.qpos[arm.q])
            for cable in facts["cables"]:
                at = arm.q.start + facts["tree"].index(cable["body"])
                x = min(max(data.qpos[at] / cable["ratio"], cable["lower"]), cable["upper"])
                data.qfrc_applied[at] -= np.polyval(cable["coefficients"], x) / cable["ratio"]
        step(model, data, table)
        if (cycle + 1) % SAMPLE == 0:
            samples.append([value for arm in arms for value in (arm.D @ data.qpos[arm.q]).tolist()])
    return samples
