"""Table of the arms and scenes of the page: limits, gains, motors, maps of joints, start poses, printed numbers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import trocar as tr
from tools.site.contest import contest_facts
from tools.site.papers import papers, printed
from trocar.arms.parameters import CableTorque
from trocar.robot.controller.actuators import ActuatorSensors, Sensors
from trocar.robot.controller.constants import FREQUENCY, GRAVITY_CYCLES
from trocar.simulation.engine import LOOP_STIFFENING, RECORDED, STALLED, STIFFENING

MODELS = Path(__file__).parents[2] / "models"
UNBOUNDED = 1e300  # output of a PID without a cap, as in the servo [N m, N]
# folder in models/ -> title, arms by prefix of their names in the model
SCENES: dict[str, tuple[str, dict[str, str]]] = {
    "psm": ("PSM (instrument)", {"": "PSM"}),
    "mtmr": ("MTMR (right master)", {"": "MTMR"}),
    "mtml": ("MTML (left master)", {"": "MTML"}),
    "ecm": ("ECM (endoscope)", {"": "ECM"}),
    "cart_classic": (
        "Cart (3 PSMs, ECM)",
        {"PSM1/": "PSM", "PSM2/": "PSM", "PSM3/": "PSM", "ECM/": "ECM"},
    ),
}


def table() -> dict[str, Any]:
    """The whole table, of plain values; `site/table.schema.json` describes it."""
    return {
        "rate": FREQUENCY,
        "gravity_cycles": GRAVITY_CYCLES,
        "stiffening": {"all": STIFFENING["fast"], "loops": LOOP_STIFFENING},
        "stall": {"gradient": STALLED, "recorded": RECORDED},
        "arms": {name: arm_facts(name) for name in ("PSM", "MTMR", "MTML", "ECM", "PSM_Si")},
        "scenes": {name: _scene(name, title, arms) for name, (title, arms) in SCENES.items()},
        "printed": printed(),
        "papers": papers(),
        "contest": contest_facts(),
    }


def arm_facts(name: str) -> dict[str, Any]:
    """Facts of one arm with its best parameter set; efforts and positions in SI units."""
    sim = tr.Simulator(name)
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
    }


def _scene(name: str, title: str, arms: dict[str, str]) -> dict[str, Any]:
    model = mujoco.MjModel.from_xml_path(str(MODELS / name / "scene.xml"))
    start = model.key("home").qpos  # arms of a cart do not touch there, as they would at their own home positions
    rows = []
    for prefix, arm in arms.items():
        facts = tr.Simulator(arm).arm
        first = model.joint(prefix + facts.bodies[0].name).id
        q = facts.D @ start[first : first + len(facts.bodies)]
        rows.append({"name": prefix.rstrip("/") or arm, "prefix": prefix, "arm": arm, "start": _numbers(q)})
    return {"title": title, "file": f"{name}/scene.xml", "arms": rows}


def _numbers(values: Iterable[float]) -> list[float]:
    return [float(value) for value in values]


def _rows(matrix: Iterable[Iterable[float]]) -> list[list[float]]:
    return [_numbers(row) for row in matrix]
