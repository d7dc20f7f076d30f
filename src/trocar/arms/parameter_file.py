"""Writing a parameter set as a file that `load_parameters` reads back to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from trocar.arms.elastics import KINDS, Elastic
from trocar.arms.parameters import Drive, Inertia, Parameters


def to_toml(parameters: Parameters, comments: Sequence[str] = ()) -> str:
    """TOML text of a set, with comment lines on top. Numbers are written so that they read back exactly."""
    lines = [*(f"# {comment}".rstrip() for comment in comments), *([""] if comments else [])]
    lines += [
        f'name = "{parameters.name}"',
        f'arm = "{parameters.arm}"',
        f'geometry = "{parameters.geometry}"',
        f'source = "{parameters.source}"',
    ]
    for name, body in parameters.inertias.items():
        lines += ["", f"[bodies.{name}]", *_inertia(body)]
    for drive in parameters.drives:
        lines += ["", f"[drives.{drive.name}]", *_drive(drive)]
    for element in parameters.elastics:
        lines += ["", f"[elastics.{element.name}]", *_elastic(element)]
    return "\n".join(lines) + "\n"


def _elastic(element: Elastic) -> list[str]:
    kind = next(kind for kind, cls in KINDS.items() if isinstance(element, cls))
    lines = [f'kind = "{kind}"', f'joint = "{element.joint}"']
    for field in fields(element):
        value = getattr(element, field.name)
        if field.name not in ("name", "joint"):
            lines.append(f"{field.name} = {list(value) if isinstance(value, tuple) else float(value)!r}")
    return lines


def _inertia(body: Inertia) -> list[str]:
    upper = [body.I[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    return [
        f"mass = {float(body.mass)!r}",
        f"com = [{', '.join(repr(float(v)) for v in body.com)}]",
        f"inertia = [{', '.join(repr(float(v)) for v in upper)}]",
    ]


def _drive(drive: Drive) -> list[str]:
    space, weights = ("motors", drive.motors) if drive.motors else ("joints", drive.joints)
    inside = ", ".join(f"{name} = {float(weight)!r}" for name, weight in weights.items())
    lines = [
        f"{space} = {{ {inside} }}",
        *(f"{term} = {float(getattr(drive, term))!r}" for term in drive.terms),
    ]
    if drive.hysteresis:
        rows = ([float(dahl.delta), float(dahl.F), float(dahl.slope)] for dahl in drive.hysteresis)
        lines.append(f"hysteresis = [{', '.join(repr(row) for row in rows)}]")
    return lines
