"""Table of the arms and scenes of the page: limits, gains, motors, maps of joints, start poses, printed numbers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import trocar as tr
from tools.project import REPOSITORY
from tools.site.contest import contest_facts
from tools.site.papers import papers, printed
from trocar.arms.parameters import CableTorque
from trocar.robot.controller.actuators import ActuatorSensors, Sensors
from trocar.robot.controller.constants import FREQUENCY, GRAVITY_CYCLES
from trocar.simulation.engine import LOOP_STIFFENING, RECORDED, STALLED, STIFFENING
from trocar.simulation.export.folder import model_files

MODELS = Path(__file__).parents[2] / "models"
UNBOUNDED = 1e300  # output of a PID without a cap, as in the servo [N m, N]
# scene -> folder in models/, title, arms by prefix of their names in the model
SCENES: dict[str, tuple[str, str, dict[str, str]]] = {
    "psm": ("psm", "PSM (instrument)", {"": "PSM"}),
    "psm_refit": ("psm", "PSM, friction with memory", {"": "PSM_refit"}),
    "mtmr": ("mtmr", "MTMR (right master)", {"": "MTMR"}),
    "mtml": ("mtml", "MTML (left master)", {"": "MTML"}),
    "ecm": ("ecm", "ECM (endoscope)", {"": "ECM"}),
    "cart_classic": (
        "cart_classic",
        "Cart (3 PSMs, ECM)",
        {"PSM1/": "PSM", "PSM2/": "PSM", "PSM3/": "PSM", "ECM/": "ECM"},
    ),
}
# arm of the table -> arm, parameter set. Default: the arm's best set
ARMS = {name: (name, None) for name in ("PSM", "MTMR", "MTML", "ECM", "PSM_Si")} | {
    "PSM_refit": ("PSM", "wang2019_refit")
}


def table() -> dict[str, Any]:
    """The whole table, of plain values; `site/table.schema.json` describes it."""
    return {
        "repository": REPOSITORY,
        "rate": FREQUENCY,
        "gravity_cycles": GRAVITY_CYCLES,
        "stiffening": {"all": STIFFENING["fast"], "loops": LOOP_STIFFENING},
        "stall": {"gradient": STALLED, "recorded": RECORDED},
        "arms": {name: arm_facts(*arm) for name, arm in ARMS.items()},
        "scenes": {name: _scene(*scene) for name, scene in SCENES.items()},
        "printed": printed(),
        "papers": papers(),
        "contest": contest_facts(),
    }


def arm_facts(name: str, parameters: str | None = None) -> dict[str, Any]:
    """Facts of one arm with a parameter set; efforts and positions in SI units."""
    sim = tr.Simulator(name, parameters)
    arm, controller = sim.arm, sim.arm.controller
    cables = [element for element in sim.parameters.elastics if isinstance(element, CableTorque)]
    return {
        "joints": [
            {
                "name": joint.name,
                "unit": unit,
                "lower": joint.lower,
                "upper": joint.upper,
                "velocity": joint.velocity,
                "acceleration": joint.acceleration,
            }
            for joint, unit in zip(arm.joints, arm.joint_units, strict=True)
        ],
        "home": list(arm.home),
        "tree": [body.name for body in arm.bodies],
        "tree_from_joints": _rows(arm.E),
        "joints_from_tree": _rows(arm.D),
        "motors": list(arm.motors.names),
        "joints_from_motors": _rows(arm.motors.coupling),
        "motors_from_joints": _rows(np.linalg.inv(arm.motors.coupling)),
        "effort": _numbers(arm.motors.effort),
        "servo": {
            "kp": _numbers(arm.gains.kp),
            "ki": _numbers(arm.gains.ki),
            "kd": _numbers(arm.gains.kd),
            "deadband": _numbers(controller.deadband),
            "output": [min(value, UNBOUNDED) for value in _numbers(controller.output)],
            "cutoff": _numbers(controller.cutoff),
            "momentum": _numbers(np.array(controller.cutoff) * np.array(controller.nominal_mass)),
        },
        "resolution": _numbers(ActuatorSensors([arm], Sensors()).resolution),
        "compensates_gravity": controller.gravity_compensation and controller.compensates_positions,
        "counterweight": arm.counterweight,
        "has_rcm": arm.has_rcm,
        "cables": [
            {
                "body": arm.driven[cable.joint],
                "ratio": float(arm.body(arm.driven[cable.joint]).coupling[cable.joint]),
                "coefficients": [cable.amplitude * c for c in cable.coefficients],
                "lower": cable.lower,
                "upper": cable.upper,
            }
            for cable in cables
        ],
        "dahl": _dahl(sim),
    }


def _dahl(sim: tr.Simulator) -> list[dict[str, list[float]]]:
    """Elements of friction with memory by drive: its coordinate of the tree's positions, constants of `trocar.laws`."""
    drives, rows = sim.mechanism.drives, (sim.mechanism.drives.A @ sim.arm.D)
    owners = sorted(set(drives.owner.tolist()))
    return [
        {
            "row": _numbers(rows[owner]),
            "F": _numbers(drives.F[drives.owner == owner]),
            "slope": _numbers(drives.slope[drives.owner == owner]),
            "rate": _numbers(-1.0 / drives.delta[drives.owner == owner]),
        }
        for owner in owners
    ]


def refit_model() -> str:
    """MJCF of the PSM with friction with memory, which the page applies itself."""
    sim = tr.Simulator("PSM", ARMS["PSM_refit"][1])
    return model_files(sim, ["mjcf"], "PSM")["psm.xml"].decode()


def _scene(folder: str, title: str, arms: dict[str, str]) -> dict[str, Any]:
    model = mujoco.MjModel.from_xml_path(str(MODELS / folder / "scene.xml"))
    start = model.key("home").qpos  # arms of a cart do not touch there, as they would at their own home positions
    rows = []
    for prefix, arm in arms.items():
        facts = tr.Simulator(ARMS[arm][0]).arm
        first = model.joint(prefix + facts.bodies[0].name).id
        q = facts.D @ start[first : first + len(facts.bodies)]
        rows.append({"name": prefix.rstrip("/") or arm, "prefix": prefix, "arm": arm, "start": _numbers(q)})
    return {"title": title, "file": f"{folder}/scene.xml", "arms": rows}


def _numbers(values: Iterable[float]) -> list[float]:
    return [float(value) for value in values]


def _rows(matrix: Iterable[Iterable[float]]) -> list[list[float]]:
    return [_numbers(row) for row in matrix]
