"""Table of link inertias for another engine: in link frames and in the world, central and barycentric."""

from __future__ import annotations

import csv
import io

from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, barycentric, in_world
from trocar.spatial import Array

CENTRAL = ("m", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
HEADINGS = (
    "link",
    *(f"link_{name}" for name in CENTRAL),
    *(f"world_{name}" for name in CENTRAL),
    *(f"barycentric_{name}" for name in NAMES),
)


def inertia_table(mechanism: Mechanism, q: Array, T_world_base: Array) -> str:
    """CSV with one row per link that has mass [kg, m, kg m^2].

    Columns link_*: mass, centre of mass in the link frame, inertia about it in link axes. world_*: the same in the
    world frame at joints q (n,), for an engine that takes inertias in the world, such as CoppeliaSim. barycentric_*: m,
    m c and the inertia about the origin of the link frame, as identifications have them.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADINGS)
    for name, body in mechanism.dynamic_parameters.inertias.items():
        placed = in_world(body, T_world_base @ mechanism.pose(q, name))
        forms = [(one.mass, *one.com, *one.I[0], *one.I[1, 1:], one.I[2, 2]) for one in (body, placed)]
        numbers = [value for form in (*forms, barycentric(body)) for value in form]
        writer.writerow([name, *(f"{value:.9g}" for value in numbers)])
    return text.getvalue()
