"""Pick an object up with the jaws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar import checks
from trocar.simulation.skills.hands import Hands
from trocar.spatial import Array, checked_pose, pose


@dataclass(frozen=True)
class Picked:
    """Result of `pick`.

    Attributes:
        object: name of the object between the jaws after the lift; None if there is none.
        opening: of the jaws on it [rad]. load: force of the objects on the instrument after the lift [N].
        unconverged: steps in which the solver did not converge. duration: [s].
    """

    object: str | None
    opening: float
    load: float
    unconverged: int
    duration: float


def pick(
    hands: Hands,
    arm: str,
    T_world_tip: Array,
    effort: float,
    *,
    approach: float = 0.02,
    lift: float = 0.02,
    opening: float = 0.6,
) -> Picked:
    """Approach along the jaws with them open, grip with an effort [N m], and retreat with the object.

    The other arms keep what they hold.

    Args:
        T_world_tip: (4, 4) tip pose of the grip. approach, lift: lengths of the straight motions [m].
        opening: of the jaws before the grip [rad].
    """
    scene, T = hands.scene, checked_pose(T_world_tip)
    begin, unconverged = scene.time, scene.unconverged
    before = T @ pose(p=[0.0, 0.0, -checks.positive("approach", approach, "m")])
    after = T @ pose(p=[0.0, 0.0, -checks.positive("lift", lift, "m")])
    hands.move(arm, before, hands.gentle(arm, before), opening=opening)
    hands.move(arm, T, 0.6)
    hands.close(arm, effort)
    hands.move(arm, after, hands.gentle(arm, after))
    hands.hold(0.1)
    return Picked(
        object=hands.held(arm),
        opening=float(scene.arms[arm].q[-1]),
        load=float(np.linalg.norm(scene.arms[arm].contact_wrench()[:3])),
        unconverged=scene.unconverged - unconverged,
        duration=scene.time - begin,
    )
