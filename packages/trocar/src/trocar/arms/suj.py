"""Set-up joints (SUJ): the passive arms of the patient cart that carry the PSMs and the ECM to the patient.

They are braked during surgery. They determine the positions of the remote centres of motion (RCM) and the tilt of
each arm with respect to gravity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trocar.arms.arm import Body, Jointed, LimitedJoint
from trocar.arms.tables import built, read
from trocar.errors import check_known
from trocar.spatial import Array, mdh, pose

CARTS = ("Classic", "Si")


@dataclass(frozen=True, kw_only=True)
class SetUpArm(Jointed):
    """Data of the set-up joints of one arm of a cart.

    Attributes:
        name: PSM1, PSM2, PSM3 or ECM. arm: the carried arm, a name of `ARMS`.
        joints: from the column outwards; passive, each with a brake. bodies: the link moved by each joint, as a chain.
        T_world_column: first frame of the chain in the world of the cart (z up, y to its front, x towards PSM2).
        T_last_base: base of the carried arm, which is its RCM frame, in the frame of the last body.
        q_simulated: joint values of the dVRK's simulated cart [m, rad].
    """

    name: str
    arm: str
    joints: tuple[LimitedJoint, ...]
    bodies: tuple[Body, ...]
    T_world_column: Array
    T_last_base: Array
    q_simulated: tuple[float, ...]
    source: str = field(repr=False)

    def __post_init__(self) -> None:
        self.T_world_column.setflags(write=False)
        self.T_last_base.setflags(write=False)


def set_up_arms(cart: str) -> dict[str, SetUpArm]:
    """Set-up joints of every arm of the "Classic" or "Si" cart: PSM1, PSM2, PSM3 and ECM."""
    check_known("cart", CARTS, cart)
    return {name: _set_up_arm(name, entry) for name, entry in read(f"suj_{cart.lower()}").items()}


def _set_up_arm(name: str, entry: Mapping[str, Any]) -> SetUpArm:
    joints: list[LimitedJoint] = []
    bodies: list[Body] = []
    T = np.eye(4)  # fixed rows since the last joint
    for row in entry["rows"]:
        T = T @ mdh(**{key: row[key] for key in ("a", "alpha", "d", "theta") if key in row})
        if "joint" not in row:
            continue
        joint = built(LimitedJoint, row, name=row["joint"])
        parent = bodies[-1].name if bodies else None
        bodies.append(Body(name=joint.name, parent=parent, placement=T, kind=joint.kind, coupling={joint.name: 1.0}))
        joints.append(joint)
        T = np.eye(4)
    return SetUpArm(
        name=name,
        arm=entry["arm"],
        joints=tuple(joints),
        bodies=tuple(bodies),
        T_world_column=_shifted_turn(**entry["world_to_column"]),
        T_last_base=T @ _shifted_turn(**entry["tip_to_rcm"]),
        q_simulated=tuple(entry["q_simulated"]),
        source=entry["source"],
    )


def _shifted_turn(p: list[float], rz: float) -> Array:
    return pose(R=mdh(theta=rz)[:3, :3], p=p)
