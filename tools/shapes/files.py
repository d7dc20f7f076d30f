"""The content of every file of shapes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tools.shapes.cart import cart_drawing, set_up_drawing
from tools.shapes.carving import triangles
from tools.shapes.ecm import add_ecm
from tools.shapes.instrument import instrument_solids
from tools.shapes.mtm import add_mtm
from tools.shapes.psm import CARRIAGE, add_psm
from tools.shapes.si import add_si
from trocar.appearance.arm_shapes import FILE, joints_by_body
from trocar.appearance.sketch import COLLIDES, Drawing, TriangleMesh
from trocar.arms import geometries, load_arm
from trocar.arms.suj import CARTS, set_up_arms
from trocar.spatial import Array

ARMS = {"PSM": add_psm, "PSM_Si": add_si, "ECM": add_ecm, "ECM_Si": add_si, "MTML": add_mtm, "MTMR": add_mtm}


def contents() -> dict[str, bytes]:
    """All files by name, without suffix."""
    files = {}
    for name, draw in ARMS.items():
        for geometry in geometries(name):
            arm, drawing = load_arm(name, geometry), Drawing()
            draw(drawing, arm)
            joints = joints_by_body(arm)
            files[arm.look] = _drawn(drawing, joints, -CARRIAGE[0] if name == "PSM" else 0.0)
    for cart in CARTS:
        files[f"cart_{cart.lower()}"] = _drawn(cart_drawing(cart))
        for mount, facts in set_up_arms(cart).items():
            files[f"set_up_{cart.lower()}_{mount.lower()}"] = _drawn(set_up_drawing(facts))
    solids = instrument_solids()
    surfaces = {name: triangles(solid) for name, (solid, _) in solids.items()}
    files[FILE] = _packed(surfaces, {name: look for name, (_, look) in solids.items()}, [], {}, 0.0)
    return files


def _drawn(drawing: Drawing, joints: Mapping[str, Array] | None = None, shaft_end: float = 0.0) -> bytes:
    geoms, looks = [], {}
    for body, geom in drawing.geoms:
        look = geom.get("material", COLLIDES)
        shape = {key: geom[key] for key in ("type", "meshname", "pos", "quat", "size", "fromto") if key in geom}
        geoms.append((body, look, {key: _plain(value) for key, value in shape.items()}))
        if "meshname" in geom:
            looks[geom["meshname"]] = look
    return _packed(drawing.meshes, looks, geoms, joints or {}, shaft_end)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return np.asarray(value, dtype=float).tolist() if np.ndim(value) else int(value)


def _packed(
    surfaces: Mapping[str, TriangleMesh],
    looks: Mapping[str, str],
    geoms: list[Any],
    joints: Mapping[str, Array],
    shaft_end: float,
) -> bytes:
    about = {
        "surfaces": {name: (looks[name], len(mesh.vertices), len(mesh.faces)) for name, mesh in surfaces.items()},
        "geoms": geoms,
        "joints": {body: points.tolist() for body, points in joints.items()},
        "shaft_end": shaft_end,
    }
    rows: dict[str, Any] = {
        key: np.concatenate([getattr(mesh, key) for mesh in surfaces.values()], dtype=kind, casting="unsafe")
        for key, kind in (("vertices", "f4"), ("normals", "f4"), ("faces", "u2"))
    }
    file = io.BytesIO()
    np.savez_compressed(file, about=np.array(json.dumps(about)), **rows)
    return file.getvalue()
