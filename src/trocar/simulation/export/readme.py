"""README of a model folder: the derivation of the numbers, step by step, and the limits of the formats.

The texts are in `texts.toml`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms.parameters import CableTorque
from trocar.simulation.engine import STIFFENING
from trocar.simulation.export.gazebo import BANDWIDTH
from trocar.simulation.export.links import own_inertias
from trocar.simulation.export.rotor_discs import MIN_MASS
from trocar.simulation.scene import Scene
from trocar.simulation.simulated_arm import SimulatedArm
from trocar.toml_file import read_toml


@cache
def texts() -> dict[str, Any]:
    """Texts of a model folder, by name."""
    return read_toml(Path(__file__).with_name("texts.toml"), "file")


def readme(scene: Scene, name: str, formats: tuple[str, ...]) -> str:
    """Text of README.md."""
    file = name.lower()
    alone = len(scene.arms) == 1 and scene.cart is None
    kinds = {"" if alone else simulated.arm.name: simulated for simulated in scene.arms.values()}
    steps = [line for kind, simulated in kinds.items() for line in _derivation(kind, simulated)]
    return "\n".join(
        [
            texts()["head"].format(name=name, file=file, summary=_summary(scene, alone)),
            *[f"| {line.format(file=file)} |" for key, line in texts()["files"].items() if key in formats],
            "",
            *steps,
            *_section("limits", _limits(kinds, formats)),
            *(_section("sdf", _about_sdf(kinds)) if "sdf" in formats else ()),
            texts()["tail"],
        ]
    )


def _section(key: str, lines: list[str]) -> list[str]:
    return [texts()[key]["title"], "", *[f"- {line}" for line in lines], ""]


def _of(kind: str) -> str:
    """The end of a noun phrase: of which arm, if there are several."""
    return f" of the {kind}" if kind else ""


def _summary(scene: Scene, alone: bool) -> str:
    text, arms = texts()["summary"], []
    for name, simulated in scene.arms.items():
        arm, numbers = simulated.arm, simulated.parameters
        words = {"name": name, "arm": arm.name, "geometry": arm.geometry, "instrument": arm.instrument}
        words |= {"parameters": numbers.name, "source": numbers.source}
        arms.append(text["arm" if alone else "one_of_them"].format(**words))
    if alone:
        return arms[0]
    cart = "" if scene.cart is None else text["cart"].format(cart=scene.cart.name)
    return str(text["scene"].format(cart=cart, arms=", ".join(arms)))


def _derivation(kind: str, simulated: SimulatedArm) -> list[str]:
    sources = {
        key: simulated.arm.sources.get(key, "given in Python") for key in ("serial", "joints", "geometry", "motors")
    }
    text = texts()["derivation"]
    steps = [
        f"{i}. {step.format(**sources, source=simulated.parameters.source)}" for i, step in enumerate(text["steps"], 1)
    ]
    return [text["title"].format(it=f"the {kind}" if kind else "it"), "", *steps, ""]


def _limits(kinds: dict[str, SimulatedArm], formats: tuple[str, ...]) -> list[str]:
    text, lines = texts()["limits"], []
    if "mjcf" in formats:
        lines.append(text["stiffness"].format(stiffening=STIFFENING["fast"]))
        for kind, simulated in kinds.items():
            varying = [d.name for d in simulated.parameters.drives if d.hysteresis or d.Fx or d.mu]
            if varying and simulated.options.friction:
                lines.append(text["friction"].format(drives=", ".join(varying), of=_of(kind)))
            for cable in simulated.parameters.elastics:
                if isinstance(cable, CableTorque):
                    words = {"joint": cable.joint, "lower": cable.lower, "upper": cable.upper, "of": _of(kind)}
                    lines.append(
                        text["cable"].format(coefficients=", ".join(f"{c:g}" for c in cable.coefficients), **words)
                    )
    if "urdf" in formats or "sdf" in formats:
        lines.append(text["tree"])
    if "urdf" in formats:
        lines += [text["rotors"].format(of=_of(kind), rotors=_rotors(arm)) for kind, arm in kinds.items()]
    return lines or [text["none"]]


def _rotors(simulated: SimulatedArm) -> str:
    """The rotor inertias, which URDF cannot express, in joint coordinates."""
    drives, names = simulated.mechanism.drives, simulated.arm.joint_names
    R = drives.A.T @ np.diag(drives.Im) @ drives.A
    entries = [
        f"`{names[i]}` {R[i, j]:.6g}" if i == j else f"`{names[i]}`-`{names[j]}` {R[i, j]:.6g}"
        for i, j in zip(*np.triu_indices(len(names)), strict=True)
        if abs(R[i, j]) > 1e-12
    ]
    return ", ".join(entries) or "none"


def _about_sdf(kinds: dict[str, SimulatedArm]) -> list[str]:
    """The section on the SDF model."""
    text = texts()["sdf"]
    bare = {body.kind for arm in kinds.values() for body in arm.arm.bodies if body.name not in own_inertias(arm)}
    included = {
        "mimic": True,
        "controllers": True,
        "mass": bool(bare),
        "discs": "revolute" in bare,
        "rotors": True,
        "cameras": any(arm.arm.carries == "endoscope" for arm in kinds.values()),
        "arms": "" not in kinds,
        "tested": True,
    }
    which = "of the other joints" if "revolute" in bare else "of the motors"
    words = {"bandwidth": BANDWIDTH, "mass": MIN_MASS, "which": which}
    return [text[key].format(**words) for key, holds in included.items() if holds]
