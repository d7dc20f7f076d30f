"""Skills on soft tissue: press on it with closed jaws to feel its stiffness, and pull it aside with gripping jaws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.errors import TrocarError, check_known
from trocar.simulation.objects.tissue import PlacedTissue
from trocar.simulation.skills.hands import Hands
from trocar.spatial import Array, checked_pose, pose

STEPS, REST = 8, 0.1  # forces that are read on the way, and the rest before each [s]
APPROACH = 5e-3  # distance of the jaws from the tissue before they press [m]
SPEED = 0.01  # of pressing and pulling [m/s]
OPENING = 1.0  # of the jaws around the edge of a sheet [rad]


@dataclass(frozen=True)
class TissueResponse:
    """Result of `palpate` and `retract`.

    Attributes:
        distance: (k,) of the jaws along their path [m], from the first contact or from the grip.
        force: (k,) of the tissue against the motion, at rest [N]. peak: largest force on the instrument [N].
        held: the tissue is between the jaws at the end. inverted: number of cells pressed inside out.
        unconverged: steps in which the solver did not converge. duration: [s].
    """

    distance: Array
    force: Array
    peak: float
    held: bool
    inverted: int
    unconverged: int
    duration: float

    @property
    def stiffness(self) -> float:
        """Slope of force over distance [N/m], by least squares; 0 if the tissue was touched at fewer than two."""
        touched = self.force != 0.0
        return float(np.polyfit(self.distance[touched], self.force[touched], 1)[0]) if touched.sum() > 1 else 0.0


def palpate(
    hands: Hands,
    arm: str,
    point: ArrayLike,
    depth: float,
    *,
    direction: ArrayLike = (0.0, 0.0, -1.0),
    tissue: str = "tissue",
) -> TissueResponse:
    """Press the closed jaws into tissue and read the force, then withdraw them. The tip keeps its orientation.

    Args:
        point: (3,) of the surface, in the world [m]. depth: [m]. direction: (3,) of the motion, in the world.
    """
    placed, along = _tissue(hands, tissue), _unit(direction)
    surface = checks.three_numbers("point", point, "in the world [m]")
    R = hands.tip(arm)[:3, :3]
    contact = surface - hands.scene.arms[arm].arm.jaw_length * R[:, 2]
    before = pose(R, contact - APPROACH * along)
    begin, unconverged = hands.scene.time, hands.scene.unconverged
    hands.move(arm, before, hands.gentle(arm, before), opening=0.0)
    hands.move(arm, pose(R, contact), APPROACH / SPEED)
    distance, force = _advance(hands, arm, along, checks.positive("depth", depth, "m"), tissue)
    inverted, held = len(placed.inverted), hands.held(arm) == tissue
    hands.move(arm, before, (depth + APPROACH) / SPEED)
    return _response(hands, distance, force, held, inverted, begin, unconverged)


def retract(
    hands: Hands,
    arm: str,
    T_world_tip: Array,
    effort: float,
    distance: float,
    *,
    direction: ArrayLike = (0.0, 0.0, 1.0),
    tissue: str = "tissue",
) -> TissueResponse:
    """Grip the edge of a tissue with an effort [N m], and pull it along a straight line. The jaws stay closed.

    Args:
        T_world_tip: (4, 4) tip pose of the grip; the jaws come along their z axis.
        distance: of the pull [m]. direction: (3,) of it in the world.
    """
    placed, along, T = _tissue(hands, tissue), _unit(direction), checked_pose(T_world_tip)
    length = checks.positive("distance", distance, "m")
    begin, unconverged = hands.scene.time, hands.scene.unconverged
    before = T @ pose(p=[0.0, 0.0, -2 * APPROACH])
    hands.move(arm, before, hands.gentle(arm, before), opening=OPENING)
    hands.move(arm, T, 2 * APPROACH / SPEED)
    hands.close(arm, effort)
    moved, force = _advance(hands, arm, along, length, tissue)
    return _response(hands, moved, force, hands.held(arm) == tissue, len(placed.inverted), begin, unconverged)


def _advance(hands: Hands, arm: str, along: Array, length: float, tissue: str) -> tuple[Array, Array]:
    """Move the tip along a line in steps; distances (k,) [m] and forces (k, 3) of the tissue on it [N] at rest."""
    start, scene = hands.tip(arm), hands.scene
    first, distances, forces = scene.T_world_tip(arm)[:3, 3], [], []
    for x in np.linspace(0.0, length, STEPS + 1)[1:]:
        hands.move(arm, pose(start[:3, :3], start[:3, 3] + x * along), length / STEPS / SPEED)
        hands.hold(REST)
        distances.append((scene.T_world_tip(arm)[:3, 3] - first) @ along)  # the arm yields to the tissue
        forces.append(scene.T_world_base(arm)[:3, :3] @ scene.arms[arm].contact_wrench(of=tissue)[:3])
    return np.array(distances), np.column_stack([-np.array(forces) @ along, np.linalg.norm(forces, axis=1)])


def _response(
    hands: Hands, distance: Array, force: Array, held: bool, inverted: int, begin: float, unconverged: int
) -> TissueResponse:
    scene = hands.scene
    return TissueResponse(
        distance=distance,
        force=force[:, 0],
        peak=float(force[:, 1].max()),
        held=held,
        inverted=inverted,
        unconverged=scene.unconverged - unconverged,
        duration=scene.time - begin,
    )


def _unit(direction: ArrayLike) -> Array:
    along = checks.three_numbers("direction", direction, "in the world")
    if not along.any():
        raise TrocarError("direction must not be zero")
    return np.asarray(along / np.linalg.norm(along))


def _tissue(hands: Hands, name: str) -> PlacedTissue:
    check_known("object of the scene", hands.scene.objects, name)
    placed = hands.scene.objects[name]
    if not isinstance(placed, PlacedTissue):
        raise TrocarError(f"{name} is not a tissue")
    return placed
